"""Time to compare one new article with saved queries: `python -m
news_assets_tests.bench.alerts [--queries N]`.

The queries have two or three words of the sample articles' vocabulary, a filter each,
and every tenth a phrase. Prints the median and the slowest time over articles of 700
words that were not seen before; fails if the median is over the goal.
"""

import argparse
import random
import statistics
import sys
import time
from datetime import UTC, datetime

from news_assets.pipeline.alerts.hits import Matchable, Matcher
from news_assets.pipeline.alerts.query_file import SavedQuery
from news_assets.records.articles import RawArticle
from news_assets_tests.store.examples import full

GOAL_MS = 50
NOW = datetime(2026, 11, 20, tzinfo=UTC)
_SYLLABLES = (
    "ca",
    "le",
    "mi",
    "ção",
    "ro",
    "pre",
    "tu",
    "ná",
    "des",
    "vo",
    "ões",
    "qui",
    "par",
    "ben",
)


def vocabulary(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(count)]


def queries(rng: random.Random, words: list[str], count: int) -> list[SavedQuery]:
    made = []
    for number in range(count):
        text = " ".join(rng.sample(words[:2_000], rng.randint(1, 3)))
        quoted = f'"{text}"' if number % 10 == 0 else text
        filters = ({}, {"language": "pt"}, {"agency": "mec"}, {"desk": "govbr"})[
            number % 4
        ]
        made.append(
            SavedQuery(name=f"query {number}", query=quoted, to=("c",), **filters)
        )
    return made


def article(rng: random.Random, words: list[str], number: int) -> RawArticle:
    text = " ".join(
        rng.choices(
            words, weights=[1 / (rank + 10) for rank in range(len(words))], k=700
        )
    )
    return full(
        RawArticle,
        article_id=str(number),
        agency="mec",
        desk="govbr",
        title=text[:60],
        text=text,
        language="pt-BR",
        published_at=NOW,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--articles", type=int, default=50)
    options = parser.parse_args()
    rng = random.Random(7)
    words = vocabulary(rng, 20_000)
    matcher = Matcher(queries(rng, words, options.queries))
    times, hits = [], 0
    for number in range(options.articles):
        made = article(rng, words, number)
        started = time.perf_counter()
        hits += len(list(matcher.matches(Matchable(made, None), NOW)))
        times.append((time.perf_counter() - started) * 1000)
    median = statistics.median(times)
    print(
        f"{options.queries} queries, {options.articles} articles: {median:.1f} ms an article, at most {max(times):.1f} "
        f"(goal {GOAL_MS}); {hits} hits"
    )
    sys.exit(median > GOAL_MS)


if __name__ == "__main__":
    main()
