"""Anthropic's messages."""

import re
from typing import Any

from news_assets_tests.support.model_server.asked import Answer, Asked, text_of

PATH = re.compile(r"/v1/messages")
_TYPES = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


def asked(_path: re.Match[str], body: dict[str, Any]) -> Asked:
    """Return what the request asks."""
    by_user = "\n".join(
        text_of(m["content"]) for m in body["messages"] if m["role"] == "user"
    )
    tools = body.get("tools") or []
    return Asked(
        body["model"],
        text_of(body.get("system")),
        by_user,
        tools[0]["name"] if tools else None,
    )


def response(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a 200. `input_tokens` excludes what was read from the cache."""
    reason = (
        "max_tokens"
        if answer.is_cut
        else "refusal"
        if answer.is_refusal
        else "end_turn"
    )
    content: dict[str, Any] = {"type": "text", "text": answer.raw}
    if asked.tool and isinstance(answer.content, dict):
        content = {
            "type": "tool_use",
            "id": "toolu_1",
            "name": asked.tool,
            "input": answer.content,
        }
        reason = "tool_use"
    contents = [] if answer.is_empty else [content]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.model}
    return {
        **head,
        "content": contents,
        "stop_reason": reason,
        "stop_sequence": None,
        **_usage(answer),
    }


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    if usage is None:
        return {}
    cached = {"cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": 0}
    return {
        "usage": {
            "input_tokens": usage.input - usage.cached,
            "output_tokens": usage.output,
            **cached,
        }
    }


def error(status: int, message: str) -> dict[str, Any]:
    """Return the body of a failure."""
    return {
        "type": "error",
        "error": {"type": _TYPES.get(status, "api_error"), "message": message},
    }
