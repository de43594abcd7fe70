"""Ollama's own chat API."""

import re
from typing import Any

from news_assets_tests.support.model_server.asked import Answer, Asked

PATH = re.compile(r"/api/chat")


def asked(_path: re.Match[str], body: dict[str, Any]) -> Asked:
    """Return what the request asks."""
    texts = {message["role"]: message["content"] for message in body["messages"]}
    return Asked(body["model"], texts["system"], texts["user"], None)


def response(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a 200."""
    usage = answer.usage
    counts = (
        {}
        if usage is None
        else {"prompt_eval_count": usage.input, "eval_count": usage.output}
    )
    message = {"role": "assistant", "content": "" if answer.is_empty else answer.raw}
    reason = "length" if answer.is_cut else "stop"
    return {
        "model": asked.model,
        "message": message,
        "done": True,
        "done_reason": reason,
        **counts,
    }


def error(status: int, message: str) -> dict[str, Any]:
    """Return the body of a failure."""
    return {"error": message}
