"""Stories of labelled sets: articles one at a time, as they would be first seen, beside
TF-IDF with average linkage over all of them at once.

    python -m news_assets_tests.quality.stories

BCubed F1 and precision, as the mean over orders. "left out" is the score with the
thresholds that are best on the other sets. Exits 1 below a floor; floors are raised and
never lowered. Vectors take ten minutes on two cores; they are kept below
`.news/quality`.
"""

import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.feature_extraction.text import TfidfVectorizer

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL
from news_assets.pipeline.embed import embedding_text
from news_assets.pipeline.stories.assign import THRESHOLDS, Stories, Thresholds
from news_assets.pipeline.stories.features import features_of
from news_assets.pipeline.stories.packing import Article
from news_assets.pipeline.stories.window import Window
from news_assets.text.words import stem, words

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
KEPT = Path(".news/quality")
FLOORS = {
    "cstnews F1": 0.94,
    "ecbplus F1": 0.88,
    "ecbplus precision": 0.93,
    "pairs related": 0.9,
    "languages joined": 0.85,
}
CEILINGS = {"languages wrong": 0.02, "pairs unrelated": 0.04}
ORDERS = (0, 1)
# SIB-200 numbers the sentences of a text one after the other
OF_ONE_TEXT = 5
JOINS = (0.2, 0.3, 0.4)
_DAY = date(2026, 1, 1)
_LANGUAGES = {"por": "pt", "rus": "ru", "eng": "en"}


@dataclass(frozen=True)
class Text:
    """A text of a set, and the event that it is about."""

    key: str
    title: str
    text: str
    language: str
    event: str


