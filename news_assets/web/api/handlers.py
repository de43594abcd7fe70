"""The route of an operation."""

from collections.abc import Callable
from dataclasses import asdict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.web.api.operations import Operation
from news_assets.web.archive import Archive
from news_assets.web.forms.documents import json_document

PREFIX = "/api/v1"


def handler_of(operation: Operation, archive: Archive) -> Callable[[Request], Response]:
    """Return the handler that answers requests for an operation with JSON."""

    def answer(request: Request) -> Response:
        found = operation.read(
            archive, operation.given({**request.query_params, **request.path_params})
        )
        if found is None:
            raise HTTPException(404, f"there is nothing at {request.url.path}")
        return json_document(asdict(found))

    return answer
