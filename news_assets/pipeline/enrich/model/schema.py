"""The JSON schemas of the answers, built from the fields that a prompt asks for.

They keep to what all providers take: objects without further properties, every property
required, enums, no lengths (OpenAI's strict mode and Bedrock refuse some of these);
`checks.py` checks the lengths.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

_SENTIMENTS: Final = ("positive", "neutral", "negative")
ARTICLE_TYPES: Final = (
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

Schema = dict[str, Any]


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "number"}
_QUOTED: Final = _list(_object({"sentence": _TEXT, "quote": _TEXT}))
_ENTITY: Final = _object(
    {
        "name": _TEXT,
        "forms": _list(_TEXT),
        "kind": {"type": "string", "enum": list(_ENTITY_KINDS)},
        "salience": _NUMBER,
    }
)

FIELDS: Final[Mapping[str, Mapping[str, Schema]]] = MappingProxyType(
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
            "article_type": {"type": "string", "enum": list(ARTICLE_TYPES)},
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
) -> Schema:
    """Return the schema of an answer with these fields; a theme is one of these codes,
    or null.
    """
    fields = {name: FIELDS[kind][name] for name in answers}
    if "theme" in fields:
        fields["theme"] = {
            "anyOf": [{"type": "string", "enum": list(theme_codes)}, {"type": "null"}]
        }
    return _object(fields)
