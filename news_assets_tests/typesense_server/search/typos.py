"""Words of an index that match a query's token: exactly, by prefix, or with typos."""

from bisect import bisect_left

from news_assets_tests.typesense_server.collections.indexes import TextIndex

TYPO_COST, PREFIX_COST = 2, 1  # a typo costs twice as much as a prefix
MAX_TYPOS = 2


def candidates(
    index: TextIndex, token: str, typos: int, is_prefix: bool
) -> dict[str, int]:
    """Return the words with exactly this number of typos, and their costs."""
    if typos == 0:
        words = (
            {word: PREFIX_COST for word in index.starting_with(token)}
            if is_prefix
            else {}
        )
        return words | ({token: 0} if token in index.postings else {})
    if (token, is_prefix) not in index.near:
        index.near[token, is_prefix] = _near(index.words(), token, is_prefix)
    found = index.near[token, is_prefix]
    return {word: cost for word, cost in found.items() if cost // TYPO_COST == typos}


def _near(words: list[str], token: str, is_prefix: bool) -> dict[str, int]:
    """Return all words with up to two typos and their costs, in alphabetical order.

    A typo is a letter left out, changed or added, or two neighbours swapped. Words
    share the work of their common start, and those that start too far away are passed
    over.
    """
    rows, previous, position, found = [list(range(len(token) + 1))], "", 0, {}
    while position < len(words):
        word = words[position]
        del rows[_shared(word, previous, len(rows) - 1) + 1 :]
        previous = word
        while len(rows) <= len(word) and not _is_hopeless(rows):
            rows.append(_next_row(rows, word, token))
        position += 1
        if len(rows) > len(word) or is_prefix:
            cost = _cost(rows, word, token, is_prefix)
            if cost is not None:
                found[word] = cost
                continue
        if len(rows) <= len(word):
            position = bisect_left(
                words, word[: len(rows) - 1] + "\U0010ffff", position
            )
    return found


def _shared(word: str, other: str, most: int) -> int:
    for at in range(min(len(word), len(other), most)):
        if word[at] != other[at]:
            return at
    return min(len(word), len(other), most)


def _is_hopeless(rows: list[list[int]]) -> bool:
    before = min(rows[-2]) + 1 if len(rows) > 1 else 0
    return min(min(rows[-1]), before) > MAX_TYPOS


def _next_row(rows: list[list[int]], word: str, token: str) -> list[int]:
    """Return the next row of edit distances, for one more letter of the word."""
    depth, above = len(rows), rows[-1]
    row = [depth]
    for at, letter in enumerate(token, 1):
        cost = min(
            above[at] + 1, row[at - 1] + 1, above[at - 1] + (letter != word[depth - 1])
        )
        if (
            depth > 1
            and at > 1
            and letter == word[depth - 2]
            and token[at - 2] == word[depth - 1]
        ):
            cost = min(cost, rows[-2][at - 2] + 1)
        row.append(cost)
    return row


def _cost(rows: list[list[int]], word: str, token: str, is_prefix: bool) -> int | None:
    whole = [(rows[len(word)][-1], 0)] if len(rows) > len(word) else []
    starts = range(len(token), min(len(rows), len(word))) if is_prefix else range(0)
    typos, longer = min(
        whole + [(rows[depth][-1], PREFIX_COST) for depth in starts],
        default=(MAX_TYPOS + 1, 0),
    )
    return typos * TYPO_COST + longer if 0 < typos <= MAX_TYPOS else None
