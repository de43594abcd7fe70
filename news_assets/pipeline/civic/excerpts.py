"""What a document that several items of a meeting have says about one of them; pure.

A long one is part of each item's text by its paragraphs about the item, so that a
language model is paid for about one reading of the document, however many items have
it.
"""

from collections.abc import Sequence
from typing import Final

from news_assets.text.fingerprint import normal_words

MAX_SHARED_CHARS: Final = 6_000  # of a shared document in the text of one item
_BEGIN_CHARS: Final = 500  # says what the document is
_MIN_WORD_CHARS: Final = 4
_OMITTED: Final = "[…]"


def excerpt_about(text: str, title: str, matter_file: str | None) -> str:
    """Return a text, or of a long one its begin and the paragraphs with most words of a
    title or a file number.
    """
    if len(text) <= MAX_SHARED_CHARS:
        return text
    paragraphs = [
        part.strip() for part in text.replace("\r", "").split("\n\n") if part.strip()
    ]
    wanted = {
        word
        for word in normal_words(f"{title} {matter_file or ''}")
        if len(word) >= _MIN_WORD_CHARS
    }
    kept = _best(paragraphs, wanted)
    parts: list[str] = []
    for number, paragraph in enumerate(paragraphs):
        if number in kept:
            parts.append(paragraph[:MAX_SHARED_CHARS])
        elif parts and parts[-1] != _OMITTED:
            parts.append(_OMITTED)
    return "\n\n".join(parts)[:MAX_SHARED_CHARS]


def _best(paragraphs: Sequence[str], wanted: set[str]) -> set[int]:
    """Return the numbers of the paragraphs of the begin, and of those with most of
    these words, that have room.
    """
    words = [len(wanted & set(normal_words(paragraph))) for paragraph in paragraphs]
    kept, room = set[int](), MAX_SHARED_CHARS
    for number, paragraph in enumerate(paragraphs):
        if MAX_SHARED_CHARS - room >= _BEGIN_CHARS:
            break
        kept.add(number)
        room -= len(paragraph)
    for number in sorted(range(len(paragraphs)), key=lambda number: -words[number]):
        if words[number] and number not in kept and len(paragraphs[number]) <= room:
            kept.add(number)
            room -= len(paragraphs[number])
    return kept
