"""OpenAI's batches of chat completions, found again by their metadata.

https://platform.openai.com/docs/api-reference/batch
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from news_assets.clients.llm.batches.api import Result, Sent, lines_of
from news_assets.clients.llm.batches.offline import Offline
from news_assets.ports.services import BatchState

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_ENDPOINT = "/v1/chat/completions"
_KEY = "news_assets_batch"
_STATES: dict[str, BatchState] = {
    "completed": "ended",
    "expired": "expired",
    "cancelled": "expired",
    "failed": "failed",
}
_NOT_RUN = ("batch_expired", "batch_cancelled")


class OpenAIBatches:
    """OpenAI takes at most 50,000 requests and 200 MB; 2,000 of news articles have some
    50 MB.
    """

    min_requests = 1
    max_requests = 2_000

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return the same model with `offline` in the place of the network."""
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        client = model.client.with_options(http_client=offline.http_client())
        return OpenAIChatModel(
            model.model_name, provider=OpenAIProvider(openai_client=client)
        )

    async def close(self, model: Any) -> None:
        """Close the connections of a model."""
        await model.client.close()

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Upload the requests and make the batch."""
        client = model.client.with_options(max_retries=0)
        file = await client.files.create(
            file=("batch.jsonl", b"".join(map(_line, requests))), purpose="batch"
        )
        batch = await client.batches.create(
            input_file_id=file.id,
            endpoint=_ENDPOINT,
            completion_window="24h",
            metadata={_KEY: key},
        )
        return str(batch.id)

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the newest batch with this key in its metadata."""
        async for batch in model.client.batches.list(limit=100):
            if (batch.metadata or {}).get(_KEY) == key:
                return str(batch.id)
            if batch.created_at < since.timestamp():
                return None
        return None

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return the state; a cancelled batch has results like an expired one."""
        return _STATES.get(
            (await model.client.batches.retrieve(batch_id)).status, "running"
        )

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the lines of the files of outputs and errors."""
        batch = await model.client.batches.retrieve(batch_id)
        results: list[Result] = []
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                content = await model.client.files.content(file)
                results += _results(content.text)
        return results


def _line(request: Sent) -> bytes:
    line = {
        "custom_id": request.custom_id,
        "method": "POST",
        "url": _ENDPOINT,
        "body": json.loads(request.body),
    }
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _results(text: str) -> Iterator[Result]:
    for line in map(json.loads, lines_of(text)):
        if response := line.get("response"):
            yield Result(
                line["custom_id"],
                response["status_code"],
                json.dumps(response["body"]).encode(),
            )
        elif (error := line.get("error") or {}).get("code") not in _NOT_RUN:
            yield Result(line["custom_id"], 500, json.dumps({"error": error}).encode())
