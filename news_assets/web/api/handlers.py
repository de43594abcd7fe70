"""The route of an operation."""

from collections.abc import Callable
from dataclasses import asdict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.web.api.operations import Operation
from news_assets.web.archive import Archive
from news_assets.web.forms.documents import json_document
from news_assets.web.parameters import ParameterError

PREFIX = "/api/v1"


def handler_of(operation: Operation, archive: Archive) -> Callable[[Request], Response]:
    """Return the handler that answers requests for an operation with JSON."""
    names = operation.parameters.names()

    def answer(request: Request) -> Response:
        if unknown := [name for name in request.query_params if name not in names]:
            raise ParameterError(f"{unknown[0][:40]} is no parameter; there are: {', '.join(names)}")
        parameters = operation.parameters.of({**request.query_params, **request.path_params})
        found = operation.read(archive, parameters)
        if found is None:
            raise HTTPException(404, f"there is nothing at {request.url.path}")
        return json_document(asdict(found))

    return answer
