"""The texts of the pages: English in the templates, Portuguese in `phrases.pt.yaml` by
the English text.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from starlette.requests import Request

LANGUAGES: Final = {"en": "English", "pt": "Português"}
_FILE: Final = Path(__file__).with_name("phrases.pt.yaml")

Translate = Callable[..., str]


@cache
def portuguese() -> dict[str, str]:
    """Return the Portuguese texts by their English ones."""
    texts: dict[str, str] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return texts


def translation(language: str) -> Translate:
    """Return the function that a template calls with an English text and the values of
    its {names}.
    """
    texts = portuguese() if language == "pt" else {}

    def translate(text: str, /, **values: object) -> str:
        found = texts.get(text, text)
        return found.format(**values) if values else found

    return translate


def language_of(request: Request) -> str:
    """Return the language to show: that of `lang`, else of Accept-Language, else
    English.
    """
    return preferred(
        request.headers.get("accept-language", ""), request.query_params.get("lang", "")
    )


def preferred(accepted: str, asked: str = "") -> str:
    """Return the language to show: the one asked for, else the first accepted one
    (Accept-Language) that there is.
    """
    if asked in LANGUAGES:
        return asked
    for part in accepted.split(","):
        code = part.partition(";")[0].strip()[:2].lower()
        if code in LANGUAGES:
            return code
    return "en"
