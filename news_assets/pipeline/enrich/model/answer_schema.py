"""The JSON schemas of answers, and how an answer is brought into the form of its schema.

Schemas are built from the fields that a prompt asks for. They keep to what all
providers take: objects without further properties, every property required, enums, no
lengths (OpenAI's strict mode and Bedrock refuse some of these); `answer_checks.py`
checks the lengths.

What surrounds the JSON of an answer, unknown fields and values of another form are
dropped or mended; only the fields in `essential` make an answer unusable.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from news_assets.errors import EnrichError

_SENTIMENTS: Final = ("positive", "neutral", "negative")
_ARTICLE_TYPES: Final = (
    "news",
    "service",
    "notice",
    "speech",
    "interview",
    "opinion",
    "analysis",
    "feature",
    "other",
)
_ENTITY_KINDS: Final = (
    "person",
    "organisation",
    "place",
    "event",
    "policy",
    "law",
    "work",
    "product",
)

_Schema = dict[str, Any]


def _object(properties: Mapping[str, _Schema]) -> _Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: _Schema) -> _Schema:
    return {"type": "array", "items": items}


_TEXT: Final[_Schema] = {"type": "string"}
_NUMBER: Final[_Schema] = {"type": "number"}
_QUOTED: Final = _list(_object({"sentence": _TEXT, "quote": _TEXT}))
_ENTITY: Final = _object(
    {
        "name": _TEXT,
        "forms": _list(_TEXT),
        "kind": {"type": "string", "enum": list(_ENTITY_KINDS)},
        "salience": _NUMBER,
    }
)

FIELDS: Final[Mapping[str, Mapping[str, _Schema]]] = MappingProxyType(
    {
        "enrich": {
            "theme": {"type": ["string", "null"]},
            "summary": _QUOTED,
            "key_points": _QUOTED,
            "keywords": _list(_TEXT),
            "sentiment": _object(
                {
                    "label": {"type": "string", "enum": list(_SENTIMENTS)},
                    "score": _NUMBER,
                }
            ),
            "article_type": {"type": "string", "enum": list(_ARTICLE_TYPES)},
        },
        "theme": {"theme": {"type": ["string", "null"]}},
        "entities": {"entities": _list(_ENTITY)},
    }
)
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"theme": ("theme",), "enrich": ("theme", "summary"), "entities": ("entities",)}
)


def answer_schema(
    kind: str, answers: Sequence[str], theme_codes: Sequence[str] = ()
) -> _Schema:
    """Return the schema of an answer with these fields; a theme is one of these codes,
    or null.
    """
    fields = {name: FIELDS[kind][name] for name in answers}
    if "theme" in fields:
        fields["theme"] = {
            "anyOf": [{"type": "string", "enum": list(theme_codes)}, {"type": "null"}]
        }
    return _object(fields)


_MAX_RAW_CHARS: Final = 4_000_000
_MAX_SHOWN_CHARS: Final = 60
_MAX_STARTS: Final = 50  # places where the JSON of an answer may begin
_MAX_NUMBER: Final = 1e9

_THOUGHTS = re.compile(r"<think(?:ing)?>(?>(?:[^<]|<(?!/?think))*)</think(?:ing)?>")
# Characters without a shape of their own, in which a text can carry what no reader
# sees: controls but for tab and newline, soft hyphens, zero-width and directional
# marks, variation selectors, tags.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DROPPED: Final = object()  # in place of a value that cannot be mended


def parsed(
    raw: str, schema: Mapping[str, Any], essential: Collection[str]
) -> dict[str, Any]:
    """Return an answer as an object with all fields of the schema.

    A field that is missing or of no use is None.

    Raises:
        EnrichError: There is no such object, or an essential field is of no use.
    """
    if len(raw) > _MAX_RAW_CHARS:
        raise EnrichError(
            f"the answer has {len(raw):,} characters, more than {_MAX_RAW_CHARS:,}"
        )
    if not raw.strip():
        raise EnrichError("the answer is empty")
    found = _object_in(raw, schema["properties"].keys())
    if found is None:
        raise EnrichError(f"the answer is not JSON: {shown(raw)}")
    answer: dict[str, Any] = {}
    for name, form in schema["properties"].items():
        value = _mended(found[name], form) if name in found else _DROPPED
        if value is _DROPPED and name in essential:
            raise EnrichError(f"schema: the answer {_flaw(found, name)}")
        answer[name] = None if value is _DROPPED else value
    return answer


def _flaw(found: Mapping[str, Any], name: str) -> str:
    if name not in found:
        return f"lacks `{name}`"
    return f"has no usable `{name}`: {shown(repr(found[name]))}"


def visible(text: str) -> str:
    """Return a text without the characters that no reader sees."""
    return _INVISIBLE.sub("", text)


def shown(text: str) -> str:
    """Return the beginning of an outside text on one line."""
    beginning = text[: 2 * _MAX_SHOWN_CHARS]
    printable = "".join(c if c.isprintable() else " " for c in beginning)
    line = " ".join(printable.split())
    return line if len(line) <= _MAX_SHOWN_CHARS else f"{line[:_MAX_SHOWN_CHARS]}…"


def _object_in(raw: str, names: Collection[str]) -> dict[str, Any] | None:
    """Return the first JSON object of a text that has most of these fields."""
    text = _THOUGHTS.sub("", _SURROGATES.sub("", raw))
    decoder = json.JSONDecoder(
        object_pairs_hook=_first_of_each, parse_constant=lambda _: None
    )
    best: dict[str, Any] | None = None
    most = 0
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = None, start + 1
        if isinstance(value, dict):
            shared = len(value.keys() & set(names))
            if shared > most:
                best, most = value, shared
        start = text.find("{", end)
    return best


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of a field that is given twice the first value."""
    return dict(reversed(pairs))


