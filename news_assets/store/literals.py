"""SQL literals of values, for statements that would otherwise have parameters.

Of each value in a parameter, DuckDB asks whether it is of pandas, which Python looks
for on disk each time if it is not installed: 2 ms for a read by desk, agency and day.
"""

from datetime import date, datetime

from news_assets.store.address import quoted

_MAX_CHARS = 1000  # a longer text is passed as a parameter
_MAX_LISTED = 100
_BIGINT = range(-(2**63), 2**63)


def literal(value: object) -> str | None:
    """Return the literal of a value, of the type that a parameter would have; None if
    it has to be one.
    """
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if value in _BIGINT else None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'" if value.tzinfo else None
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return None


def _text(value: str) -> str | None:
    if len(value) > _MAX_CHARS or not value.isprintable():
        return None
    return f"{quoted(value)}::VARCHAR"


def _list(values: list[object]) -> str | None:
    """Return the literal of a list of values of one type."""
    parts = [literal(value) for value in values[: _MAX_LISTED + 1]]
    is_plain = (
        0 < len(parts) <= _MAX_LISTED and len({type(value) for value in values}) == 1
    )
    if not is_plain or None in parts:
        return None
    return f"[{', '.join(map(str, parts))}]"
