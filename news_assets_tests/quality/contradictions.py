"""Sentences that contradict the passage that they quote, and true ones: which of them
the checks refuse.

    python -m news_assets_tests.quality.contradictions

True sentences are sentences of news with themselves and the next one as passage, and
the hypotheses of ASSIN that their premise entails: rephrased, in articles of others.
Altered ones have their verb negated, their numbers times ten, a name of another
sentence or the next month. Exits 1 if fewer than 90 % of the altered are refused, or
more than 3 % of the true ones, 6 % of the rephrased: some of these do state other
figures than their premise.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

from news_assets.pipeline.enrich.model.contradictions import compared
from news_assets_tests.conftest import SHARED

FILE: Final = SHARED / "corpus/sts_assin_ptbr/dev/data.jsonl"
MIN_ALTERED, MAX_TRUE, MAX_REPHRASED = 0.9, 0.03, 0.06

_VERB = re.compile(
    r"\b(foi|foram|será|serão|é|são|está|estão|tem|têm|vai|vão|deve|devem|pode|podem|disse|afirmou|anunciou|ficou"
    r"|teve|fez|era|eram|havia)\b"
)
_NEGATED = re.compile(r"\b(?:não|nunca|nem|sem|nenhum|nenhuma|jamais)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d+(?:[.,]\d+)*\b")


def negated(sentence: str) -> str | None:
    """Return the sentence with its first known verb negated; None without one, or with
    a negation.
    """
    if _NEGATED.search(sentence) or not _VERB.search(sentence):
        return None
    return _VERB.sub(r"não \1", sentence, count=1)


def times_ten(sentence: str) -> str | None:
    """Return the sentence with its numbers times ten; None without any."""
    if not _NUMBER.search(sentence):
        return None
    return _NUMBER.sub(
        lambda found: (
            f"{found[0]}0" if re.fullmatch(r"\d+", found[0]) else f"1{found[0]}"
        ),
        sentence,
    )


_NAME = re.compile(
    r"(?<=[a-zà-ú,] )[A-ZÁÉÍÓÚÂÊÔÃÕÇ][a-zà-ú]{3,}(?: [A-ZÁÉÍÓÚÂÊÔÃÕÇ][a-zà-ú]{3,})*"
)
_MONTHS: Final = (
    *("janeiro", "fevereiro", "março", "abril", "maio", "junho"),
    *("julho", "agosto", "setembro", "outubro", "novembro", "dezembro"),
)
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b")


def with_name(name: str) -> Callable[[str], str | None]:
    """Return the change that puts a name in the place of the first one of a sentence."""

    def change(sentence: str) -> str | None:
        found = _NAME.search(sentence)
        return (
            sentence.replace(found[0], name) if found and name not in sentence else None
        )

    return change


def month_later(sentence: str) -> str | None:
    """Return the sentence with each month the next one; None without any."""
    if not _MONTH.search(sentence):
        return None
    return _MONTH.sub(
        lambda found: _MONTHS[(_MONTHS.index(found[0]) + 1) % 12], sentence
    )


def altered(
    pairs: list[dict[str, Any]], change: Callable[[str], str | None]
) -> Iterator[tuple[str, str]]:
    """Yield changed sentences with their true passage."""
    for pair in pairs:
        if found := change(pair["a"]):
            yield found, pair["a"]


def refused(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs of sentence and passage that are refused."""
    return [
        (said, passage)
        for said, passage in pairs
        if compared(said, passage, passage).contradiction
    ]


def main() -> int:
    """Print the shares and return the exit code."""
    if not FILE.exists():
        sys.stdout.write("skipped: the set is not beside the repository\n")
        return 0
    pairs = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    entailed = [
        (pair["b"], pair["a"]) for pair in pairs if pair["entailment"] == "Entailment"
    ]
    sets = {
        "true: the same": [
            (pair["a"], f"{pair['a']} {after['a']}") for pair, after in pairwise(pairs)
        ],
        "rephrased: entailed": entailed,
        "altered: negated": list(altered(pairs, negated)),
        "altered: numbers times ten": list(altered(pairs, times_ten)),
        "altered: another name": list(altered(pairs, with_name("Guilherme Wanderley"))),
        "altered: the next month": list(altered(pairs, month_later)),
    }
    is_failed = False
    for name, made in sets.items():
        found = refused(made)
        share = len(found) / max(1, len(made))
        is_failed |= name.startswith("altered") and share < MIN_ALTERED
        is_failed |= name.startswith("true") and share > MAX_TRUE
        is_failed |= name.startswith("rephrased") and share > MAX_REPHRASED
        unsure = sum(
            bool(compared(said, passage, passage).doubt) for said, passage in made
        ) / max(1, len(made))
        sys.stdout.write(
            f"{name:28} {len(made):6} pairs, {share:.3f} refused, {unsure:.3f} unsure\n"
        )
        if "--show" in sys.argv:
            shown = (
                [one for one in made if one not in found]
                if name.startswith("altered")
                else found
            )
            for said, passage in shown[:25]:
                sys.stdout.write(
                    f"    {compared(said, passage, passage)}\n      {said}\n      {passage}\n"
                )
    return int(is_failed)


if __name__ == "__main__":
    sys.exit(main())
