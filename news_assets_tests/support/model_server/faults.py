"""Ways in which a provider or its model fails."""

from enum import Enum, auto
from typing import Any

from news_assets_tests.support.model_server.asked import Answer, Usage

GERMAN = "Die Regierung hat gestern in der Hauptstadt ein neues Gesetz über die Schulen und Straßen vorgestellt."


class Fault(Enum):
    """One failure of one call."""

    RATE_LIMITED = auto()  # 429 with Retry-After
    OVERLOADED = auto()  # 529
    SERVER_ERROR = auto()  # 500
    UNAUTHORIZED = auto()  # 401
    REDIRECT = auto()  # 307 to the same address
    PAGE = auto()  # 200 with a page in HTML, as of a network that wants a log-in
    HANG = auto()  # no answer until the client leaves or the server stops
    CUT_JSON = auto()  # ended at the limit of tokens
    # values of keys that name themes or codes exist in no taxonomy
    WRONG_CODES = auto()
    OTHER_LANGUAGE = auto()  # texts of the answer are German
    REFUSAL = auto()
    NO_USAGE = auto()
    EMPTY = auto()  # no choices


STATUS = {
    Fault.RATE_LIMITED: 429,
    Fault.OVERLOADED: 529,
    Fault.SERVER_ERROR: 500,
    Fault.UNAUTHORIZED: 401,
    Fault.REDIRECT: 307,
}


def faulty_answer(
    content: dict[str, Any] | str, usage: Usage, fault: Fault | None
) -> Answer:
    """Return the answer with the fault in it."""
    match fault:
        case Fault.CUT_JSON:
            raw = Answer(content, usage).raw
            return Answer(raw[: len(raw) * 2 // 3], usage, is_cut=True)
        case Fault.WRONG_CODES:
            return Answer(_replaced(content, ("theme", "code"), "no-such-code"), usage)
        case Fault.OTHER_LANGUAGE:
            return Answer(
                _replaced(content, ("summary", "point", "text", "sentence"), GERMAN),
                usage,
            )
        case Fault.REFUSAL:
            return Answer("I cannot help with this request.", usage, is_refusal=True)
        case Fault.NO_USAGE:
            return Answer(content, None)
        case Fault.EMPTY:
            return Answer("", usage, is_empty=True)
        case _:
            return Answer(content, usage)


def _replaced(
    value: Any, names: tuple[str, ...], text: str, is_named: bool = False
) -> Any:
    """Return the value with each string replaced that stands under a key with one of
    these names in it.
    """
    if isinstance(value, dict):
        return {
            k: _replaced(v, names, text, is_named or any(name in k for name in names))
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_replaced(each, names, text, is_named) for each in value]
    return text if is_named and isinstance(value, str) else value
