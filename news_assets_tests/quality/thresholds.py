"""Extraction of each set with thresholds set on the other sets, beside its F1 with the
thresholds in use.

    python -m news_assets_tests.quality.thresholds

Every page is read once in each of trafilatura's modes and kept in memory, so that a
choice of thresholds is scored in seconds. For each set left out, the thresholds of GRID
are found by the mean F1 of the other sets. Values that are good for one set only show
as a difference of the two columns. Exits 1 if a set is below its floor or not ahead of
trafilatura; floors are raised and never lowered.
"""

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from statistics import mean
from typing import Any

from news_assets.pipeline.page.body_text import (
    THRESHOLDS,
    TRIMS,
    Mode,
    Thresholds,
    best_reading,
    join_containers,
    long_texts,
    trimmed,
)
from news_assets.pipeline.page.extract import page_tree, read_blocks
from news_assets.pipeline.page.markdown import Block, markdown_of
from news_assets.pipeline.page.page_metadata import PageMetadata, read_metadata
from news_assets_tests.quality import extraction
from news_assets_tests.support.tuning import tuned

GRID: dict[str, tuple[float, ...]] = {
    "gap": (0.25, 0.1, 0.05, 0.4),
    "agreed": (0.75, 0.6, 0.9),
    "same_title": (0.75, 0.6, 0.9),
    "byline_chars": (250, 150, 400),
}
FLOORS = {
    "article_wcxb": 0.944,
    "article_aeb": 0.968,
    "article_fundus": 0.975,
    "article_naeb": 0.948,
    "article_trafilatura": 0.950,
    "article_pt": 0.990,
    "article_mercury": 0.930,
    "article_readability": 0.936,
}


@dataclass(frozen=True)
class ReadPage:
    """One page with all its readings; `apart` is the default one with the containers of
    the article apart.
    """

    truth: dict[str, Any]
    readings: dict[Mode, list[Block]]
    apart: list[Block]
    long: list[str]
    metadata: PageMetadata

    def text(self, thresholds: Thresholds, trims: Collection[str] = TRIMS) -> str:
        """Return the text of the chosen reading that these thresholds and trims give."""
        return self.trimmed(
            best_reading(self.readings.__getitem__, self.long, thresholds),
            thresholds,
            trims,
        )

    def trimmed(
        self,
        blocks: list[Block],
        thresholds: Thresholds = THRESHOLDS,
        trims: Collection[str] = TRIMS,
    ) -> str:
        """Return the text of one reading."""
        return markdown_of(
            trimmed(
                blocks,
                self.metadata.titles,
                self.metadata.stated_body,
                thresholds,
                trims,
            )
        )

    def apart_text(self) -> str:
        """Return the text of the chosen reading, the containers of the article apart."""
        readings: dict[Mode, list[Block]] = {**self.readings, "default": self.apart}
        return self.trimmed(best_reading(readings.__getitem__, self.long))


@dataclass(frozen=True)
class ReadSet:
    """The pages of one set, and its F1 by thresholds."""

    name: str
    known: dict[Thresholds, float] = field(default_factory=dict)

    @cached_property
    def pages(self) -> list[ReadPage]:
        """The pages, read once."""
        return list(
            filter(None, (_read(*case) for case in extraction.articles(self.name)))
        )

    @cached_property
    def reference(self) -> float:
        """The F1 of trafilatura itself."""
        cases = extraction.articles(self.name)
        texts = [
            (truth, extraction.reference_text(truth, body)) for truth, body in cases
        ]
        return extraction.scored(self.name, texts)[0]

    def f1(self, thresholds: Thresholds) -> float:
        """Return the F1 with these thresholds."""
        if thresholds not in self.known:
            texts = [(page.truth, page.text(thresholds)) for page in self.pages]
            self.known[thresholds] = extraction.scored(self.name, texts)[0]
        return self.known[thresholds]


def _read(truth: dict[str, Any], body: bytes) -> ReadPage | None:
    page = extraction.page(truth, body)
    tree = page_tree(page)
    if tree is None:
        return None
    metadata = read_metadata(tree, page.final_url, "UTC", page.fetched_at)
    long = long_texts(tree)
    apart = read_blocks(tree, page.final_url, "default")
    is_joined = join_containers(tree)
    readings: dict[Mode, list[Block]] = {
        "default": read_blocks(tree, page.final_url, "default") if is_joined else apart,
        "recall": read_blocks(tree, page.final_url, "recall"),
    }
    return ReadPage(truth, readings, apart, long, metadata)


def best(sets: list[ReadSet]) -> Thresholds:
    """Return the thresholds with the highest mean F1 over these sets."""
    return tuned(
        THRESHOLDS, GRID, lambda thresholds: mean(one.f1(thresholds) for one in sets)
    )


def low_scores(sets: list[ReadSet]) -> Iterator[str]:
    """Print the line of each set; yield one for each below its floor or trafilatura."""
    for left in sets:
        thresholds = best([one for one in sets if one is not left])
        f1 = left.f1(thresholds)
        print(
            f"{left.name:20} {len(left.pages):4}  left out {f1:.4f}   in use {left.f1(THRESHOLDS):.4f}"
            f"   trafilatura {left.reference:.4f}   {' '.join(map(str, thresholds))}",
            flush=True,
        )
        if f1 < FLOORS[left.name] or f1 <= left.reference:
            yield f"{left.name} {f1:.4f}, floor {FLOORS[left.name]}, trafilatura {left.reference:.4f}"


def main() -> int:
    if not extraction.CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    low = list(low_scores([ReadSet(name) for name in FLOORS]))
    for line in low:
        print(f"BELOW FLOOR: {line}")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
