"""Search quality on known items, questions and judged queries; exits 1 below the floors.

The reference is plain BM25 (k1 1.2, b .75, accents folded, stop words removed), as stated in the sets' manifests.
`--vectors MODEL_FOLDER` adds vector and hybrid search with the default embedding model.
"""

import argparse
import csv
import dataclasses
import functools
import json
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Literal

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.ports import SearchDocument, SearchQuery

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
SETS = {"search_govbr_knownitem": "pt-BR", "search_quati_ptbr": "pt-BR", "search_cranfield": "en"}
FLOORS = {"search_govbr_knownitem": 0.875, "search_quati_ptbr": 0.81, "search_cranfield": 0.395}  # nDCG@10, keyword
DEPTH = 100
Mode = Literal["keyword", "vector", "hybrid"]
MODES: tuple[Mode, ...] = ("vector", "hybrid")


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def documents_of(folder: Path, language: str) -> list[SearchDocument]:
    return [
        SearchDocument(
            article_id=row["id"],
            desk="quality",
            agency="quality",
            agency_name="Quality",
            day=date(2026, 1, 1),
            url="https://example.org/",
            title=row.get("title", ""),
            text=row["text"],
            language=language,
        )
        for row in lines(folder / "common/docs.jsonl")
    ]


def judged(folder: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with (folder / "dev/qrels.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            found[row["query"]][row["doc"]] = float(row["relevance"])
    return found


def scores(ranking: list[str], relevance: dict[str, float]) -> tuple[float, ...]:
    """Return nDCG@10 (gain 2^r - 1), MRR@10, recall@10, recall@100."""
    gains = [2 ** relevance.get(doc, 0) - 1 for doc in ranking[:10]]
    ideal = sorted((2**r - 1 for r in relevance.values()), reverse=True)[:10]
    dcg, idcg = (sum(g / math.log2(i + 2) for i, g in enumerate(some)) for some in (gains, ideal))
    relevant = {doc for doc, r in relevance.items() if r > 0}
    first = next((i for i, doc in enumerate(ranking[:10], 1) if doc in relevant), 0)
    shares = [len(relevant & set(ranking[:k])) / len(relevant) for k in (10, DEPTH)]
    return dcg / idcg, 1 / first if first else 0.0, *shares


def evaluate(rank: Callable[[str], list[str]], folder: Path) -> list[float]:
    relevance = judged(folder)
    rows = [
        scores(rank(query["text"]), relevance[query["id"]])
        for query in lines(folder / "dev/queries.jsonl")
        if any(relevance[query["id"]].values())
    ]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def show(name: str, mode: str, values: list[float]) -> None:
    print(f"{name:26} {mode:10} " + "".join(f"{value:9.4f}" for value in values))


def measure(name: str, folder: Path, models: Path | None) -> float:
    documents = documents_of(folder, SETS[name])
    embedder = None
    if models is not None:
        from news_assets.clients.embedding.embedder import OnnxEmbedder

        embedder = OnnxEmbedder.open("all-MiniLM-L6-v2", models, 2)
        made = embedder.embed([f"{document.title}\n{document.text}" for document in documents])
        documents = [dataclasses.replace(d, vector=e.vector) for d, e in zip(documents, made, strict=True)]
    with tempfile.TemporaryDirectory() as home, SqliteSearchIndex.open(Path(home) / "search.sqlite") as index:
        index.upsert(documents)

        def rank(text: str, mode: Mode = "keyword") -> list[str]:
            vector = embedder.embed_query(text).vector if embedder and mode != "keyword" else None
            query = SearchQuery(text=text, mode=mode, vector=vector, limit=DEPTH)
            return [hit.article_id for hit in index.search(query).hits]

        keyword = evaluate(rank, folder)
        show(name, "keyword", keyword)
        for mode in MODES if embedder else ():
            show(name, mode, evaluate(functools.partial(rank, mode=mode), folder))
    return keyword[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=Path, metavar="MODEL_FOLDER", help="folder of the exported models")
    models = parser.parse_args().vectors
    print(f"{'set':26} {'mode':10}   nDCG@10   MRR@10     R@10    R@100")
    below = []
    for name, floor in FLOORS.items():
        folder = CORPUS / name
        if not folder.exists():
            print(f"{name:26} skipped: no corpus beside the repository")
            continue
        manifest = json.loads((folder / "MANIFEST.json").read_text())
        known = next(iter(manifest["reference_scores_of_known_tools"].values()))["dev"]
        show(name, "reference", [known["nDCG@10"], known["MRR@10"], math.nan, known["Recall@100"]])
        if (value := measure(name, folder, models)) < floor:
            below.append(f"{name}: nDCG@10 {value:.4f} is below its floor {floor}")
    sys.exit("\n".join(below) or 0)


if __name__ == "__main__":
    main()
