"""Validation of requests against the official OpenAPI description: path, method,
parameters and body.

Lines of an import are not described and not validated. `WIDER` lists what the server
accepts beyond the description.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

DESCRIPTION = Path(__file__).parents[3] / "shared" / "typesense" / "openapi.yml"
Schema = dict[str, Any]

_ONE, _DOCUMENTS = (
    "/collections/{collectionName}",
    "/collections/{collectionName}/documents",
)
# What the server accepts beyond the description, by (method, path, parameter or
# property), and how that is known. An empty name stands for the whole route. The name
# may also be that of a required property that the server does not need.
WIDER: dict[tuple[str, str, str], str] = {
    ("GET", "/status", ""): "recording 10; the only place that shows queued writes",
    ("GET", "/limits", ""): "recording 807",
    ("GET", "/health_with_rusage", ""): "recording 808",
    ("POST", "/collections", "hnsw_params"): "recording 36",
    ("PATCH", _ONE, "hnsw_params"): "as when a collection is created",
    ("PATCH", _ONE, "type"): "recording 639: a field that is dropped needs no type",
    ("PATCH", _ONE, "fields"): "recording 667: metadata or sets alone",
    ("PATCH", _ONE, "curation_sets"): "recording 730",
    ("PATCH", _DOCUMENTS, "action"): "recording 849: the official client sends it",
    ("GET", f"{_DOCUMENTS}/{{documentId}}", "include_fields"): "recording 129",
    ("GET", f"{_DOCUMENTS}/{{documentId}}", "exclude_fields"): "recording 130",
    ("DELETE", f"{_DOCUMENTS}/{{documentId}}", "ignore_not_found"): "recording 147",
    ("GET", f"{_DOCUMENTS}/search", "limit_hits"): "recording 503",
    ("GET", f"{_DOCUMENTS}/search", "facet_sample_percent"): "recording 444",
    ("GET", f"{_DOCUMENTS}/search", "rerank_hybrid_matches"): "recording 551",
    (
        "POST",
        "/multi_search",
        "collection",
    ): "recording 564: in the query string, for all searches",
    ("POST", "/multi_search", "limit_multi_searches"): "recording 571",
    (
        "POST",
        "/multi_search",
        "split_join_tokens",
    ): "described for one search, and recording 217",
}

_TYPES = {"integer": int, "number": float}


class Description:
    """The description, with a cached validator for each operation."""

    def __init__(self, path: Path) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        # the fast safe loader
        self._root: Schema = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        self._paths = {
            template: template.strip("/").split("/") for template in self._root["paths"]
        }
        self._operations: dict[tuple[str, str], _Operation] = {}

    @classmethod
    def beside_the_repository(cls) -> "Description | None":
        """Return the description in the folder beside the repository, or None if it is
        missing.
        """
        return _read(DESCRIPTION) if DESCRIPTION.exists() else None

    def violations(
        self, method: str, segments: list[str], query: dict[str, str], body: bytes
    ) -> list[str]:
        """Return the deviations of this request, each with its place."""
        template = self._template(segments)
        path = template or "/" + "/".join(segments)
        if (method, path, "") in WIDER:
            return []
        if template is None or method.lower() not in self._root["paths"][template]:
            return [f"{method} {path}: no such route"]
        key = (method, template)
        if key not in self._operations:
            self._operations[key] = _Operation(
                self._root, self._root["paths"][template][method.lower()]
            )
        found = self._operations[key].violations(query, body)
        return [
            f"{method} {path}: {text}"
            for name, text in found
            if (method, path, name) not in WIDER
        ]

    def _template(self, segments: list[str]) -> str | None:
        """Return the path template of these segments; templates without placeholders
        have priority.
        """
        fitting = [
            template
            for template, parts in self._paths.items()
            if len(parts) == len(segments)
            and all(
                part.startswith("{") or part == one
                for part, one in zip(parts, segments, strict=True)
            )
        ]
        return min(fitting, key=lambda template: template.count("{"), default=None)


@lru_cache
def _read(path: Path) -> Description:
    return Description(path)


class _Operation:
    """One operation: its query parameters and the schema of its JSON body."""

    def __init__(self, root: Schema, operation: Schema) -> None:
        self._parameters: dict[str, Schema] = {}
        for parameter in operation.get("parameters", []):
            resolved = _resolved(root, parameter)
            if resolved["in"] == "query":
                schema = flat(root, resolved["schema"])
                self._parameters |= schema.get("properties") or {
                    resolved["name"]: schema
                }
        content = operation.get("requestBody", {}).get("content", {})
        self._body = (
            Draft202012Validator(flat(root, content["application/json"]["schema"]))
            if content.get("application/json")
            else None
        )

    def violations(self, query: dict[str, str], body: bytes) -> list[tuple[str, str]]:
        """Return the name of each parameter or property that deviates, and how."""
        found = [
            one
            for name, text in query.items()
            for one in self._of_parameter(name, text)
        ]
        return found + (self._of_body(body) if self._body is not None else [])

    def _of_parameter(self, name: str, text: str) -> list[tuple[str, str]]:
        if name not in self._parameters:
            return [(name, f"unknown parameter {name!r}")]
        schema = self._parameters[name]
        errors = Draft202012Validator(schema).iter_errors(
            _typed(text, schema.get("type"))
        )
        return [(name, f"parameter {name!r}: {error.message}") for error in errors]

    def _of_body(self, body: bytes) -> list[tuple[str, str]]:
        assert self._body is not None
        try:
            value = json.loads(body)
        except ValueError:
            return [("body", "the body is no JSON")]
        return [
            (name, f"body at {error.json_path}: {error.message}"[:500])
            for error in self._body.iter_errors(value)
            for name in _names(error)
        ]


def _names(error: ValidationError) -> list[str]:
    """Return the properties that an error is about."""
    if error.validator == "additionalProperties":
        return sorted(set(error.instance) - set(error.schema["properties"]))
    if error.validator == "required":
        return [name for name in error.validator_value if name not in error.instance]
    return [str(error.path[-1]) if error.path else "body"]


def _typed(text: str, kind: str | None) -> Any:
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    try:
        return _TYPES[kind](text) if kind in _TYPES else text
    except ValueError:
        return text


def _resolved(root: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    return schema


def flat(root: Schema, schema: Schema) -> Schema:
    """Return the schema with references resolved and `additionalProperties` false where
    properties are listed.

    The parts of an `allOf` are merged into one object, because each part alone would
    forbid properties of the others.
    """
    schema = _resolved(root, schema)
    result: Schema = {name: value for name, value in schema.items() if name != "allOf"}
    for part in schema.get("allOf", []):
        flattened = flat(root, part)
        properties = result.get("properties", {}) | flattened.get("properties", {})
        required = [*result.get("required", []), *flattened.get("required", [])]
        result = flattened | result | {"properties": properties, "required": required}
    if "properties" in result:
        result["properties"] = {
            name: flat(root, one) for name, one in result["properties"].items()
        }
        result.setdefault("additionalProperties", False)
    if "items" in result:
        result["items"] = flat(root, result["items"])
    for choice in ("oneOf", "anyOf"):
        if choice in result:
            result[choice] = [flat(root, one) for one in result[choice]]
    return result
