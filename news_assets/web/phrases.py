"""The texts of the pages: English in the templates, Portuguese in `phrases.pt.yaml` by
the English text.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from markupsafe import Markup
from starlette.requests import Request

from news_assets.errors import QueryError

LANGUAGES: Final = {"en": "English", "pt": "Português"}
LANGUAGE_COOKIE: Final = "news_language"
_FILE: Final = Path(__file__).with_name("phrases.pt.yaml")
_MADE_FILE: Final = Path(__file__).with_name("made_texts.pt.yaml")

_Translate = Callable[..., str]


@cache
def portuguese() -> dict[str, str]:
    """Return the Portuguese texts by their English ones."""
    texts: dict[str, str] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return texts


def translation(language: str) -> _Translate:
    """Return the function that a template calls with an English text and the values of
    its {names}; of values with markup it makes markup.
    """
    texts = portuguese() if language == "pt" else {}

    def translate(text: str, /, **values: object) -> str:
        found = texts.get(text, text)
        if any(isinstance(value, Markup) for value in values.values()):
            return Markup(found).format(**values)
        return found.format(**values) if values else found

    return translate


def mistake_text(error: QueryError, translate: _Translate) -> str:
    """Return what is wrong in the text of a search, and in which column."""
    problem = translate(error.problem).format(**error.values)
    return translate(
        "column {column} of the search: {problem}", column=error.column, problem=problem
    )


_LANGUAGE_NAMES: Final = {
    "ar": ("Arabic", "árabe"),
    "ca": ("Catalan", "catalão"),
    "de": ("German", "alemão"),
    "en": ("English", "inglês"),
    "es": ("Spanish", "espanhol"),
    "fr": ("French", "francês"),
    "gl": ("Galician", "galego"),
    "hi": ("Hindi", "hindi"),
    "it": ("Italian", "italiano"),
    "ja": ("Japanese", "japonês"),
    "ko": ("Korean", "coreano"),
    "nl": ("Dutch", "holandês"),
    "pl": ("Polish", "polonês"),
    "pt": ("Portuguese", "português"),
    "ru": ("Russian", "russo"),
    "tr": ("Turkish", "turco"),
    "uk": ("Ukrainian", "ucraniano"),
    "zh": ("Chinese", "chinês"),
}


def language_name(code: str, language: str) -> str:
    """Return the name of a language (BCP 47), with its region where there is one; the
    code of one that is not known.
    """
    primary, _, region = code.partition("-")
    if primary not in _LANGUAGE_NAMES:
        return code
    english, portuguese_name = _LANGUAGE_NAMES[primary]
    name = portuguese_name if language == "pt" else english
    return f"{name} ({region})" if region else name


@cache
def _made_texts() -> dict[str, str]:
    texts: dict[str, str] = yaml.safe_load(_MADE_FILE.read_text(encoding="utf-8"))
    return texts


@cache
def _made_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return the texts with values in braces as patterns, the most exact first."""
    found = []
    for text, translated in _made_texts().items():
        literal = re.sub(r"{\w+}", "", text)
        if literal != text:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(text))
            found.append((len(literal), re.compile(pattern), translated))
    found.sort(key=lambda one: -one[0])
    return [(pattern, translated) for _, pattern, translated in found]


def made_text(text: str | None, language: str) -> str:
    """Return a text that the program made and stored, such as a reason or the name of a
    stage, in a language. What has no translation stays as it is.
    """
    if not text or language != "pt":
        return text or ""
    if text in _made_texts():
        return _made_texts()[text]
    for pattern, translated in _made_patterns():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            made = {name: made_text(value, language) for name, value in values.items()}
            return translated.format(**made)
    return text


def language_of(request: Request) -> str:
    """Return the language to show: that of `lang`, else the one chosen before (a
    cookie), else of Accept-Language, else English.
    """
    chosen = (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE))
    for language in chosen:
        if language in LANGUAGES:
            return language
    return _accepted_language(request.headers.get("accept-language", ""))


def _accepted_language(accepted: str) -> str:
    """Return the first language of an Accept-Language header that there is."""
    for part in accepted.split(","):
        code = part.partition(";")[0].strip()[:2].lower()
        if code in LANGUAGES:
            return code
    return "en"
