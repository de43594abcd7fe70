"""Parsing and validation of documents, with the server's error messages."""

import json
import re
from collections.abc import Callable
from typing import Any

from news_assets_tests.typesense_server.collections.schema import NUMBERS, Field
from news_assets_tests.typesense_server.errors import ApiError

Document = dict[str, Any]
_ENDS_IN_OBJECT = re.compile(r"(\{|,)\s*$")
_DIRTY = ("coerce_or_reject", "coerce_or_drop", "drop", "reject")
_NOT_JSON = "Bad JSON: [json.exception.parse_error.101] parse error at line 1, column {}: syntax error while parsing {}"


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def text_of(body: bytes) -> str:
    """Return a body as text.

    Raises:
        ApiError: 400, for what is no UTF-8.
    """
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise ApiError(400, "Bad JSON: invalid UTF-8 byte.") from None


def document_of(text: str) -> Document:
    """Return the JSON object in this text.

    Raises:
        ApiError: 400; the server's parser words an end of input as here, other faults
            differ in detail.
    """
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        raise ApiError(400, _parse_error(text)) from None
    if not isinstance(document, dict):
        raise ApiError(400, "Bad JSON: not a properly formed document.")
    return document


def _parse_error(text: str) -> str:
    column = len(text.encode()) + 1
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos < len(text.rstrip()):
            return _NOT_JSON.format(error.pos + 1, "value - invalid literal")
    if _ENDS_IN_OBJECT.search(text):
        return _NOT_JSON.format(
            column, "object key - unexpected end of input; expected string literal"
        )
    return _NOT_JSON.format(
        column, "value - unexpected end of input; expected '[', '{', or a literal"
    )


def check_id(document: Document) -> str | None:
    """Return the document's id, or None if it has none.

    Raises:
        ApiError: 400, for an id that is no text or empty.
    """
    if "id" not in document:
        return None
    if not isinstance(document["id"], str):
        raise ApiError(400, "Document's `id` field should be a string.")
    if not document["id"]:
        raise ApiError(400, "The `id` should not be empty.")
    return str(document["id"])


def checked(
    document: Document,
    fields: dict[str, Field],
    *,
    is_update: bool,
    dirty_values: str = "",
    sorted_by: str = "",
) -> Document:
    """Return the document with values of the schema's types; in an update, null stays
    null in optional fields.

    Fields are looked at in the order of their names, as the server does. Values of
    unknown fields are kept as they are. Without `dirty_values` a value of another type
    is refused.

    Raises:
        ApiError: 400, for the first value that cannot be stored.
    """
    if sorted_by and sorted_by not in document and not is_update:
        raise ApiError(
            400,
            f"Field `{sorted_by}` has been declared as a default sorting field, but is not found in the document.",
        )
    result = dict(document)
    for name in sorted(fields):
        field = fields[name]
        if field.index and not (name not in result and (is_update or field.optional)):
            _check_field(
                result,
                field,
                is_update,
                dirty_values if dirty_values in _DIRTY else "reject",
            )
    return result


def _check_field(
    document: Document, field: Field, is_update: bool, dirty_values: str
) -> None:
    name = field.name
    if name not in document:
        raise ApiError(
            400,
            f"Field `{name}` has been declared in the schema, but is not found in the document.",
        )
    if document[name] is None and field.optional:
        if not is_update:
            del document[name]
        return
    try:
        document[name] = _value(
            document[name], field, dirty_values.startswith("coerce")
        )
    except ApiError:
        if not (dirty_values.endswith("drop") and field.optional):
            raise
        del document[name]


def _value(value: Any, field: Field, coerces: bool) -> Any:
    if field.num_dim and value is None:
        raise ApiError(
            400, f"Field `{field.name}` must have {field.num_dim} dimensions."
        )
    if not field.is_array:
        return _single(
            value,
            field,
            coerces,
            f"must be {_ARTICLES.get(field.kind, 'a')} {field.kind}.",
        )
    if not isinstance(value, list):
        raise ApiError(400, f"Field `{field.name}` must be an array.")
    if field.num_dim and len(value) != field.num_dim:
        raise ApiError(
            400, f"Field `{field.name}` must have {field.num_dim} dimensions."
        )
    if field.kind == "float" and all(type(number) in (float, int) for number in value):
        return value
    return [
        _single(one, field, coerces, f"must be a array of {field.kind}.")
        for one in value
    ]


_ARTICLES = {"int32": "an", "int64": "an"}


def _single(value: Any, field: Field, coerces: bool, complaint: str) -> Any:
    if _IS_OF_KIND.get(field.kind, lambda _: True)(value):
        return value
    if coerces:
        try:
            return _coerced(value, field.kind)
        except ValueError:
            pass
    raise ApiError(400, f"Field `{field.name}` {complaint}")


_IS_OF_KIND: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int32": lambda value: type(value) is int,
    "int64": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
}


def _coerced(value: Any, kind: str) -> Any:
    if kind in NUMBERS and isinstance(value, str | float | bool):
        return float(value) if kind == "float" else int(value)
    if kind == "string" and isinstance(value, int | float):
        return json.dumps(value)
    if kind == "bool" and str(value).lower() in ("true", "false", "0", "1"):
        return str(value).lower() in ("true", "1")
    raise ValueError(kind)


def shown(document: Document, include: str = "", exclude: str = "") -> Document:
    """Return the included fields of a document; both lists are comma separated, `*`
    means all.
    """
    wanted, unwanted = names_of(include), names_of(exclude)
    if wanted and "*" not in wanted:
        document = {name: document[name] for name in wanted if name in document}
    return {name: value for name, value in document.items() if name not in unwanted}


def names_of(text: str) -> list[str]:
    """Return the names of a comma separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]
