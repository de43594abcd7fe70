"""CPU time the Typesense client spends per document on stems, vectors and JSON, without
sending.

`python -m news_assets_tests.bench.typesense_lines [documents]`
"""

import sys
import time
from collections.abc import Callable
from datetime import date

import numpy as np

from news_assets.clients.search.typesense.documents import (
    sent_vectors,
    stems_of_texts,
    stored_forms,
    whole_lines,
)
from news_assets.clients.search.typesense.server import LINES_PER_IMPORT
from news_assets.ports.search_index import SearchDocument

LANGUAGES = ("pt", "en")
WORDS, TEXT_WORDS, DIM = 30_000, 330, 384  # a text of 2 kB


def build_documents(count: int) -> list[SearchDocument]:
    rng = np.random.default_rng(1)
    letters = list("abcdefghijlmnopqrstuvzãçéí")
    vocabulary = [
        "".join(rng.choice(letters, rng.integers(2, 11))) for _ in range(WORDS)
    ]
    shares = 1 / np.arange(1, WORDS + 1)
    shares /= shares.sum()
    return [
        SearchDocument(
            article_id=f"mec-2026-{number}",
            desk="govbr",
            agency="mec",
            agency_name="MEC",
            day=date(2026, 1, number % 28 + 1),
            url=f"https://example.org/{number}",
            title=" ".join(rng.choice(vocabulary, 9, p=shares)),
            text=" ".join(rng.choice(vocabulary, TEXT_WORDS, p=shares)),
            language="pt-BR",
            published_ts=number,
            document_hash=str(number),
            vector=tuple(rng.standard_normal(DIM).astype(np.float32).tolist()),
        )
        for number in range(count)
    ]


def main() -> None:
    documents = build_documents(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
    parts: dict[str, Callable[[list[SearchDocument]], object]] = {
        "unit vectors": lambda some: sent_vectors([one.vector for one in some]),
        "stems of the texts": lambda some: stems_of_texts(
            [one.text for one in some], LANGUAGES
        ),
        "whole lines": lambda some: whole_lines(
            stored_forms(some, LANGUAGES), sent_vectors([one.vector for one in some])
        ),
    }
    print(f"{'CPU of the client':<20}{'s per 10,000':>14}")
    for name, work in parts.items():
        started = time.process_time()
        for start in range(0, len(documents), LINES_PER_IMPORT):
            work(documents[start : start + LINES_PER_IMPORT])
        print(
            f"{name:<20}{(time.process_time() - started) * 10_000 / len(documents):>14.2f}"
        )


if __name__ == "__main__":
    main()
