"""Chat completions, as OpenAI, Ollama, vLLM and llama.cpp speak them."""

import re
from typing import Any

from news_assets_tests.support.model_server.asked import Answer, Asked, text_of

PATH = re.compile(r"/v1/chat/completions")


def asked(_path: re.Match[str], body: dict[str, Any]) -> Asked:
    """Return what the request asks."""
    messages = body["messages"]
    by_system = "\n".join(
        text_of(m["content"]) for m in messages if m["role"] in ("system", "developer")
    )
    by_user = "\n".join(text_of(m["content"]) for m in messages if m["role"] == "user")
    tools = body.get("tools") or []
    return Asked(
        body["model"],
        by_system,
        by_user,
        tools[0]["function"]["name"] if tools else None,
    )


def response(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a 200."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.raw}
    reason = "length" if answer.is_cut else "stop"
    if answer.is_refusal:
        message |= {"content": None, "refusal": answer.raw}
    elif asked.tool:
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": asked.tool, "arguments": answer.raw},
        }
        message |= {"content": None, "tool_calls": [call]}
        reason = "length" if answer.is_cut else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    choices = [] if answer.is_empty else [choice]
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1790000000,
        "model": asked.model,
    }
    return {**head, "choices": choices, **_usage(answer)}


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    if usage is None:
        return {}
    total = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    }
    return {
        "usage": {**total, "prompt_tokens_details": {"cached_tokens": usage.cached}}
    }


def error(status: int, message: str) -> dict[str, Any]:
    """Return the body of a failure."""
    return {
        "error": {
            "message": message,
            "type": "server_error",
            "param": None,
            "code": str(status),
        }
    }
