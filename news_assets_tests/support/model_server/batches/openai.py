"""OpenAI's files and batches, of requests to the responses API or chat completions."""

import json
import re
from email import message_from_bytes
from typing import Any

from news_assets_tests.support.model_server import openai_chat, openai_responses
from news_assets_tests.support.model_server.asked import Answer
from news_assets_tests.support.model_server.batches.jobs import (
    Job,
    Line,
    counts,
    found,
    jsonl,
    run,
    status_of_reply,
)
from news_assets_tests.support.model_server.exchange import Reply, Request, Route
from news_assets_tests.support.model_server.server import ModelServer

_STATES = {"running": "in_progress", "ended": "completed"}


def _upload(server: ModelServer, request: Request) -> Reply:
    head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
    parts = {
        p.get_param("name", header="content-disposition"): p
        for p in _parts(head + request.body)
    }
    content = parts["file"].get_payload(decode=True)
    file_id = f"file-{len(server.files) + 1}"
    server.files[file_id] = content
    return Reply(_file(file_id, content))


def _parts(message: bytes) -> list[Any]:
    parts: Any = message_from_bytes(message).get_payload()
    return list(parts)


def _file(file_id: str, content: bytes) -> dict[str, Any]:
    head = {
        "id": file_id,
        "object": "file",
        "bytes": len(content),
        "created_at": 1790000000,
    }
    return {
        **head,
        "filename": "batch.jsonl",
        "purpose": "batch",
        "status": "processed",
    }


def _content(server: ModelServer, request: Request) -> Reply:
    file = server.files.get(request.path[1])
    return (
        Reply(openai_chat.error(404, "no such file"), 404)
        if file is None
        else Reply(file)
    )


def _delete(server: ModelServer, request: Request) -> Reply:
    del server.files[request.path[1]]
    return Reply({"id": request.path[1], "object": "file", "deleted": True})


def _create(server: ModelServer, request: Request) -> Reply:
    body = request.json
    dialect = openai_responses if body["endpoint"] == "/v1/responses" else openai_chat
    match = re.fullmatch(".*", body["endpoint"])
    assert match
    lines = [
        json.loads(line) for line in server.files[body["input_file_id"]].splitlines()
    ]
    asked = [
        (line["custom_id"], dialect.asked(match, line["body"]), line["body"])
        for line in lines
    ]
    key = (body.get("metadata") or {}).get("news_assets_batch", "")
    job = run(server, key, asked[0][1].model, asked, body["endpoint"])
    job.details |= {
        "input_file_id": body["input_file_id"],
        "metadata": body.get("metadata"),
    }
    job.details |= {
        "endpoint": body["endpoint"],
        "output_file_id": f"{job.id}-out",
        "error_file_id": f"{job.id}-err",
    }
    results = job.results()
    server.files[f"{job.id}-out"] = jsonl(
        _answered(dialect, r) for r in results if isinstance(r.outcome, Answer)
    )
    errors = [_failed(r) for r in results if not isinstance(r.outcome, Answer)]
    server.files[f"{job.id}-err"] = jsonl(errors)
    return _reply(job, status_of_reply(job))


def _answered(dialect: Any, line: Line) -> dict[str, Any]:
    body = dialect.response(line.asked, line.outcome)
    return {
        "id": "batch_req_1",
        "custom_id": line.custom_id,
        "response": {"status_code": 200, "body": body},
    }


def _failed(line: Line) -> dict[str, Any]:
    if isinstance(line.outcome, int):
        response = {
            "status_code": line.outcome,
            "body": openai_chat.error(line.outcome, f"simulated {line.outcome}"),
        }
        return {"id": "batch_req_1", "custom_id": line.custom_id, "response": response}
    error = {
        "code": "batch_expired",
        "message": "This request could not be executed before the completion window.",
    }
    return {
        "id": "batch_req_1",
        "custom_id": line.custom_id,
        "response": None,
        "error": error,
    }


def _reply(job: Job, status: int = 200) -> Reply:
    if status != 200:
        return Reply(openai_chat.error(status, f"simulated {status}"), status)
    return Reply(_batch(job))


def _batch(job: Job) -> dict[str, Any]:
    files = (
        {}
        if job.state in ("running", "failed")
        else {k: job.details[k] for k in ("output_file_id", "error_file_id")}
    )
    completed = counts(
        job,
        completed=lambda o: isinstance(o, Answer),
        failed=lambda o: not isinstance(o, Answer),
    )
    head = {
        "id": job.id,
        "object": "batch",
        "endpoint": job.details["endpoint"],
        "completion_window": "24h",
    }
    state = {
        "status": _STATES.get(job.state, job.state),
        "request_counts": {"total": len(job.lines), **completed},
    }
    rest = {key: job.details[key] for key in ("input_file_id", "metadata")}
    failed = {
        "errors": {
            "object": "list",
            "data": [{"code": "invalid", "message": "simulated"}],
        }
    }
    return {
        **head,
        **state,
        **rest,
        "created_at": job.created_at,
        **files,
        **(failed if job.state == "failed" else {}),
    }


def _retrieve(server: ModelServer, request: Request) -> Reply:
    job = found(server, request.path[1])
    job.poll()
    return _reply(job)


def _list(server: ModelServer, request: Request) -> Reply:
    """Return a page of batches, newest first."""
    jobs = [job for job in reversed(server.jobs) if "endpoint" in job.details]
    ids = [job.id for job in jobs]
    start = ids.index(request.query["after"]) + 1 if "after" in request.query else 0
    page = jobs[start : start + int(request.query.get("limit", 20))]
    rest = {
        "has_more": start + len(page) < len(jobs),
        "last_id": page[-1].id if page else None,
    }
    return Reply({"object": "list", "data": [_batch(job) for job in page], **rest})


ROUTES: tuple[Route, ...] = (
    ("POST", re.compile("/v1/files"), _upload),
    ("GET", re.compile("/v1/files/([^/]+)/content"), _content),
    ("DELETE", re.compile("/v1/files/([^/]+)"), _delete),
    ("POST", re.compile("/v1/batches"), _create),
    ("GET", re.compile("/v1/batches"), _list),
    ("GET", re.compile("/v1/batches/([^/]+)"), _retrieve),
)
