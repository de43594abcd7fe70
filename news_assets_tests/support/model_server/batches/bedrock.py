"""Bedrock's model invocation jobs over objects of a small S3, which is at `/s3` of the
same server.
"""

import json
import re
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape

from news_assets_tests.support.model_server import bedrock
from news_assets_tests.support.model_server.asked import Answer
from news_assets_tests.support.model_server.batches.jobs import (
    Job,
    Line,
    jsonl,
    run,
    status_of_reply,
)
from news_assets_tests.support.model_server.exchange import Reply, Request, Route
from news_assets_tests.support.model_server.server import ModelServer

_STATES = {
    "running": "InProgress",
    "ended": "Completed",
    "expired": "Expired",
    "failed": "Failed",
}
_ARN = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/"


def _create(server: ModelServer, request: Request) -> Reply:
    body = request.json
    for job in server.jobs:
        if job.key == body["clientRequestToken"]:
            return Reply({"jobArn": job.id})
    source = body["inputDataConfig"]["s3InputDataConfig"]["s3Uri"].removeprefix("s3://")
    lines = [json.loads(line) for line in server.files[source].splitlines()]
    path = re.fullmatch("(.*)", body["modelId"])
    assert path
    asked = [
        (line["recordId"], bedrock.asked(path, line["modelInput"]), line["modelInput"])
        for line in lines
    ]
    if len(lines) < server.min_records:
        message = (
            f"A batch needs at least {server.min_records} records, but has {len(lines)}"
        )
        return Reply(
            bedrock.error(400, message),
            400,
            {"x-amzn-ErrorType": "ValidationException"},
        )
    job = run(
        server, body["clientRequestToken"], path[1], asked, f"/model/{path[1]}/converse"
    )
    name = job.id
    job.id = f"{_ARN}{name}"
    job.details["created"] = body
    if job.state != "failed" or job.polls_left:
        output = (
            body["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"]
            .removeprefix("s3://")
            .rstrip("/")
        )
        results = [line for line in job.results() if line.outcome is not None]
        server.files[f"{output}/{name}/{source.rsplit('/', 1)[1]}.out"] = jsonl(
            _line(line) for line in results
        )
        server.files[f"{output}/{name}/manifest.json.out"] = jsonl(
            [{"totalRecordCount": len(lines)}]
        )
    status = status_of_reply(job)
    error = {400: "ValidationException", 500: "InternalServerException"}.get(status, "")
    return (
        Reply({"jobArn": job.id})
        if status == 200
        else Reply(
            bedrock.error(status, f"simulated {status}"),
            status,
            {"x-amzn-ErrorType": error},
        )
    )


def _line(line: Line) -> dict[str, Any]:
    if isinstance(line.outcome, Answer):
        return {
            "recordId": line.custom_id,
            "modelInput": {},
            "modelOutput": bedrock.response(line.asked, line.outcome),
        }
    error = {
        "errorCode": line.outcome,
        "errorMessage": f"simulated {line.outcome}",
        "expired": False,
        "retryable": True,
    }
    return {"recordId": line.custom_id, "modelInput": {}, "error": error}


def _job(job: Job) -> dict[str, Any]:
    created = job.details["created"]
    same = {
        k: created[k]
        for k in (
            "jobName",
            "modelId",
            "roleArn",
            "inputDataConfig",
            "outputDataConfig",
        )
    }
    times = {
        "submitTime": "2026-11-20T12:00:00Z",
        "lastModifiedTime": "2026-11-20T12:00:00Z",
    }
    message = {"message": "simulated"} if job.state == "failed" else {}
    return {
        "jobArn": job.id,
        "status": _STATES[job.state],
        "clientRequestToken": job.key,
        **same,
        **times,
        **message,
    }


def _retrieve(server: ModelServer, request: Request) -> Reply:
    asked = unquote(request.path[1])
    job = next(job for job in server.jobs if job.id == asked)
    job.poll()
    return Reply(_job(job))


def _list(server: ModelServer, request: Request) -> Reply:
    name = request.query.get("nameContains", "")
    jobs = [
        job
        for job in server.jobs
        if "created" in job.details and name in job.details["created"]["jobName"]
    ]
    return Reply({"invocationJobSummaries": [_job(job) for job in jobs]})


def _put(server: ModelServer, request: Request) -> Reply:
    server.files[unquote(request.path[1])] = request.body
    return Reply(headers={"ETag": '"1"'})


def _get(server: ModelServer, request: Request) -> Reply:
    name = unquote(request.path[1])
    if name in server.files:
        return Reply(server.files[name], headers={"ETag": '"1"'})
    return Reply(b"<Error><Code>NoSuchKey</Code></Error>", 404)


def _list_objects(server: ModelServer, request: Request) -> Reply:
    bucket = request.path[1].rstrip("/")
    keys = [
        name.removeprefix(f"{bucket}/")
        for name in server.files
        if name.startswith(f"{bucket}/")
    ]
    keys = [key for key in keys if key.startswith(request.query.get("prefix", ""))]
    found = "".join(
        f"<Contents><Key>{escape(key)}</Key><Size>1</Size></Contents>" for key in keys
    )
    return Reply(
        f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()
    )


ROUTES: tuple[Route, ...] = (
    ("POST", re.compile("/model-invocation-job"), _create),
    ("GET", re.compile("/model-invocation-jobs"), _list),
    ("GET", re.compile("/model-invocation-job/(.+)"), _retrieve),
    ("PUT", re.compile("/s3/([^/]+/.+)"), _put),
    ("GET", re.compile("/s3/([^/]+/.+)"), _get),
    ("GET", re.compile("/s3/([^/]+/?)"), _list_objects),
)
