"""Gemini's batches with their requests in a file, found again by their display name.

https://ai.google.dev/gemini-api/docs/batch-api
"""

import io
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from news_assets.clients.llm.batches.api import Result, Sent, lines_of
from news_assets.clients.llm.batches.offline import Offline
from news_assets.ports.services import BatchState

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_STATES: dict[str, BatchState] = {
    "JOB_STATE_SUCCEEDED": "ended",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "expired",
    "JOB_STATE_EXPIRED": "expired",
    "JOB_STATE_CANCELLED": "expired",
    "JOB_STATE_FAILED": "failed",
}


# status of HTTP for a google.rpc.Code
_ERRORS = {3: 400, 4: 504, 7: 403, 8: 429, 14: 503}


class GeminiBatches:
    """Gemini takes at most 2 GB; 2,000 requests of news articles have some 50 MB."""

    min_requests = 1
    max_requests = 2_000

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return the same model with `offline` in the place of the network."""
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(
            model.model_name, provider=GoogleProvider(http_client=offline.http_client())
        )

    async def close(self, model: Any) -> None:
        """Close the connections of a model."""
        await model.client.aio.aclose()

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Upload the requests and make the batch."""
        client = model.client.aio
        content = b"".join(map(_line, requests))
        file = await client.files.upload(
            file=io.BytesIO(content),
            config={"mime_type": "application/jsonl", "display_name": key},
        )
        once = {"retry_options": {"attempts": 1}}
        config = {"display_name": key, "http_options": once}
        return str(
            (
                await client.batches.create(
                    model=model.model_name, src=file.name, config=config
                )
            ).name
        )

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the newest batch of this name."""
        async for job in await model.client.aio.batches.list(config={"page_size": 100}):
            if job.display_name == key:
                return str(job.name)
        return None

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return the state; a cancelled batch is like an expired one."""
        job = await model.client.aio.batches.get(name=batch_id)
        return _STATES.get(job.state.value if job.state else "", "running")

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the lines of the file of results; a batch that expired may have none."""
        job = await model.client.aio.batches.get(name=batch_id)
        if job.dest is None or job.dest.file_name is None:
            return []
        content = await model.client.aio.files.download(file=job.dest.file_name)
        return list(_results(content.decode()))


def _line(request: Sent) -> bytes:
    line = {"key": request.custom_id, "request": json.loads(request.body)}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _results(text: str) -> Iterator[Result]:
    for line in map(json.loads, lines_of(text)):
        if "response" in line:
            yield Result(line["key"], 200, json.dumps(line["response"]).encode())
        else:
            error = line.get("error") or {}
            yield Result(
                line["key"],
                _ERRORS.get(error.get("code", 0), 500),
                json.dumps({"error": error}).encode(),
            )
