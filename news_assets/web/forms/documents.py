"""Values as JSON, rows as CSV and XLSX, errors as problem+json (RFC 9457)."""

import io
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from news_assets.text.tabular import json_of, write_csv, write_xlsx
from news_assets.web.forms.choice import MEDIA_TYPES


def json_document(
    value: Mapping[str, Any], media_type: str = "application/json"
) -> Response:
    """Return a JSON document; times in ISO 8601 with offset."""
    return Response(json_of(value) + "\n", media_type=media_type)


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as problem+json: `title` is the status in words, `detail` says
    what is wrong.
    """
    value = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    return Response(json_of(value) + "\n", status, headers, "application/problem+json")


def calendar_file(data: bytes) -> Response:
    """Return an iCalendar file."""
    return Response(data, media_type=MEDIA_TYPES[".ics"])


def table(
    form: str, name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> Response:
    """Return rows as a CSV or XLSX file of this name."""
    if form == ".csv":
        text = io.StringIO(newline="")
        write_csv(text, columns, rows)
        body: str | bytes = text.getvalue()
    else:
        file = io.BytesIO()
        write_xlsx(file, columns, rows)
        body = file.getvalue()
    headers = {"Content-Disposition": f'attachment; filename="{name}{form}"'}
    return Response(body, headers=headers, media_type=MEDIA_TYPES[form])
