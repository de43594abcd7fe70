"""Search quality on known items, questions and judged queries, by words, by meaning and
both; exits 1 below the floors.

The reference is plain BM25 (k1 1.2, b .75, accents folded, stop words removed), as
stated in the sets' manifests. Two sets are made of others: the headlines of BBC
articles ask for their texts, and Portuguese sentences of SIB-200 for the English ones.
Vectors are made by the model of NEWS_EMBEDDING_MODEL; the floors are those of the
default. `--typesense 100` runs the first 100 queries of each set on a simulated
Typesense server as well.

On both backends, a hybrid search may be worse than the better of its halves by .005 of
MRR@10. The last table has hybrid searches with the weight of vectors that is best for
the other sets, by their mean MRR@10, and with that in use.
"""

import argparse
import csv
import json
import math
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import numpy as np

from news_assets import search
from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.search.embedded.ranking import VECTOR_SHARE, Scored, fused
from news_assets.ports.search_index import (
    Embedder,
    SearchDocument,
    SearchHit,
    SearchMode,
)
from news_assets.settings import Settings
from news_assets_tests.support.search_backends import configured_backend

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
LEAD_CHARS = 900  # of a BBC article
DEPTH = 100
MODES: tuple[SearchMode, ...] = ("keyword", "vector", "hybrid")
MAX_LOSS = 0.005
VECTOR_SHARES = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)

Relevance = dict[str, dict[str, float]]


@dataclass(frozen=True)
class JudgedSet:
    """Documents, queries by id, and the relevance of documents by query. `reference` is
    BM25's scores, if known.
    """

    documents: list[SearchDocument]
    queries: dict[str, str]
    relevance: Relevance
    reference: dict[str, float] | None = None


@dataclass(frozen=True)
class Floors:
    """nDCG@10 by words and MRR@10 of hybrid search on the embedded index."""

    keyword: float
    hybrid: float


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def document(article_id: str, title: str, text: str, language: str) -> SearchDocument:
    return SearchDocument(
        article_id=article_id,
        desk="quality",
        agency="quality",
        agency_name="Quality",
        day=date(2026, 1, 1),
        url="https://example.org/",
        title=title,
        text=text,
        language=language,
    )


