import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.search.embedded import document_table as module
from news_assets.clients.search.embedded.document_table import Duplicates
from news_assets.clients.search.embedded.search_file import FACTS

# (id, id of the original or 0, text or 0 if unknown)
DOCUMENTS = st.lists(
    st.tuples(st.integers(1, 12), st.integers(0, 12), st.integers(0, 6)), max_size=60
)


def facts(documents: list[tuple[int, int, int]]) -> np.ndarray:
    made = np.zeros(len(documents), FACTS)
    made["n"] = np.arange(1, len(documents) + 1)
    for i, (own, original, text) in enumerate(documents):
        made[i]["id_key"], made[i]["original_key"], made[i]["text_key"] = (
            own,
            original,
            1_000 + text if text else 0,
        )
    return made


def grouped_one_by_one(
    documents: np.ndarray, is_alive: list[np.ndarray]
) -> tuple[list[int], list[int]]:
    leader, original = [0] * 100, [0] * 100
    first_of: dict[int, int] = {}
    for document, alive in zip(documents, is_alive, strict=True):
        n, own, text = (
            int(document["n"]),
            int(document["id_key"]),
            int(document["text_key"]),
        )
        named = int(document["original_key"]) or own
        first = first_of.get(named) or (first_of.get(text) if text else None) or n
        leader[n] = leader[first] if first != n else n
        if named == own and not alive[original[leader[n]]]:
            original[leader[n]] = n
        for key in (named, text):
            if key:
                first_of.setdefault(key, leader[n])
    return leader, original


@given(DOCUMENTS, st.integers(1, 20), st.sampled_from([0, 3, 1_000]))
def test_batches_give_the_groups_of_one_document_at_a_time(
    documents: list[tuple[int, int, int]], batch: int, merge_at: int
) -> None:
    new, alive = facts(documents), np.zeros(100, np.bool_)
    duplicates = Duplicates(np.zeros(100, np.int64), np.zeros(100, np.int64))
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MERGE_AT", merge_at)
        for start in range(0, len(new), batch):
            some = new[start : start + batch]
            # a repeated id is a changed document, which replaces the old one
            for n in range(1, start + 1):
                alive[n] &= new[n - 1]["id_key"] not in some["id_key"]
            alive[some["n"]] = True
            seen += [alive.copy()] * len(some)
            duplicates.add(some, alive)
    leader, original = grouped_one_by_one(new, seen)
    assert (duplicates.leader.tolist(), duplicates.original.tolist()) == (
        leader,
        original,
    )
