"""What a request asks, and the answer to it, in no provider's dialect."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens that the server claims; `cached` is part of `input`."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True)
class Asked:
    """One input for a model.

    `text` is all text of the user, `instructions` that of the system. `tool` names the
    tool whose call is the structured answer; without one the answer is text (of a JSON
    schema or as the prompt says).
    """

    model: str
    instructions: str
    text: str
    tool: str | None


@dataclass(frozen=True)
class Answer:
    """What the model says: an object, or a raw string that need not be JSON. `usage`
    None: not stated.

    `is_empty`: no choice, candidate or content at all. `is_refusal`: the provider's own
    form of a refusal.
    """

    content: dict[str, Any] | str
    usage: Usage | None
    is_refusal: bool = False
    is_empty: bool = False
    is_cut: bool = False

    @property
    def raw(self) -> str:
        """The answer as text."""
        return (
            self.content
            if isinstance(self.content, str)
            else json.dumps(self.content, ensure_ascii=False)
        )


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts with `text`."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if "text" in part)
