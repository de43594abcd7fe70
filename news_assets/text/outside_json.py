"""Reads JSON from outside; a value that Python cannot hold costs only itself."""

import json
from typing import Any

# larger numbers have no float, and Python reads integers of up to 4,300 digits only
_MAX_DIGITS = 300


def loads(document: str | bytes, *, strict: bool = True) -> Any:
    """Return the value of a JSON text; an integer of more than 300 digits is a text.

    Args:
        document: The text, or its bytes in UTF-8, UTF-16 or UTF-32.
        strict: Whether control characters within texts are errors.

    Raises:
        ValueError: It is not JSON, or bytes in another charset.
        RecursionError: It is nested too deeply.
    """
    return json.loads(document, strict=strict, parse_int=_integer)


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_DIGITS else digits
