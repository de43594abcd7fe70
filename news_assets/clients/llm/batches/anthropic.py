"""Anthropic's message batches, found again by the ids in their results: they carry no
name.

https://docs.anthropic.com/en/docs/build-with-claude/batch-processing
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from news_assets.clients.llm.batches.api import Result, Sent
from news_assets.clients.llm.batches.offline import Offline
from news_assets.errors import BatchError
from news_assets.ports.services import BatchState

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class AnthropicBatches:
    """Anthropic takes at most 100,000 requests and 256 MB.

    2,000 of news articles have some 50 MB.
    """

    min_requests = 1
    max_requests = 2_000

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return the same model with `offline` in the place of the network."""
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = model.client.with_options(http_client=offline.http_client())
        return AnthropicModel(
            model.model_name, provider=AnthropicProvider(anthropic_client=client)
        )

    async def close(self, model: Any) -> None:
        """Close the connections of a model."""
        await model.client.close()

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Make the batch."""
        lines = [
            {"custom_id": request.custom_id, "params": json.loads(request.body)}
            for request in requests
        ]
        client = model.client.with_options(max_retries=0)
        return str((await client.messages.batches.create(requests=lines)).id)

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the batch whose results have ids that begin with the key.

        Raises:
            BatchError: A batch of as many requests is still running, and may be the
                one; transient.
        """
        running = None
        async for batch in model.client.messages.batches.list(limit=100):
            if batch.created_at < since:
                break
            if _request_count(batch) != count:
                continue
            # as the list has it, which may be older
            if batch.processing_status != "ended":
                batch = await model.client.messages.batches.retrieve(batch.id)
            if batch.processing_status != "ended":
                running = batch.id
            elif await _has_key(model, batch.id, key):
                return str(batch.id)
        if running:
            raise BatchError(
                f"batch {running} may be the one that was sent; it is not over yet",
                is_transient=True,
            )
        return None

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return the state."""
        batch = await model.client.messages.batches.retrieve(batch_id)
        if batch.processing_status != "ended":
            return "running"
        return "expired" if batch.request_counts.expired else "ended"

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the results of the requests that were run."""
        results: list[Result] = []
        async for line in await model.client.messages.batches.results(batch_id):
            if line.result.type == "succeeded":
                body = line.result.message.model_dump_json().encode()
                results.append(Result(line.custom_id, 200, body))
            elif line.result.type == "errored":
                body = line.result.error.model_dump_json().encode()
                results.append(Result(line.custom_id, 500, body))
        return results


def _request_count(batch: Any) -> int:
    counts = batch.request_counts
    ended = counts.succeeded + counts.errored + counts.canceled + counts.expired
    return int(counts.processing + ended)


async def _has_key(model: Any, batch_id: str, key: str) -> bool:
    async for line in await model.client.messages.batches.results(batch_id):
        return str(line.custom_id).startswith(key)
    return False
