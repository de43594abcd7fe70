"""Prompts: versioned Markdown files with a front matter.

    ---
    kind: enrich                    # or entities, theme
    version: "1"
    answers: [theme, summary]       # the fields of the answer (`answer_schema.py` has all)
    sentences: 2                    # most sentences of the summary; optional
    ---
    Instructions. `{themes}` stands for the list of themes to choose from.

The version that results are stored with also has a hash of the file: a changed prompt
has other results.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import yaml

from news_assets.errors import SettingsError
from news_assets.pipeline.enrich.model.answer_schema import FIELDS, REQUIRED
from news_assets.records.model_calls import Kind

_BUILT_IN = Path(__file__).with_name("prompts")
_FILE = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS = {"theme": {"themes"}, "enrich": {"themes"}, "entities": set[str]()}
_KEYS = {"kind", "version", "answers"}
_SENTENCES, _MOST_SENTENCES = 2, 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions of one kind of call, and the fields of its answer.

    `version` is part of the cache key.
    """

    kind: Kind
    version: str
    answers: tuple[str, ...]
    body: str
    sentences: int


def load_prompt(kind: Kind, folder: Path | None = None, depth: str = "") -> Prompt:
    """Return the prompt of this kind of a folder, by default the built-in one.

    A prompt of a `depth` (`brief`, `full`) has a file of that name. A folder may lack
    it, and that of kind `theme`: then the built-in one counts.

    Raises:
        SettingsError: The file is missing or wrong; one line that says what and where.
    """
    path = (folder or _BUILT_IN) / f"{depth or kind}.md"
    if (depth or kind == "theme") and not path.exists():
        path = _BUILT_IN / path.name
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path}: cannot be read ({type(error).__name__}); put a prompt there, in UTF-8"
        ) from error
    prompt, mistake = _parsed(text)
    if prompt is None:
        raise SettingsError(f"{path}: {mistake}")
    if prompt.kind != kind:
        raise SettingsError(
            f"{path}: a prompt of kind {prompt.kind}; write `kind: {kind}`"
        )
    return prompt


def _parsed(text: str) -> tuple[Prompt | None, str]:
    match = _FILE.fullmatch(text)
    if match is None:
        return None, "no front matter; begin with `---`, keys, `---`"
    try:
        front = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        return None, f"its front matter is not YAML: {' '.join(str(error).split())}"
    if mistake := _mistake(front, match[2]):
        return None, mistake
    version = f"{front['version']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    sentences = front.get("sentences", _SENTENCES)
    return Prompt(
        front["kind"], version, tuple(front["answers"]), match[2].strip(), sentences
    ), ""


def _mistake(front: object, body: str) -> str:
    if not isinstance(front, dict) or set(front) - {"sentences"} != _KEYS:
        keys = ", ".join(sorted(_KEYS))
        return (
            f"its front matter has the keys {keys}, all of them, and may have sentences"
        )
    kind, answers = front["kind"], front["answers"]
    if kind not in get_args(Kind):
        return f"kind `{kind}` is unknown; there are {', '.join(get_args(Kind))}"
    if not isinstance(front["version"], str) or not re.fullmatch(
        r"[\w.-]{1,20}", front["version"]
    ):
        return "`version` takes a short text in quotes"
    if not isinstance(answers, list) or not all(
        isinstance(name, str) for name in answers
    ):
        return "`answers` takes a list of fields"
    if front.get("sentences", 1) not in range(1, _MOST_SENTENCES + 1):
        return f"`sentences` takes a number from 1 to {_MOST_SENTENCES}"
    return _mistake_of_fields(kind, answers, body)


def _mistake_of_fields(kind: Kind, answers: Sequence[str], body: str) -> str:
    if unknown := [name for name in answers if name not in FIELDS[kind]]:
        known = ", ".join(FIELDS[kind])
        return (
            f"asks for the field `{unknown[0]}`, which no answer has; there are {known}"
        )
    if missing := [name for name in REQUIRED[kind] if name not in answers]:
        return f"does not ask for the field `{missing[0]}`, which every answer needs"
    if wrong := [
        name for name in _PLACEHOLDER.findall(body) if name not in _PLACEHOLDERS[kind]
    ]:
        known = (
            ", ".join(f"{{{name}}}" for name in sorted(_PLACEHOLDERS[kind]))
            or "no placeholder"
        )
        return (
            f"has the placeholder `{{{wrong[0]}}}`, for which there is no value; "
            f"it takes {known}"
        )
    if absent := [name for name in _PLACEHOLDERS[kind] if f"{{{name}}}" not in body]:
        return f"lacks the placeholder `{{{absent[0]}}}`"
    return ""
