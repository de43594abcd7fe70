"""Words that are one typing mistake away: a letter left out, put in, changed, or two swapped.

A folded word enters; known words one edit away leave. The edits are made up and looked up in the index's vocabulary
(about 500 for a word of nine letters, 1 ms): a table of delete-1 keys would answer the same, and would be eight times
the size of the vocabulary and slow every write.
"""

import json
import sqlite3

MIN_WORD_CHARS = 4  # shorter words have too many neighbours
MAX_WORD_CHARS = 24

_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = (
    (_LATIN, "a", "z"),
    ("αβγδεζηθικλμνξοπρςστυφχψω", "α", "ω"),
    ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "а", "я"),
)


def one_edit_away(word: str) -> set[str]:
    """Return every spelling one edit away from a folded word, in its own alphabet; none for short words."""
    if not MIN_WORD_CHARS <= len(word) <= MAX_WORD_CHARS or not word.isalpha():
        return set()
    letters = next((letters for letters, first, last in _ALPHABETS if first <= word[0] <= last), "")
    parts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    deleted = {left + right[1:] for left, right in parts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in parts if len(right) > 1}
    changed = {left + letter + right[1:] for left, right in parts if right for letter in letters}
    added = {left + letter + right for left, right in parts for letter in letters}
    return (deleted | swapped | changed | added) - {word}


def corrections(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return the index's words one edit away from this one, in alphabetical order."""
    edits = one_edit_away(word)
    if not edits:
        return []
    rows = connection.execute(
        "SELECT word FROM words WHERE word IN (SELECT value FROM json_each(?)) ORDER BY word",
        (json.dumps(list(edits)),),
    )
    return [known for (known,) in rows]
