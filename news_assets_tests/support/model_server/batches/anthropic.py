"""Anthropic's message batches. They carry no name of their maker; results come once the
batch has ended.
"""

import re
from typing import Any

from news_assets_tests.support.model_server import anthropic
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


def _create(server: ModelServer, request: Request) -> Reply:
    match = re.fullmatch(".*", "/v1/messages")
    assert match
    requests = request.json["requests"]
    asked = [
        (each["custom_id"], anthropic.asked(match, each["params"]), each["params"])
        for each in requests
    ]
    job = run(server, "", asked[0][1].model, asked, "/v1/messages")
    job.details["at"] = server.clock().isoformat()
    status = status_of_reply(job)
    return (
        Reply(_batch(server, job))
        if status == 200
        else Reply(anthropic.error(status, f"simulated {status}"), status)
    )


def _batch(server: ModelServer, job: Job) -> dict[str, Any]:
    is_over = job.state != "running"
    ended = counts(
        job,
        succeeded=lambda o: isinstance(o, Answer),
        errored=lambda o: isinstance(o, int),
        expired=lambda o: o is None,
    )
    head = {
        "id": job.id,
        "type": "message_batch",
        "processing_status": "ended" if is_over else "in_progress",
    }
    request_counts = {
        "processing": 0 if is_over else len(job.lines),
        "canceled": 0,
        **ended,
    }
    url = f"{server.url}/v1/messages/batches/{job.id}/results" if is_over else None
    times: dict[str, Any] = {
        "created_at": job.details["at"],
        "expires_at": job.details["at"],
    }
    times |= {
        "ended_at": job.details["at"] if is_over else None,
        "archived_at": None,
        "cancel_initiated_at": None,
    }
    return {**head, "request_counts": request_counts, "results_url": url, **times}


def _retrieve(server: ModelServer, request: Request) -> Reply:
    job = found(server, request.path[1])
    job.poll()
    return Reply(_batch(server, job))


def _list(server: ModelServer, request: Request) -> Reply:
    """Return a page of batches, newest first."""
    jobs = [job for job in reversed(server.jobs) if "at" in job.details]
    ids = [job.id for job in jobs]
    start = (
        ids.index(request.query["after_id"]) + 1 if "after_id" in request.query else 0
    )
    page = jobs[start : start + int(request.query.get("limit", 20))]
    ends = {
        "first_id": page[0].id if page else None,
        "last_id": page[-1].id if page else None,
    }
    return Reply(
        {
            "data": [_batch(server, j) for j in page],
            "has_more": start + len(page) < len(jobs),
            **ends,
        }
    )


def _results(server: ModelServer, request: Request) -> Reply:
    return Reply(
        jsonl(_result(line) for line in found(server, request.path[1]).results())
    )


def _result(line: Line) -> dict[str, Any]:
    if isinstance(line.outcome, Answer):
        result = {
            "type": "succeeded",
            "message": anthropic.response(line.asked, line.outcome),
        }
    elif line.outcome is None:
        result = {"type": "expired"}
    else:
        result = {
            "type": "errored",
            "error": anthropic.error(line.outcome, f"simulated {line.outcome}"),
        }
    return {"custom_id": line.custom_id, "result": result}


ROUTES: tuple[Route, ...] = (
    ("POST", re.compile("/v1/messages/batches"), _create),
    ("GET", re.compile("/v1/messages/batches"), _list),
    ("GET", re.compile("/v1/messages/batches/([^/]+)"), _retrieve),
    ("GET", re.compile("/v1/messages/batches/([^/]+)/results"), _results),
)
