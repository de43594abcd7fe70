"""Batches of Anthropic, Bedrock, Gemini and OpenAI, made, found and read with each
provider's own client, which pydantic-ai built.

`Offline` stands for the network of a model: it shows the body that a direct call sends,
and gives the model the result of a batch. So a batch sends and reads what a direct call
does, whatever pydantic-ai makes of a request and of a response.

https://docs.anthropic.com/en/docs/build-with-claude/batch-processing
https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference.html
https://ai.google.dev/gemini-api/docs/batch-api
https://platform.openai.com/docs/api-reference/batch
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from news_assets.errors import BatchError, SettingsError
from news_assets.ports.services import BatchState

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_REFUSED = (400, b"{}")


class Offline:
    """The network of one model.

    Keeps the `body` of the last request, and replies with `reply`, (status, body).
    """

    def __init__(self) -> None:
        self.body = b""
        self.reply = _REFUSED

    def http_client(self) -> Any:
        """Return an HTTP client of the kind that the providers' libraries use."""
        import httpx2

        def reply(request: Any) -> Any:
            self.body = request.content
            status, content = self.reply
            return httpx2.Response(
                status, content=content, headers={"Content-Type": "application/json"}
            )

        return httpx2.AsyncClient(transport=httpx2.MockTransport(reply), timeout=60)

    def refuse(self) -> None:
        """Refuse the next requests, so that only their body is seen."""
        self.reply = _REFUSED


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of a batch: its id there, and the body that a direct call would send."""

    custom_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one request.

    Status and body are those that a direct call would have been answered with.
    """

    custom_id: str
    status: int
    body: bytes


def _result(custom_id: str, status: int, body: Any) -> Result:
    return Result(custom_id, status, json.dumps(body).encode())


class BatchApi(Protocol):
    """One provider's batches. All calls are made with the client of `model`.

    `min_requests` and `max_requests` bound a batch. `make` and `find` know a batch by
    `key`, 16 hexadecimal digits with which the id of each of its requests begins as
    well.
    """

    min_requests: int
    max_requests: int

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return the same model with `offline` in the place of the network."""
        ...

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Make a batch and return its id.

        Nothing here is tried twice: the first try may have made it.
        """
        ...

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the id of the batch that was made under this key after `since`, if it
        was.
        """
        ...

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return what has become of a batch."""
        ...

    async def results(self, model: Any, batch_id: str) -> Iterable[Result]:
        """Return the results of a batch that is over, in any order.

        Requests that were not run are left out.
        """
        ...


def _json_lines(text: str) -> Iterator[Any]:
    """Yield the values of a file of JSON lines.

    Not splitlines(): it also splits at separators that JSON may contain.
    """
    for line in text.split("\n"):
        if line:
            yield json.loads(line)


def _json_line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


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
        if batch.request_counts.expired:
            return "expired"
        return "ended"

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the results of the requests that were run."""
        results: list[Result] = []
        async for line in await model.client.messages.batches.results(batch_id):
            found = line.result
            if found.type == "succeeded":
                body = found.message.model_dump_json()
                results.append(Result(line.custom_id, 200, body.encode()))
            elif found.type == "errored":
                body = found.error.model_dump_json()
                results.append(Result(line.custom_id, 500, body.encode()))
        return results


def _request_count(batch: Any) -> int:
    counts = batch.request_counts
    ended = counts.succeeded + counts.errored + counts.canceled + counts.expired
    return int(counts.processing + ended)


async def _has_key(model: Any, batch_id: str, key: str) -> bool:
    async for line in await model.client.messages.batches.results(batch_id):
        return str(line.custom_id).startswith(key)
    return False


_BEDROCK_STATES: dict[str, BatchState] = {
    "Completed": "ended",
    "PartiallyCompleted": "expired",
    "Expired": "expired",
    "Stopped": "expired",
    "Failed": "failed",
}
_SENT = "before-send.bedrock-runtime.Converse"


class BedrockBatches:
    """Jobs that read and write below `folder`, s3://bucket/prefix, in the role of this
    ARN.

    Bedrock takes 100 records at least and 50,000 at most.
    """

    min_requests = 100
    max_requests = 2_000

    def __init__(self, folder: str | None, role: str | None) -> None:
        if not (folder and role):
            raise SettingsError(
                "batches on Bedrock need NEWS_BEDROCK_BATCH_FOLDER (s3://bucket/prefix) "
                "and NEWS_BEDROCK_BATCH_ROLE "
                "(the ARN of a role that may read and write there)"
            )
        self._folder = folder.rstrip("/")
        self._role = role

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return this model with `offline` in the place of the network."""
        from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]  # has no types

        def reply(request: Any, **_: Any) -> AWSResponse:
            body = request.body
            offline.body = body.encode() if isinstance(body, str) else body
            status, content = offline.reply
            return AWSResponse(request.url, status, {}, _Raw(content))

        model.client.meta.events.register_first(_SENT, reply)
        offline_model: Model = model
        return offline_model

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Upload the requests and make the job; made again with this key, it is the
        same job.
        """
        content = b"".join(map(_bedrock_line, requests))
        bucket, prefix = self._place(key)
        _client("s3").put_object(
            Bucket=bucket, Key=f"{prefix}/requests.jsonl", Body=content
        )
        place = f"s3://{bucket}/{prefix}"
        job = _client("bedrock").create_model_invocation_job(
            jobName=_job_name(key),
            clientRequestToken=key,
            roleArn=self._role,
            modelId=model.model_name,
            modelInvocationType="Converse",
            inputDataConfig={"s3InputDataConfig": {"s3Uri": f"{place}/requests.jsonl"}},
            outputDataConfig={"s3OutputDataConfig": {"s3Uri": f"{place}/results/"}},
        )
        return str(job["jobArn"])

    def _place(self, key: str) -> tuple[str, str]:
        """Return bucket and prefix of a batch."""
        path = self._folder.removeprefix("s3://")
        bucket, _, prefix = path.partition("/")
        return bucket, f"{prefix}/{key}".lstrip("/")

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the job of this name."""
        found = _client("bedrock").list_model_invocation_jobs(
            nameContains=_job_name(key)
        )
        for job in found["invocationJobSummaries"]:
            return str(job["jobArn"])
        return None

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return the state."""
        job = _client("bedrock").get_model_invocation_job(jobIdentifier=batch_id)
        return _BEDROCK_STATES.get(job["status"], "running")

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the lines of all objects of results that the job wrote."""
        s3 = _client("s3")
        job = _client("bedrock").get_model_invocation_job(jobIdentifier=batch_id)
        place = job["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"].removeprefix(
            "s3://"
        )
        bucket, _, prefix = place.partition("/")
        pages = s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix
        )
        results: list[Result] = []
        for found in chain.from_iterable(page.get("Contents", ()) for page in pages):
            if found["Key"].endswith(".jsonl.out"):
                body = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                results += _bedrock_results(body.decode())
        return results


