"""Folding, merging and purging postings leave search results unchanged."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.clients.search.embedded import postings
from news_assets.clients.search.embedded.ranking import K1, B
from news_assets.clients.search.embedded.search_file import FACTS
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.search.embedded.terms import term_of
from news_assets.ports.search_index import SearchDocument, SearchQuery
from news_assets_tests.clients.search.contract.examples import document

# no word is one edit from another
WORDS = (
    "vacina",
    "escola",
    "hospital",
    "ferrovia",
    "cultura",
    "biblioteca",
)

# (number, words) writes a document, (number, None) deletes it
STEPS = st.lists(
    st.tuples(
        st.integers(0, 25),
        st.none() | st.lists(st.sampled_from(WORDS), min_size=1, max_size=9),
    ),
    max_size=90,
)


def test_merged_parts_keep_their_postings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "FOLD_AT", 3)
    monkeypatch.setattr(postings, "MERGE_AT", 4)
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        for n in range(100):
            index.upsert([document(n, "vacina" if n % 3 else "escola")])
        (part_count,) = index._connection.execute(
            "SELECT count(*) FROM parts"
        ).fetchone()
        assert part_count < 9
        answer = index.search(SearchQuery(text="escola", mode="keyword", limit=99))
        assert {hit.article_id for hit in answer.hits} == {
            f"mec-{n}" for n in range(0, 100, 3)
        }


def test_parts_are_not_merged_beyond_the_maximum_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "FOLD_AT", 3)
    monkeypatch.setattr(postings, "MERGE_AT", 4)
    monkeypatch.setattr(postings, "MAX_PART_SPAN", 10)
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        for n in range(60):
            index.upsert([document(n, "vacina")])
        spans = index._connection.execute(
            "SELECT last_n - first_n FROM parts"
        ).fetchall()
        assert max(spans) <= (10,)
        assert index.search(SearchQuery(text="vacina", mode="keyword")).found == 60


def test_a_new_reader_ignores_postings_of_the_newest_document_after_its_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "FOLD_AT", 5)
    path = tmp_path / "search.sqlite"
    with SqliteSearchIndex.open(path) as index:
        for n in range(5):
            index.upsert([document(n, "vacina")])
        index.delete(["mec-4"])
    with SqliteSearchIndex.open(path) as index:
        assert index.search(SearchQuery(text="vacina", mode="keyword")).found == 4


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    steps=STEPS,
    searched=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True),
    agency=st.sampled_from([None, "agency-1"]),
    dense_from=st.sampled_from([1, 8, 10**6]),
)
def test_a_search_equals_ranking_every_stored_posting(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, list[str] | None]],
    searched: list[str],
    agency: str | None,
    dense_from: int,
) -> None:
    path = tmp_path_factory.mktemp("index") / "search.sqlite"
    query = SearchQuery(
        text=" ".join(searched), mode="keyword", limit=99, agency=agency
    )
    # with several words, scores depend on which deleted ones are counted
    one_word = replace(query, text=searched[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "FOLD_AT", 5)
        patch.setattr(postings, "MERGE_AT", 3)
        patch.setattr(postings, "DENSE_FROM", dense_from)
        with SqliteSearchIndex.open(path) as index:
            stored = written(index, steps, query)
            followed = index.search(one_word)
        with SqliteSearchIndex.open(path) as index:
            assert (followed.found, followed.facets) == (
                index.search(one_word).found,
                index.search(one_word).facets,
            )
            answer = index.search(query)
            expected = ranked_one_by_one(index, stored, searched, agency)
    assert {hit.article_id: hit.score for hit in answer.hits} == pytest.approx(
        expected, rel=1e-5
    )
    assert [hit.score for hit in answer.hits] == sorted(
        (hit.score for hit in answer.hits), reverse=True
    )
    assert answer.found == len(expected)
    assert answer.facets["agency"] == dict(
        Counter(stored[one].agency for one in expected)
    )


def written(
    index: SqliteSearchIndex,
    steps: list[tuple[int, list[str] | None]],
    query: SearchQuery,
) -> dict[str, SearchDocument]:
    stored: dict[str, SearchDocument] = {}
    for step, (n, words) in enumerate(steps):
        if words is None:
            index.delete([f"mec-{n}"])
            stored.pop(f"mec-{n}", None)
        else:
            one = document(
                n,
                words[0],
                " ".join(words[1:]),
                agency=f"agency-{n % 3}",
                document_hash=str(step),
            )
            index.upsert([one])
            stored[one.article_id] = one
        if step % 7 == 0:
            index.search(query)  # the reader refreshes between writes
    return stored


def ranked_one_by_one(
    index: SqliteSearchIndex,
    stored: dict[str, SearchDocument],
    searched: list[str],
    agency: str | None,
) -> dict[str, float]:
    """Score every document with the formula, from the stored postings."""
    ids = dict(index._connection.execute("SELECT n, article_id FROM documents"))
    lengths = {n: int(fact["length"]) for n, fact in facts(index).items()}
    average = sum(lengths.values()) / max(len(lengths), 1)
    weights = {
        word: stored_postings(index, {term_of(word, "pt-BR"), term_of(word, None)})
        for word in searched
    }
    weights = {word: found for word, found in weights.items() if found}
    df = {word: min(len(found), len(ids)) for word, found in weights.items()}
    idf = {
        word: float(np.log(1 + (len(ids) - df[word] + 0.5) / (df[word] + 0.5)))
        for word in weights
    }

    def score(n: int, words: list[str]) -> float:
        k = K1 * (1 - B + B * lengths[n] / max(average, 1.0))
        return sum(
            idf[word] * (K1 + 1) * weights[word][n] / (weights[word][n] + k)
            for word in words
        )

    every, some = {}, {}
    for n, article_id in ids.items():
        has = [word for word in weights if n in weights[word]]
        if agency in (None, stored[article_id].agency) and has:
            if len(has) == len(weights):
                every[article_id] = score(n, has)
            if sum(idf[word] for word in has) >= 0.1 * sum(idf.values()):
                some[article_id] = score(n, has)
    if len(every) >= 10 or len(weights) < 2:
        return every
    highest = max(some.values(), default=0.0) if every else 0.0
    return {
        one: value + (highest if one in every else 0.0) for one, value in some.items()
    }


def facts(index: SqliteSearchIndex) -> dict[int, np.void]:
    rows = index._connection.execute("SELECT n, facts FROM documents")
    return {n: np.frombuffer(packed, FACTS)[0] for n, packed in rows}


def stored_postings(index: SqliteSearchIndex, terms: set[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    rows = index._connection.execute(
        "SELECT term, first_n, postings FROM postings JOIN parts USING (part)"
    ).fetchall()
    for term, first_n, packed in rows:
        if term in terms:
            for offset, weight in np.frombuffer(packed, postings.POSTING).tolist():
                found[first_n + offset] = max(weight, found.get(first_n + offset, 0))
    for entry in postings.entries(
        index._connection.execute("SELECT n, terms FROM fresh").fetchall()
    ):
        if int(entry["term"]) in terms:
            found[int(entry["n"])] = max(
                int(entry["weight"]), found.get(int(entry["n"]), 0)
            )
    return found
