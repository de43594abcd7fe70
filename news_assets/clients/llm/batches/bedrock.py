"""Bedrock's model invocation jobs, whose requests and results are objects of S3.

A client token makes a job once.

https://docs.aws.amazon.com/bedrock/latest/userguide/batch-inference.html
"""

import io
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from news_assets.clients.llm.batches.api import Result, Sent, lines_of
from news_assets.clients.llm.batches.offline import Offline
from news_assets.errors import SettingsError
from news_assets.ports.services import BatchState

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_STATES: dict[str, BatchState] = {
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
        self._folder, self._role = folder.rstrip("/"), role

    def offline(self, model: Any, offline: Offline) -> "Model":
        """Return this model with `offline` in the place of the network."""
        from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]  # has no types

        def reply(request: Any, **_: Any) -> AWSResponse:
            offline.body = (
                request.body.encode() if isinstance(request.body, str) else request.body
            )
            status, content = offline.reply
            return AWSResponse(request.url, status, {}, _Raw(content))

        model.client.meta.events.register_first(_SENT, reply)
        offline_model: Model = model
        return offline_model

    async def close(self, model: Any) -> None:
        """Close the connections of a model."""
        model.client.close()

    async def make(self, model: Any, requests: Sequence[Sent], key: str) -> str:
        """Upload the requests and make the job; made again with this key, it is the
        same job.
        """
        content = b"".join(map(_line, requests))
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
        bucket, _, prefix = self._folder.removeprefix("s3://").partition("/")
        return bucket, f"{prefix}/{key}".lstrip("/")

    async def find(
        self, model: Any, key: str, since: datetime, count: int
    ) -> str | None:
        """Return the job of this name."""
        jobs = _client("bedrock").list_model_invocation_jobs(
            nameContains=_job_name(key)
        )["invocationJobSummaries"]
        return str(jobs[0]["jobArn"]) if jobs else None

    async def state(self, model: Any, batch_id: str) -> BatchState:
        """Return the state."""
        return _STATES.get(
            _client("bedrock").get_model_invocation_job(jobIdentifier=batch_id)[
                "status"
            ],
            "running",
        )

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
                results += _results(body.decode())
        return results


def _job_name(key: str) -> str:
    return f"news-assets-{key}"


def _client(service: str) -> Any:
    """Return a client that tries once: a retry is up to the caller."""
    import boto3  # type: ignore[import-untyped]  # has no types
    from botocore.config import Config  # type: ignore[import-untyped]  # has no types

    return boto3.client(service, config=Config(retries={"total_max_attempts": 1}))


def _line(request: Sent) -> bytes:
    line = {"recordId": request.custom_id, "modelInput": json.loads(request.body)}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _results(text: str) -> Iterator[Result]:
    for line in map(json.loads, lines_of(text)):
        if "modelOutput" in line:
            yield Result(
                line["recordId"], 200, json.dumps(line["modelOutput"]).encode()
            )
        else:
            message = {"message": (line.get("error") or {}).get("errorMessage", "")}
            yield Result(line["recordId"], 500, json.dumps(message).encode())


class _Raw(io.BytesIO):
    """A reply's body, as urllib3 gives it."""

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()
