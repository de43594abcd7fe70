"""The API's description as OpenAPI 3.1, made from its operations."""

from collections.abc import Iterable
from typing import Any, Literal, get_type_hints

from pydantic import TypeAdapter

from news_assets.web.api.handlers import PREFIX
from news_assets.web.api.operations import Operation
from news_assets.web.operations.polls import PATH as POLLS_PATH
from news_assets.web.operations.polls import PollRequest

_REF = "#/components/schemas/{model}"
_PROBLEM = {
    "description": "The request cannot be answered; `detail` says why",
    "content": {
        "application/problem+json": {"schema": {"$ref": _REF.format(model="Problem")}}
    },
}
_PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457)",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {
            "type": "string",
            "description": "about:blank: `title` and `status` say what kind of error it is",
        },
        "title": {"type": "string", "description": "the status in words"},
        "status": {"type": "integer", "description": "the HTTP status"},
        "detail": {
            "type": "string",
            "description": "what is wrong, and what would be right",
        },
    },
}

_POLLS = {
    "operationId": "request_polls",
    "summary": "Request a poll of agencies of one desk, now or of past days; for operators",
    "security": [{"operator": []}],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": PollRequest.model_json_schema(ref_template=_REF)
            }
        },
    },
    "responses": {
        "202": {
            "description": "The run of Dagster that polls",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["run_id", "url"],
                        "properties": {
                            "run_id": {
                                "type": "string",
                                "description": "id of the run",
                            },
                            "url": {"type": "string", "description": "page of the run"},
                        },
                    }
                }
            },
        },
        "default": _PROBLEM,
    },
}


def describe(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """Return the description of these operations."""
    known = list(operations)
    mode: Literal["serialization"] = "serialization"
    inputs = [(one.name, mode, TypeAdapter[Any](one.answer)) for one in known]
    answers, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REF)
    schemas = definitions.get("$defs", {})
    for schema in schemas.values():
        # the same for the parts of all lists, of which clients make the names of types
        schema.pop("title", None)
    for one in known:
        for kind in (one.item, *one.parts):
            _add_meanings(schemas.get(kind.__name__, {}), kind)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "news_assets",
            "version": version,
            "description": (
                "The articles of the archive, and the state of agencies and sources. Lists come in"
                " parts: pass `next` as `cursor` for the part that follows. Answers have an ETag."
            ),
        },
        "servers": [{"url": PREFIX}],
        "paths": (
            {
                f"/{one.path}": {"get": _get(one, answers[(one.name, mode)])}
                for one in known
            }
            | {f"/{POLLS_PATH}": {"post": _POLLS}}
        ),
        "components": {
            "schemas": schemas | {"Problem": _PROBLEM_SCHEMA},
            "securitySchemes": {"operator": {"type": "http", "scheme": "bearer"}},
        },
    }


def _get(operation: Operation, answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters_of(operation),
        "responses": {
            "200": {
                "description": "The answer",
                "content": {"application/json": {"schema": answer}},
            },
            "default": _PROBLEM,
        },
    }


def parameters_of(operation: Operation) -> list[dict[str, Any]]:
    """Return the parameters of an operation as OpenAPI describes them."""
    schemas = operation.parameters.model_json_schema()["properties"]
    found = []
    for name in operation.parameters.names():
        in_path = f"{{{name}}}" in operation.path
        schema = {
            key: value
            for key, value in schemas[name].items()
            if key not in ("title", "description")
        }
        found.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path,
                "description": schemas[name].get("description", ""),
                "schema": schema,
            }
        )
    return found


def _add_meanings(schema: dict[str, Any], item: type) -> None:
    """Add the strings of the annotations of a dataclass to its schema."""
    for name, hint in get_type_hints(item, include_extras=True).items():
        meanings = [
            one for one in getattr(hint, "__metadata__", ()) if isinstance(one, str)
        ]
        if meanings and name in schema.get("properties", {}):
            schema["properties"][name]["description"] = meanings[0]
