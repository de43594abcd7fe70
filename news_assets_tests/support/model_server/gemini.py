"""Gemini's generateContent."""

import re
from typing import Any

from news_assets_tests.support.model_server.asked import Answer, Asked, text_of

PATH = re.compile(r"/v1beta/models/([^/:]+):generateContent")
_NAMES = {
    401: "UNAUTHENTICATED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    529: "UNAVAILABLE",
}


def asked(path: re.Match[str], body: dict[str, Any]) -> Asked:
    """Return what the request asks."""
    by_system = text_of(
        (body.get("systemInstruction") or body.get("system_instruction") or {}).get(
            "parts"
        )
    )
    by_user = "\n".join(
        text_of(c["parts"]) for c in body["contents"] if c.get("role", "user") == "user"
    )
    tools = [
        f
        for tool in body.get("tools") or []
        for f in tool.get("functionDeclarations", ())
    ]
    return Asked(path[1], by_system, by_user, tools[0]["name"] if tools else None)


def response(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a 200."""
    reason = (
        "MAX_TOKENS" if answer.is_cut else "SAFETY" if answer.is_refusal else "STOP"
    )
    part: dict[str, Any] = {"text": answer.raw}
    if asked.tool and isinstance(answer.content, dict):
        part = {"functionCall": {"name": asked.tool, "args": answer.content}}
    content = (
        {} if answer.is_refusal else {"content": {"role": "model", "parts": [part]}}
    )
    candidates = (
        [] if answer.is_empty else [{**content, "finishReason": reason, "index": 0}]
    )
    return {
        "candidates": candidates,
        "modelVersion": asked.model,
        "responseId": "r1",
        **_usage(answer),
    }


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    if usage is None:
        return {}
    counts = {"promptTokenCount": usage.input, "candidatesTokenCount": usage.output}
    cached = {"cachedContentTokenCount": usage.cached} if usage.cached else {}
    return {
        "usageMetadata": {
            **counts,
            **cached,
            "totalTokenCount": usage.input + usage.output,
        }
    }


def error(status: int, message: str) -> dict[str, Any]:
    """Return the body of a failure."""
    return {
        "error": {
            "code": status,
            "message": message,
            "status": _NAMES.get(status, "UNKNOWN"),
        }
    }