def _job_name(key: str) -> str:
    return f"news-assets-{key}"


def _client(service: str) -> Any:
    """Return a client that tries once: a retry is up to the caller."""
    import boto3  # type: ignore[import-untyped]  # has no types
    from botocore.config import Config  # type: ignore[import-untyped]  # has no types

    return boto3.client(service, config=Config(retries={"total_max_attempts": 1}))


def _bedrock_line(request: Sent) -> bytes:
    body = json.loads(request.body)
    return _json_line({"recordId": request.custom_id, "modelInput": body})


def _bedrock_results(text: str) -> Iterator[Result]:
    for line in _json_lines(text):
        if "modelOutput" in line:
            yield _result(line["recordId"], 200, line["modelOutput"])
        else:
            error = line.get("error") or {}
            message = {"message": error.get("errorMessage", "")}
            yield _result(line["recordId"], 500, message)


class _Raw(io.BytesIO):
    """A reply's body, as urllib3 gives it."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()


_GEMINI_STATES: dict[str, BatchState] = {
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

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Upload the requests and make the batch."""
        client = model.client.aio
        content = b"".join(map(_gemini_line, requests))
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
        if not job.state:
            return "running"
        return _GEMINI_STATES.get(job.state.value, "running")

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the lines of the file of results; a batch that expired may have none."""
        client = model.client.aio
        job = await client.batches.get(name=batch_id)
        if job.dest is None:
            return []
        name = job.dest.file_name
        if name is None:
            return []
        content = await client.files.download(file=name)
        return list(_gemini_results(content.decode()))


def _gemini_line(request: Sent) -> bytes:
    body = json.loads(request.body)
    return _json_line({"key": request.custom_id, "request": body})


def _gemini_results(text: str) -> Iterator[Result]:
    for line in _json_lines(text):
        if "response" in line:
            yield _result(line["key"], 200, line["response"])
        else:
            error = line.get("error") or {}
            status = _ERRORS.get(error.get("code", 0), 500)
            yield _result(line["key"], status, {"error": error})


_ENDPOINT = "/v1/chat/completions"
_KEY = "news_assets_batch"
_OPENAI_STATES: dict[str, BatchState] = {
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

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Upload the requests and make the batch."""
        client = model.client.with_options(max_retries=0)
        file = await client.files.create(
            file=("batch.jsonl", b"".join(map(_openai_line, requests))), purpose="batch"
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
        batch = await model.client.batches.retrieve(batch_id)
        return _OPENAI_STATES.get(batch.status, "running")

    async def results(self, model: Any, batch_id: str) -> list[Result]:
        """Return the lines of the files of outputs and errors."""
        batch = await model.client.batches.retrieve(batch_id)
        results: list[Result] = []
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                content = await model.client.files.content(file)
                results += _openai_results(content.text)
        return results


def _openai_line(request: Sent) -> bytes:
    return _json_line(
        {
            "custom_id": request.custom_id,
            "method": "POST",
            "url": _ENDPOINT,
            "body": json.loads(request.body),
        }
    )


def _openai_results(text: str) -> Iterator[Result]:
    for line in _json_lines(text):
        response = line.get("response")
        error = line.get("error") or {}
        if response:
            status = response["status_code"]
            yield _result(line["custom_id"], status, response["body"])
        elif error.get("code") not in _NOT_RUN:
            yield _result(line["custom_id"], 500, {"error": error})
