"""Bedrock's Converse."""

import re
from typing import Any
from urllib.parse import unquote

from news_assets_tests.support.model_server.asked import Answer, Asked, text_of

PATH = re.compile(r"/model/([^/]+)/converse")


def asked(path: re.Match[str], body: dict[str, Any]) -> Asked:
    """Return what the request asks."""
    by_user = "\n".join(
        text_of(m["content"]) for m in body["messages"] if m["role"] == "user"
    )
    tools = (body.get("toolConfig") or {}).get("tools", [])
    return Asked(
        unquote(path[1]),
        text_of(body.get("system")),
        by_user,
        tools[0]["toolSpec"]["name"] if tools else None,
    )


def response(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a 200. `inputTokens` excludes what was read from the cache."""
    reason = (
        "max_tokens"
        if answer.is_cut
        else "content_filtered"
        if answer.is_refusal
        else "end_turn"
    )
    content: dict[str, Any] = {"text": answer.raw}
    if asked.tool and isinstance(answer.content, dict):
        content = {
            "toolUse": {
                "toolUseId": "tooluse_1",
                "name": asked.tool,
                "input": answer.content,
            }
        }
        reason = "tool_use"
    message = {"role": "assistant", "content": [] if answer.is_empty else [content]}
    return {
        "output": {"message": message},
        "stopReason": reason,
        "metrics": {"latencyMs": 5},
        **_usage(answer),
    }


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    if usage is None:
        return {}
    counts = {"inputTokens": usage.input - usage.cached, "outputTokens": usage.output}
    cached = {"cacheReadInputTokens": usage.cached} if usage.cached else {}
    return {"usage": {**counts, **cached, "totalTokens": usage.input + usage.output}}


def error(status: int, message: str) -> dict[str, Any]:
    """Return the body of a failure."""
    return {"message": message}
