"""One list in several forms: HTML, JSON and CSV, chosen by the suffix of the address or the Accept header."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from news_assets.commands.jsonlines import csv_cell, json_of

SUFFIXES: Final = {".json": "application/json", ".csv": "text/csv"}
_NAMES: Final = {kind: suffix.removeprefix(".") for suffix, kind in SUFFIXES.items()}


def form_of(request: Request) -> str:
    """Return json or csv where the suffix, or else the Accept header's first type, asks for it; else html."""
    suffix = str(request.path_params.get("suffix", ""))
    accepted = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip()
    return suffix or _NAMES.get(accepted, "html")


def json_response(value: Mapping[str, Any], status: int = 200) -> Response:
    """Return a JSON document; times in ISO 8601 with offset."""
    kind = "application/json" if status < 400 else "application/problem+json"
    return Response(json_of(value) + "\n", status, media_type=kind)


def csv_response(name: str, rows: Sequence[Mapping[str, Any]]) -> Response:
    """Return rows as a CSV file of this name, without cells that a spreadsheet would read as formulas."""
    text = io.StringIO()
    writer = csv.writer(text)
    if rows:
        writer.writerow(rows[0])
    for row in rows:
        writer.writerow([csv_cell(value) for value in row.values()])
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(text.getvalue(), media_type="text/csv", headers=headers)