def judged(folder: Path, language: str) -> JudgedSet:
    rows = lines(folder / "common/docs.jsonl")
    relevance: Relevance = defaultdict(dict)
    with (folder / "dev/qrels.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            relevance[row["query"]][row["doc"]] = float(row["relevance"])
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    return JudgedSet(
        [
            document(row["id"], row.get("title", ""), row["text"], language)
            for row in rows
        ],
        {
            row["id"]: row["text"]
            for row in lines(folder / "dev/queries.jsonl")
            if any(relevance[row["id"]].values())
        },
        relevance,
        next(iter(manifest["reference_scores_of_known_tools"].values()))["dev"],
    )


def portuguese(folder: Path) -> JudgedSet:
    return judged(folder, "pt-BR")


def english(folder: Path) -> JudgedSet:
    return judged(folder, "en")


def headlines(folder: Path) -> JudgedSet:
    rows = [
        row
        for row in lines(folder / "dev/data.jsonl")
        if row["text"].startswith(row["title"])
    ][:450]
    texts = {
        row["id"]: row["text"].removeprefix(row["title"]).strip()[:LEAD_CHARS]
        for row in rows
    }
    return JudgedSet(
        [document(key, "", text, "en") for key, text in texts.items()],
        {row["id"]: row["title"] for row in rows},
        {key: {key: 1.0} for key in texts},
    )


def translations(folder: Path) -> JudgedSet:
    of: dict[str, dict[str, str]] = defaultdict(dict)
    for row in lines(folder / "dev/data.jsonl"):
        of[row["lang"]][row["index_id"]] = row["text"]
    both = sorted(of["por_Latn"].keys() & of["eng_Latn"].keys())[:500]
    return JudgedSet(
        [document(key, "", of["eng_Latn"][key], "en") for key in both],
        {key: of["por_Latn"][key] for key in both},
        {key: {key: 1.0} for key in both},
    )


SETS: dict[str, tuple[Callable[[Path], JudgedSet], Floors]] = {
    "search_govbr_knownitem": (portuguese, Floors(0.875, 0.895)),
    "search_quati_ptbr": (portuguese, Floors(0.81, 0.96)),
    "search_cranfield": (english, Floors(0.395, 0.555)),
    "themes_bbc_en": (headlines, Floors(0.91, 0.94)),
    "themes_sib200": (translations, Floors(0.715, 0.985)),
}


def scores(ranking: list[str], relevance: dict[str, float]) -> tuple[float, ...]:
    """Return nDCG@10 (gain 2^r - 1), MRR@10, recall@10, recall@100."""
    gains = [2 ** relevance.get(doc, 0) - 1 for doc in ranking[:10]]
    ideal = sorted((2**r - 1 for r in relevance.values()), reverse=True)[:10]
    dcg, idcg = (
        sum(g / math.log2(i + 2) for i, g in enumerate(some)) for some in (gains, ideal)
    )
    relevant = {doc for doc, r in relevance.items() if r > 0}
    first = next((i for i, doc in enumerate(ranking[:10], 1) if doc in relevant), 0)
    shares = [len(relevant & set(ranking[:k])) / len(relevant) for k in (10, DEPTH)]
    return dcg / idcg, 1 / first if first else 0.0, *shares


Hits = dict[str, list[SearchHit]]  # by query


@dataclass
class Measured:
    """Hits of one set by mode, and the means of their scores: nDCG@10, MRR@10,
    recall@10 and recall@100.
    """

    given: JudgedSet
    hits: dict[SearchMode, Hits] = field(default_factory=dict)
    means: dict[SearchMode, list[float]] = field(default_factory=dict)

    def hybrid(self, vector_share: float) -> float:
        """Return MRR@10 of hybrid search with this weight of vectors."""
        found = 0.0
        for query, near in self.hits["vector"].items():
            by_words = self.hits["keyword"][query]
            numbers = {hit.article_id: n for n, hit in enumerate([*near, *by_words])}
            ids = {n: article_id for article_id, n in numbers.items()}
            ranked = (
                fused(
                    *(_ranked(some, numbers) for some in (by_words, near)), vector_share
                )
                if near
                else None
            )
            ranking = (
                [ids[n] for n in ranked.ns.tolist()]
                if ranked
                else [hit.article_id for hit in by_words]
            )
            found += scores(ranking, self.given.relevance[query])[1]
        return found / len(self.given.queries)


def _ranked(hits: list[SearchHit], numbers: dict[str, int]) -> Scored:
    ns = np.array([numbers[hit.article_id] for hit in hits], np.int64)
    return Scored(ns, np.array([hit.score for hit in hits]))


def means(hits: Hits, given: JudgedSet) -> list[float]:
    rows = [
        scores([hit.article_id for hit in found], given.relevance[query])
        for query, found in hits.items()
    ]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def show(name: str, mode: str, values: list[float]) -> None:
    print(
        f"{name:26} {mode:20} " + "".join(f"{value:9.4f}" for value in values),
        flush=True,
    )


def measure(name: str, given: JudgedSet, backend: str, embedder: Embedder) -> Measured:
    measured = Measured(given)
    with (
        tempfile.TemporaryDirectory() as home,
        configured_backend(backend, Path(home), os.environ.__setitem__) as place,
        place.open() as opened,
    ):
        opened.upsert(given.documents)
        index = search.Index(opened, lambda: embedder, lambda: None)
        for mode in MODES:
            hits = {
                key: index.search(text, mode=mode, limit=DEPTH).hits
                for key, text in given.queries.items()
            }
            measured.hits[mode], measured.means[mode] = hits, means(hits, given)
            show(name, f"{backend} {mode}", measured.means[mode])
    return measured


def embedded(given: JudgedSet, embedder: Embedder) -> JudgedSet:
    texts = [f"{one.title}\n{one.text}".strip() or "-" for one in given.documents]
    made = embedder.embed(texts)
    return replace(
        given,
        documents=[
            replace(d, vector=e.vector)
            for d, e in zip(given.documents, made, strict=True)
        ],
    )


def losses(name: str, measured: Measured, floors: Floors) -> Iterator[str]:
    found = measured.means
    better = max(found["keyword"][1], found["vector"][1])
    if found["keyword"][0] < floors.keyword:
        yield f"{name}: nDCG@10 by words {found['keyword'][0]:.4f} is below its floor {floors.keyword}"
    if found["hybrid"][1] < floors.hybrid:
        yield f"{name}: MRR@10 of hybrid search {found['hybrid'][1]:.4f} is below its floor {floors.hybrid}"
    if found["hybrid"][1] < better - MAX_LOSS:
        yield f"{name}: MRR@10 of hybrid search {found['hybrid'][1]:.4f} is below that of its better half, {better:.4f}"


def losses_left_out(sets: dict[str, Measured]) -> Iterator[str]:
    """Print MRR@10 of hybrid search of each set with the weight set on the others;
    yield what is too low.
    """
    print(f"\n{'set':26} hybrid MRR@10, left out   in use   weight")
    for name, left in sets.items():
        others = [one for other, one in sets.items() if other != name]
        share = max(
            VECTOR_SHARES, key=lambda share: sum(one.hybrid(share) for one in others)
        )
        found, better = (
            left.hybrid(share),
            max(left.means["keyword"][1], left.means["vector"][1]),
        )
        print(
            f"{name:26} {found:23.4f} {left.hybrid(VECTOR_SHARE):8.4f} {share:8}",
            flush=True,
        )
        if found < better - MAX_LOSS:
            yield f"{name}: MRR@10 of hybrid search with the weight of the others is {found:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sets", nargs="*", default=[*SETS], metavar="SET", help=", ".join(SETS)
    )
    parser.add_argument("--typesense", type=int, default=0, metavar="QUERIES")
    options, settings = parser.parse_args(), Settings.read()
    embedder = OnnxEmbedder.open(
        settings.embedding_model, settings.models_dir, settings.threads
    )
    print(
        f"{embedder.model}\n{'set':26} {'mode':20}   nDCG@10   MRR@10     R@10    R@100"
    )
    below: list[str] = []
    measured: dict[str, Measured] = {}
    for name in options.sets:
        read, floors = SETS[name]
        if not (CORPUS / name).exists():
            print(f"{name:26} skipped: no corpus beside the repository")
            continue
        given = embedded(read(CORPUS / name), embedder)
        if known := given.reference:
            show(
                name,
                "reference",
                [known["nDCG@10"], known["MRR@10"], math.nan, known["Recall@100"]],
            )
        measured[name] = measure(name, given, "embedded", embedder)
        below += losses(name, measured[name], floors)
        if options.typesense:
            some = replace(
                given, queries=dict(list(given.queries.items())[: options.typesense])
            )
            below += losses(
                f"{name} on Typesense",
                measure(name, some, "typesense", embedder),
                Floors(0, 0),
            )
    if len(measured) > 1:
        below += losses_left_out(measured)
    sys.exit("\n".join(below) or 0)


if __name__ == "__main__":
    main()
