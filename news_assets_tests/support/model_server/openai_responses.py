"""OpenAI's responses API, which pydantic-ai uses for `openai:MODEL`."""

import re
from typing import Any

from news_assets_tests.support.model_server.asked import Answer, Asked, text_of
from news_assets_tests.support.model_server.openai_chat import error

__all__ = ["PATH", "asked", "error", "response"]

PATH = re.compile(r"/v1/responses")


def asked(_path: re.Match[str], body: dict[str, Any]) -> Asked:
    """Return what the request asks."""
    messages = (
        body["input"]
        if isinstance(body["input"], list)
        else [{"role": "user", "content": body["input"]}]
    )
    by_system = [
        text_of(m["content"])
        for m in messages
        if m.get("role") in ("system", "developer")
    ]
    by_user = "\n".join(
        text_of(m["content"]) for m in messages if m.get("role") == "user"
    )
    tools = body.get("tools") or []
    instructions = "\n".join(filter(None, [body.get("instructions"), *by_system]))
    return Asked(
        body["model"], instructions, by_user, tools[0]["name"] if tools else None
    )


def response(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a 200."""
    head = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "model": asked.model,
    }
    rest = {
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
    }
    status = (
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        if answer.is_cut
        else {"status": "completed"}
    )
    output = [] if answer.is_empty else [_item(asked, answer)]
    return {**head, **rest, **status, "output": output, **_usage(answer)}


def _item(asked: Asked, answer: Answer) -> dict[str, Any]:
    status = "incomplete" if answer.is_cut else "completed"
    if asked.tool and not answer.is_refusal:
        named = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": asked.tool,
        }
        return {**named, "arguments": answer.raw, "status": status}
    part: dict[str, Any] = {
        "type": "output_text",
        "text": answer.raw,
        "annotations": [],
        "logprobs": [],
    }
    if answer.is_refusal:
        part = {"type": "refusal", "refusal": answer.raw}
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": status,
        "content": [part],
    }


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    if usage is None:
        return {}
    total = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    }
    return {
        "usage": {
            **total,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
    }