def lines(path: str) -> list[dict[str, Any]]:
    """Return the rows of a file of the corpus."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(CORPUS / path, "rt") as file:
        return [json.loads(line) for line in file]


def events(name: str, language: str) -> list[Text]:
    """Return the texts of a set of events."""
    return [
        Text(row["id"], row["title"], row["text"], language, row["story"])
        for row in lines(f"{name}/dev/articles.jsonl.gz")
    ]


def others() -> list[Text]:
    """Return Portuguese texts of other years, each its own event."""
    rows = lines("themes_ptnews_sections/dev/data.jsonl")
    return [_untitled(row, "pt") for row in rows]


def _untitled(row: dict[str, Any], language: str) -> Text:
    title, _, text = row["text"].partition(". ")
    if not text or len(title) > 200:
        title, text = "", row["text"]
    return Text(row["id"], title, text, language, row["id"])


def sentences() -> list[Text]:
    """Return the sentences in three languages, as headlines."""
    return [
        Text(
            row["id"],
            row["text"],
            row["text"],
            _LANGUAGES[row["lang"][:3]],
            row["index_id"],
        )
        for row in lines("themes_sib200/dev/data.jsonl")
    ]


def articles_of(texts: Sequence[Text]) -> list[Article]:
    """Return the texts with vectors and features."""
    return [
        Article(one.key, _DAY, vector, features_of(one.title, one.text, one.language))
        for one, vector in zip(texts, vectors_of(texts), strict=True)
    ]


def vectors_of(texts: Sequence[Text]) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """Return the vectors by the built-in model, which are kept in a file."""
    embedded = [embedding_text(one.title or None, one.text, None) for one in texts]
    digest = hashlib.sha256("\0".join(embedded).encode()).hexdigest()[:16]
    path = KEPT / f"{digest}.npy"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        model = OnnxEmbedder.open(BUILT_IN_MODEL, KEPT, 2)
        rows = [one.vector for one in model.embed(embedded)]
        np.save(path, np.array(rows, np.float32))
    return np.load(path)  # type: ignore[no-any-return]


def placed(
    articles: Sequence[Article], thresholds: Thresholds = THRESHOLDS
) -> list[str]:
    """Return the story of each article, placed in this order."""
    dim = len(articles[0].vector)
    stories = Stories(Window(BUILT_IN_MODEL, dim), thresholds)
    for article in articles:
        stories.place(article, article.article_id)
    return [stories.story_of[n] for n in range(len(articles))]


def bcubed(
    found: Sequence[str], truth: Sequence[str], scored: int
) -> tuple[float, float]:
    """Return BCubed F1 and precision over the first `scored` texts."""
    of_story, of_event = Counter(found), Counter(truth)
    shared = Counter(zip(found, truth, strict=True))
    pairs = list(zip(found, truth, strict=True))[:scored]
    precision = mean(shared[pair] / of_story[pair[0]] for pair in pairs)
    recall = mean(shared[pair] / of_event[pair[1]] for pair in pairs)
    return 2 * precision * recall / (precision + recall), precision


@dataclass
class EventSet:
    """A set of events, possibly among other texts, which are not scored themselves."""

    name: str
    texts: list[Text]
    among: list[Text]

    def __post_init__(self) -> None:
        self.all = [*self.texts, *self.among]
        self._articles = articles_of(self.texts)
        if self.among:
            self._articles += articles_of(self.among)
        self._known: dict[Thresholds, tuple[float, float]] = {}

    def score(self, thresholds: Thresholds) -> tuple[float, float]:
        """Return BCubed F1 and precision, as the mean over orders."""
        if thresholds not in self._known:
            scores = [self._score(thresholds, order) for order in ORDERS]
            f1, precision = (mean(values) for values in zip(*scores, strict=True))
            self._known[thresholds] = f1, precision
        return self._known[thresholds]

    def _score(self, thresholds: Thresholds, order: int) -> tuple[float, float]:
        positions = list(range(len(self.all)))
        random.Random(order).shuffle(positions)
        found = placed([self._articles[n] for n in positions], thresholds)
        by_position = dict(zip(positions, found, strict=True))
        stories = [by_position[n] for n in range(len(positions))]
        return bcubed(stories, [one.event for one in self.all], len(self.texts))

    def reference(self) -> float:
        """Return the F1 of TF-IDF over stems with average linkage, at its best cut."""
        stems = [
            " ".join(
                stem(word, one.language) for word in words(f"{one.title}\n{one.text}")
            )
            for one in self.all
        ]
        matrix = (
            TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(stems).toarray()
        )
        tree = linkage(pdist(matrix, "cosine"), "average")
        truth = [one.event for one in self.all]
        cuts = np.linspace(0.3, 0.98, 35)
        found = [[str(n) for n in fcluster(tree, cut, "distance")] for cut in cuts]
        return max(bcubed(one, truth, len(self.texts))[0] for one in found)


def score_events() -> dict[str, float]:
    """Score the sets of events; print each with the thresholds of the other one."""
    sets = [
        EventSet("cstnews", events("stories_cstnews", "pt"), others()),
        EventSet("ecbplus", events("stories_ecbplus", "en"), []),
    ]
    result: dict[str, float] = {}
    for left in sets:
        rest = [one for one in sets if one is not left]
        choices = [Thresholds(join, join) for join in JOINS]
        best = max(choices, key=lambda one: mean(other.score(one)[0] for other in rest))
        f1, precision = left.score(THRESHOLDS)
        out, out_precision = left.score(best)
        print(
            f"{left.name:9} F1 {f1:.3f} precision {precision:.3f}   left out {out:.3f}"
            f" {out_precision:.3f}   TF-IDF {left.reference():.3f}",
            flush=True,
        )
        result |= {f"{left.name} F1": f1, f"{left.name} precision": precision}
    return result


def score_pairs() -> dict[str, float]:
    """Score labelled pairs, all texts in one stream."""
    documents = lines("dedupe_real/dev/docs.jsonl")
    texts = [_untitled(row, row["lang"][:2]) for row in documents]
    found = dict(
        zip((one.key for one in texts), placed(articles_of(texts)), strict=True)
    )
    result: dict[str, float] = {}
    pairs = lines("dedupe_real/dev/pairs.jsonl")
    for label in sorted({pair["label"] for pair in pairs}):
        same = [found[p["a"]] == found[p["b"]] for p in pairs if p["label"] == label]
        print(f"pairs     {label:28} in one story {mean(same):.3f} of {len(same)}")
        result[f"pairs {label.partition('_')[0]}"] = mean(same)
    return result


def score_languages() -> dict[str, float]:
    """Score translated sentences: with a translation in their story, or another one."""
    texts = sentences()
    order = list(zip(texts, articles_of(texts), strict=True))
    random.Random(0).shuffle(order)
    found = placed([article for _, article in order])
    of_story: dict[str, list[str]] = {}
    for story, (text, _) in zip(found, order, strict=True):
        of_story.setdefault(story, []).append(text.event)
    joined: list[bool] = []
    wrong: list[bool] = []
    apart: list[bool] = []
    translated = Counter(text.event for text in texts)
    for story, (text, _) in zip(found, order, strict=True):
        inside = of_story[story]
        distances = [abs(int(event) - int(text.event)) for event in inside]
        wrong.append(max(distances) > 0)
        apart.append(max(distances) > OF_ONE_TEXT)
        if translated[text.event] > 1:
            joined.append(inside.count(text.event) > 1)
    print(
        f"languages joined {mean(joined):.3f} of {len(joined)}, wrong {mean(wrong):.3f},"
        f" with a sentence of another text {mean(apart):.3f}"
    )
    return {"languages joined": mean(joined), "languages wrong": mean(apart)}


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    results = score_languages() | score_pairs() | score_events()
    low = [name for name, floor in FLOORS.items() if results[name] < floor]
    low += [name for name, ceiling in CEILINGS.items() if results[name] > ceiling]
    for name in low:
        print(f"BEYOND ITS LIMIT: {name} {results[name]:.4f}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