def _mended(value: object, schema: Mapping[str, Any]) -> Any:
    """Return a value in the form of a schema of those above, or _DROPPED."""
    if "anyOf" in schema:
        for choice in schema["anyOf"]:
            found = _mended(value, choice)
            if found is not _DROPPED:
                return found
        return _DROPPED
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if value is None:
        return None if "null" in kinds else _DROPPED
    for kind in kinds:
        if kind != "null":
            return _MENDERS[kind](value, schema)
    return _DROPPED


def _text(value: object, schema: Mapping[str, Any]) -> Any:
    if not isinstance(value, str):
        return _DROPPED
    text = visible(_CONTROLS.sub("", _SURROGATES.sub("", value)))
    codes = schema.get("enum")
    if codes is None:
        return text
    if text in codes:
        return text
    folded = {code.casefold(): code for code in codes}
    # "01.02 Education"
    first = text.split(maxsplit=1)[0].rstrip(".:,-") if text.split() else ""
    return folded.get(text.strip().casefold()) or folded.get(first.casefold(), _DROPPED)


def _number(value: object, _schema: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("%").replace(",", "."))
        except ValueError:
            return _DROPPED
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < _MAX_NUMBER else _DROPPED  # type: ignore[arg-type]


def _mended_list(value: object, schema: Mapping[str, Any]) -> Any:
    given = value if isinstance(value, list) else [value]
    items = [_mended(item, schema["items"]) for item in given]
    kept = [item for item in items if item is not _DROPPED]
    if not given:
        return kept
    if not kept:
        return _DROPPED
    return kept


def _mended_object(value: object, schema: Mapping[str, Any]) -> Any:
    properties = schema["properties"]
    if isinstance(value, str) and properties.keys() == {"sentence", "quote"}:
        value = {"sentence": value, "quote": value}
    if not isinstance(value, dict):
        return _DROPPED
    found: dict[str, Any] = {}
    for name, form in properties.items():
        found[name] = _mended(value[name], form) if name in value else _DROPPED
        if found[name] is _DROPPED:
            found[name] = _OPTIONAL.get(name, _DROPPED)
        if found[name] is _DROPPED:
            return _DROPPED
    return found


_OPTIONAL: Final[Mapping[str, Any]] = {"forms": [], "salience": 0.5, "score": None}
_MENDERS: Final = {
    "string": _text,
    "number": _number,
    "array": _mended_list,
    "object": _mended_object,
}
