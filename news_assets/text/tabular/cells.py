"""Single values as JSON and as cells."""

import base64
import json
from datetime import date, datetime

from news_assets.text.defuse import json_line, spreadsheet_cell


def json_of(value: object) -> str:
    """Return one line of JSON; times in ISO 8601 with offset, bytes in base64, controls
    as escapes.
    """
    return json_line(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    raise TypeError(f"no JSON form for {type(value).__name__}")


def cell_of(value: object) -> str | float | None:
    """Return a value as a cell: numbers unchanged, texts without formulas, others as in
    JSON.
    """
    if value is None or isinstance(value, (int, float)):
        return value
    return spreadsheet_cell(
        value if isinstance(value, str) else json_of(value).strip('"')
    )
