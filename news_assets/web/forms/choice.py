"""The form of an answer, chosen by the suffix of the address or the Accept header."""

from typing import Final

from starlette.requests import Request

# By suffix.
MEDIA_TYPES: Final = {
    ".json": "application/json",
    ".csv": "text/csv",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".atom": "application/atom+xml",
    ".feed.json": "application/feed+json",
    ".ics": "text/calendar",
}
FORM_NAMES: Final = {
    ".json": "JSON",
    ".csv": "CSV",
    ".xlsx": "XLSX",
    ".atom": "Atom",
    ".feed.json": "JSON Feed",
    ".ics": "iCalendar",
}
_SUFFIXES: Final = {kind: suffix for suffix, kind in MEDIA_TYPES.items()} | {
    "text/html": ""
}


def form_of(request: Request) -> str:
    """Return the suffix of the form: that of the address, else of the best of the
    accepted types; empty for HTML.
    """
    if request.url.path.startswith("/api/"):
        return ".json"
    stated = str(request.path_params.get("suffix", ""))
    if stated:
        return stated
    accepted = sorted(
        request.headers.get("accept", "").split(","), key=_weight, reverse=True
    )
    known = (_SUFFIXES.get(one.partition(";")[0].strip().lower()) for one in accepted)
    return next((suffix for suffix in known if suffix is not None), "")


def _weight(accepted: str) -> float:
    """Return the weight of a type in an Accept header, 0 to 1."""
    for parameter in accepted.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
