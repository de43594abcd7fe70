"""Gemini's files and batches, with the requests in a file or in the call. A batch that
expired has no results.
"""

import json
import re
from typing import Any

from news_assets_tests.support.model_server import gemini
from news_assets_tests.support.model_server.asked import Answer
from news_assets_tests.support.model_server.batches.jobs import (
    Job,
    Line,
    found,
    jsonl,
    run,
    status_of_reply,
)
from news_assets_tests.support.model_server.exchange import Reply, Request, Route
from news_assets_tests.support.model_server.server import ModelServer

_STATES = {
    "running": "RUNNING",
    "ended": "SUCCEEDED",
    "expired": "EXPIRED",
    "failed": "FAILED",
}


def _start_upload(server: ModelServer, _request: Request) -> Reply:
    return Reply(
        {},
        headers={
            "X-Goog-Upload-URL": f"{server.url}/upload/1",
            "X-Goog-Upload-Status": "active",
        },
    )


def _upload(server: ModelServer, request: Request) -> Reply:
    name = f"files/{len(server.files) + 1}"
    server.files[name] = request.body
    file = {
        "name": name,
        "sizeBytes": str(len(request.body)),
        "state": "ACTIVE",
        "uri": f"{server.url}/v1beta/{name}",
    }
    return Reply({"file": file}, headers={"X-Goog-Upload-Status": "final"})


def _delete(server: ModelServer, request: Request) -> Reply:
    del server.files[request.path[1]]
    return Reply({})


def _download(server: ModelServer, request: Request) -> Reply:
    return Reply(server.files[request.path[1]])


def _create(server: ModelServer, request: Request) -> Reply:
    batch = request.json["batch"]
    source = batch["inputConfig"]
    if "fileName" in source:
        lines = [
            json.loads(line) for line in server.files[source["fileName"]].splitlines()
        ]
        keyed = [(line["key"], line["request"]) for line in lines]
    else:
        keyed = [
            ((each.get("metadata") or {}).get("key", ""), each["request"])
            for each in source["requests"]["requests"]
        ]
    path = re.fullmatch("(.*)", request.path[1])
    assert path
    asked = [(key, gemini.asked(path, body), body) for key, body in keyed]
    job = run(
        server,
        batch["displayName"],
        request.path[1],
        asked,
        f"/v1beta/models/{path[1]}:generateContent",
    )
    job.id = f"batches/{job.id}"
    job.details["is_inline"] = "fileName" not in source
    server.files[f"files/{job.id}-out"] = jsonl(
        _line(line) for line in job.results() if line.outcome is not None
    )
    status = status_of_reply(job)
    return (
        Reply(_operation(job))
        if status == 200
        else Reply(gemini.error(status, f"simulated {status}"), status)
    )


def _line(line: Line) -> dict[str, Any]:
    return {"key": line.custom_id, **_outcome(line)}


def _outcome(line: Line) -> dict[str, Any]:
    if isinstance(line.outcome, Answer):
        return {"response": gemini.response(line.asked, line.outcome)}
    return {
        "error": {
            "code": 8 if line.outcome == 429 else 13,
            "message": f"simulated {line.outcome}",
        }
    }


def _operation(job: Job) -> dict[str, Any]:
    head = {
        "displayName": job.key,
        "model": f"models/{job.model}",
        "createTime": "2026-11-20T12:00:00Z",
    }
    metadata = {**head, "state": f"BATCH_STATE_{_STATES[job.state]}"}
    has_results = job.state == "ended" or any(
        line.outcome is not None for line in job.lines
    )
    if job.state != "running" and has_results:
        inline = {
            "inlinedResponses": {
                "inlinedResponses": [_inline(line) for line in job.results()]
            }
        }
        metadata["output"] = (
            inline
            if job.details["is_inline"]
            else {"responsesFile": f"files/{job.id}-out"}
        )
    return {"name": job.id, "metadata": metadata, "done": job.state != "running"}


def _inline(line: Line) -> dict[str, Any]:
    return {"metadata": {"key": line.custom_id}, **_outcome(line)}


def _retrieve(server: ModelServer, request: Request) -> Reply:
    job = found(server, request.path[1])
    job.poll()
    return Reply(_operation(job))


def _list(server: ModelServer, request: Request) -> Reply:
    """Return a page of batches, newest first."""
    jobs = [job for job in reversed(server.jobs) if "is_inline" in job.details]
    start = int(request.query.get("pageToken", 0))
    page = jobs[start : start + int(request.query.get("pageSize", 50))]
    following = start + len(page)
    token = {"nextPageToken": str(following)} if following < len(jobs) else {}
    return Reply({"operations": [_operation(job) for job in page], **token})


ROUTES: tuple[Route, ...] = (
    ("POST", re.compile("/upload/v1beta/files"), _start_upload),
    ("POST", re.compile("/upload/1"), _upload),
    ("DELETE", re.compile("/v1beta/(files/.+)"), _delete),
    ("GET", re.compile("/v1beta/(files/.+):download"), _download),
    ("POST", re.compile("/v1beta/models/([^/:]+):batchGenerateContent"), _create),
    ("GET", re.compile("/v1beta/batches"), _list),
    ("GET", re.compile("/v1beta/(batches/[^/]+)"), _retrieve),
)
