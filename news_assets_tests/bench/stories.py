"""Stories of a large archive: `python -m news_assets_tests.bench.stories [--days 7]
[--articles 5000]`.

Fills a lake with articles of made-up events, places those of the days before, and
prints: the CPU time and memory to load the window, the CPU time to place one more
article, and that of three runs: the first one of a process for one new article, the
next one, which has the window, and a rebuilt day. Fails above a goal.
"""

import argparse
import resource
import statistics
import sys
import tempfile
import time
from datetime import UTC, date, datetime, timedelta

import numpy as np

from news_assets.pipeline.stories.features import features_of
from news_assets.pipeline.stories.loaded import StoriesOfLake
from news_assets.pipeline.stories.packing import Article, pack_features, pack_vector
from news_assets.pipeline.stories.update import Kept, update_stories
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, StoryMember
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.inline_sandbox import InlineSandbox

GOALS = {"place one ms": 15, "rebuild a day s": 60, "memory MB": 150}
LAST = date(2026, 11, 20)
MODEL, DIM = "multilingual-e5-small-q4", 384
PER_EVENT = 3
_STORED_TOGETHER = 2000
_VOCABULARY = 30_000


class Made:
    """Articles of made-up events: each event has its own words, names and direction."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)
        self._mean = self._random.normal(size=DIM)

    def event(self) -> tuple["np.ndarray", list[str]]:  # type: ignore[type-arg]
        direction = self._random.normal(size=DIM)
        ranks = self._random.zipf(1.15, 150) % _VOCABULARY
        return direction, [f"word{rank}" for rank in ranks]

    def article(
        self, key: str, day: date, event: tuple["np.ndarray", list[str]]
    ) -> Article:  # type: ignore[type-arg]
        direction, words = event
        noise = self._random.normal(size=DIM)
        vector = 1.8 * self._mean + direction + 0.3 * noise
        chosen = self._random.choice(words, 120)
        names = [word.title() for word in words[:12]]
        text = f"Then {' '.join(names)} {' '.join(chosen)} {self._random.integers(999)}"
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        return Article(key, day, unit, features_of(None, text, "en"))

    def moved(self, article: Article, day: date) -> Article:
        """Return an article of another day and direction with the same words."""
        vector = 1.8 * self._mean + self._random.normal(size=DIM)
        unit = (vector / np.linalg.norm(vector)).astype(np.float32)
        return Article(f"{day}-{article.article_id}", day, unit, article.features)


def member(article: Article, story_id: str) -> StoryMember:
    """Return the row of an article in its story."""
    return full(
        StoryMember,
        article_id=article.article_id,
        desk="d",
        agency="a",
        day=article.day,
        story_id=story_id,
        content_hash="1",
        model=MODEL,
        language="en",
        is_copy=False,
        first_seen_at=datetime.combine(article.day, datetime.min.time(), UTC),
        vector=pack_vector(article.vector),
        features=pack_features(article.features),
        outcome="ok",
    )


def fill(lake: Lake, made: Made, days: int, per_day: int) -> None:
    """Store the members of the days up to LAST, and the articles of LAST with their
    vectors. The words of a day are those of the others.
    """
    articles: list[Article] = []
    for number in range(per_day):
        if number % PER_EVENT == 0:
            event = made.event()
        articles.append(made.article(f"{LAST}-{number}", LAST, event))
    for distance in range(days):
        day = LAST - timedelta(days=distance)
        moved = [made.moved(one, day) for one in articles] if distance else articles
        stories = [f"{day}-{number // PER_EVENT}" for number in range(per_day)]
        for start in range(0, per_day, _STORED_TOGETHER):
            some = slice(start, start + _STORED_TOGETHER)
            upsert(lake, list(map(member, moved[some], stories[some])))
    for start in range(0, per_day, _STORED_TOGETHER):
        store_articles(lake, articles[start : start + _STORED_TOGETHER])


def store_articles(lake: Lake, articles: list[Article]) -> None:
    """Store the articles and their vectors."""
    rows: list[RawArticle] = []
    embedded: list[ArticleEmbedding] = []
    for one in articles:
        mine = {
            "article_id": one.article_id,
            "desk": "d",
            "agency": "a",
            "day": one.day,
            "content_hash": "1",
            "outcome": "ok",
        }
        rows.append(
            full(
                RawArticle,
                **mine,
                text="A text. " * 300,
                language="en",
                duplicate_of=None,
            )
        )
        vector = tuple(one.vector.tolist())
        embedded.append(
            full(ArticleEmbedding, **mine, model=MODEL, dim=DIM, vector=vector)
        )
    upsert(lake, rows)
    upsert(lake, embedded)


def peak_mb() -> float:
    """Return the most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(lake: Lake, made: Made) -> dict[str, float]:
    """Return the numbers of GOALS and others."""
    now = datetime.combine(LAST, datetime.max.time(), UTC)
    lake.frame(StoryMember, None, ("article_id",), day=[date.min])  # loads libraries
    before = peak_mb()
    started = time.process_time()
    loaded = StoriesOfLake(MODEL, DIM)
    with lake.latest() as reader:
        loaded.load(reader, LAST, ())
    result = {"load s": time.process_time() - started}
    took_ms: list[float] = []
    for number in range(300):
        article = made.article(f"new-{number}", LAST, made.event())
        started = time.process_time()
        loaded.stories.place(article, article.article_id)
        took_ms.append(1000 * (time.process_time() - started))
    result["place one ms"] = statistics.median(took_ms)
    result["slowest ms"] = max(took_ms)
    result["memory MB"] = peak_mb() - before
    del loaded
    kept: Kept = {}

    def update(*, rebuild: bool = False) -> float:
        """Return the CPU time of a run over LAST."""
        started = time.process_time()
        update_stories(
            lake, [LAST], lambda: now, InlineSandbox(), rebuild=rebuild, kept=kept
        )
        return time.process_time() - started

    store_articles(lake, [made.article("the-first", LAST, made.event())])
    result["first run s"] = update()
    store_articles(lake, [made.article("the-next", LAST, made.event())])
    result["next run s"] = update()
    result["rebuild a day s"] = update(rebuild=True)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--articles", type=int, default=5000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Lake.open(f"{folder}/catalog.sqlite", f"{folder}/data") as lake,
    ):
        made = Made()
        fill(lake, made, given.days, given.articles)
        result = measure(lake, made)
    for name, value in result.items():
        goal = f"   goal {GOALS[name]}" if name in GOALS else ""
        print(f"{name:18} {value:8.2f}{goal}")
    return int(any(result[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    sys.exit(main())
