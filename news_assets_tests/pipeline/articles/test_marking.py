"""Copies in the lake: what is marked when articles are stored, and marked anew when
other articles change.
"""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from news_assets.pipeline.articles.dedupe import WINDOW, marked_articles, store_marked
from news_assets.pipeline.articles.likeness import minhash
from news_assets.pipeline.articles.withdrawal import withdraw
from news_assets.pipeline.stage_declaration import content_hash
from news_assets.records.articles import CopyKey, RawArticle
from news_assets.store.lake import Lake
from news_assets.text.fingerprint import text_hash
from news_assets_tests.pipeline.articles.test_likeness import LEAD, REST
from news_assets_tests.store.examples import full, upsert

DAY = date(2026, 3, 12)
STORY = f"{LEAD} {REST}"
EDITED = f"Da agência. {STORY} Com informações da rádio."
OTHER = " ".join(f"palavra{n}" for n in range(80))
NEARLY = "nearly the same text"

Marks = dict[str, tuple[str | None, str | None]]


def article(
    key: str, text: str = STORY, day: date = DAY, minutes: int = 0, **changes: Any
) -> RawArticle:
    """Return an article of the desk and agency that its key begins with: `a1` is of
    desk and agency `a`.
    """
    given = {
        "article_id": key,
        "desk": key[0],
        "agency": key[0],
        "day": day,
        "canonical_url": f"https://{key}.example/n",
        "url_hash": key,
        "published_at": datetime(day.year, day.month, day.day, tzinfo=UTC)
        + timedelta(minutes=minutes),
        "outcome": "ok",
        "duplicate_of": None,
    }
    return with_text(full(RawArticle, **given | changes), text)


def with_text(row: RawArticle, text: str) -> RawArticle:
    return replace(
        row,
        text=text,
        text_chars=len(text),
        text_hash=text_hash(text),
        lead_minhash=minhash(text),
    )


def store(lake: Lake, *rows: RawArticle) -> list[str]:
    """Store articles as a fetch does; return the ids of all that were written."""

    def work(transaction: Any) -> list[RawArticle]:
        present = transaction.read(
            RawArticle, article_id=[row.article_id for row in rows]
        )
        return store_marked(transaction, rows, {row.article_id: row for row in present})

    return [row.article_id for row in lake.transact(work)]


def marks(lake: Lake) -> Marks:
    return {
        row.article_id: (row.duplicate_of, row.duplicate_reason)
        for row in lake.read(RawArticle)
    }


def originals(lake: Lake) -> Mapping[str, str | None]:
    return {key: original for key, (original, _) in marks(lake).items()}


def test_copies_in_other_desks_name_the_earliest_original_with_reason_and_score(
    lake: Lake,
) -> None:
    store(lake, article("b1", EDITED, minutes=5), article("a1", minutes=9))
    store(
        lake,
        article("c1", STORY.upper()),
        article("d1", OTHER, url_hash="a1"),
        article("e1", f"{STORY} E mais."),
    )

    assert marks(lake) == {
        "b1": (None, None),
        "a1": ("b1", NEARLY),
        "c1": ("b1", "same text"),
        "d1": ("b1", "same address"),
        "e1": ("b1", NEARLY),
    }
    rows = {row.article_id: row for row in lake.read(RawArticle)}
    assert (rows["b1"].duplicate_score, rows["c1"].duplicate_score) == (None, 1.0)
    assert 0.8 < (rows["a1"].duplicate_score or 0) < 1
    assert all(row.content_hash == content_hash(row) for row in rows.values())


def test_a_follow_up_stays_apart(lake: Lake) -> None:
    follow_up = (
        "Os professores voltaram às salas de aula nesta quinta-feira em todo o interior, e os diretores das escolas "
        f"começaram a refazer o calendário para repor os dias perdidos, inclusive aos sábados. {REST} {REST[:120]}"
    )
    store(lake, article("a1"))
    store(lake, article("b1", follow_up))
    assert originals(lake) == {"a1": None, "b1": None}


def test_articles_are_compared_within_the_window(lake: Lake) -> None:
    store(lake, article("a1"))
    one_day = timedelta(days=1)
    within, beyond = DAY + WINDOW, DAY - WINDOW - one_day
    store(
        lake,
        article("b1", EDITED, within),
        article("c1", EDITED, beyond),
        article("d1", STORY, within + one_day),
    )
    assert originals(lake) == {"a1": None, "b1": "a1", "c1": None, "d1": None}


def test_pages_that_state_the_home_page_as_their_address_are_no_copies(
    lake: Lake,
) -> None:
    home = {"canonical_url": "https://a.example/", "url_hash": "home"}
    store(lake, article("a1", **home), article("a2", OTHER, **home))
    assert originals(lake) == {"a1": None, "a2": None}


def test_a_copy_whose_text_changes_is_marked_anew(lake: Lake) -> None:
    store(lake, article("a1"))
    store(lake, article("b1", EDITED))
    store(lake, article("b1", OTHER))
    assert marks(lake)["b1"] == (None, None)
    store(lake, article("b1", EDITED))
    assert marks(lake)["b1"] == ("a1", NEARLY)


def test_copies_of_an_original_whose_text_changes_are_marked_anew(lake: Lake) -> None:
    store(lake, article("a1"))
    store(
        lake, article("b1", minutes=1), article("c1", minutes=2), article("d1", OTHER)
    )
    assert store(lake, article("a1", f"{OTHER} mais"), article("e1", "x")) == [
        "a1",
        "e1",
        "b1",
        "c1",
    ]
    assert originals(lake) == {
        "a1": "d1",
        "b1": None,
        "c1": "b1",
        "d1": None,
        "e1": None,
    }


def test_an_original_that_becomes_a_copy_leaves_no_chain(lake: Lake) -> None:
    store(lake, article("a1"))
    store(lake, article("b1", EDITED))
    store(lake, article("c1", OTHER))
    store(lake, article("a1", OTHER))
    assert originals(lake) == {"a1": "c1", "b1": None, "c1": None}


def test_an_article_that_is_stored_as_it_was_keeps_its_mark(lake: Lake) -> None:
    store(lake, article("a1"))
    store(lake, article("b1", EDITED))
    before = lake.read(RawArticle)
    assert store(lake, article("a1", minutes=90), article("b1", EDITED)) == ["a1", "b1"]
    assert [row.duplicate_of for row in lake.read(RawArticle)] == [
        row.duplicate_of for row in before
    ]


def test_copies_of_a_withdrawn_article_are_marked_anew(lake: Lake) -> None:
    store(lake, article("a1"))
    store(lake, article("b1", EDITED, minutes=1), article("c1", minutes=2))
    now = datetime(2026, 3, 13, tzinfo=UTC)
    lake.transact(
        lambda rows: withdraw(
            rows, rows.read(RawArticle, article_id=["a1"]), "by order", now
        )
    )

    assert originals(lake) == {"a1": None, "b1": None, "c1": "b1"}
    assert {row.article_id for row in lake.read(CopyKey)} == {"b1", "c1"}
    store(lake, article("d1"))
    assert originals(lake)["d1"] == "b1"


def test_an_article_from_before_copy_keys_is_compared_once_it_is_stored_again(
    lake: Lake,
) -> None:
    old = replace(article("a1"), lead_minhash=None)
    upsert(lake, [old])
    store(lake, article("b1", EDITED))
    assert originals(lake) == {"a1": None, "b1": None}

    store(lake, article("a1"))
    assert originals(lake) == {"a1": "b1", "b1": None}


def test_an_article_that_moved_to_another_day_is_found_there_only(lake: Lake) -> None:
    store(lake, article("a1"))
    later = DAY + 2 * WINDOW
    store(lake, article("a1", day=later))
    store(lake, article("b1", EDITED), article("c1", EDITED, later))
    assert originals(lake) == {"a1": None, "b1": None, "c1": "a1"}


def test_many_copies_hide_no_original(lake: Lake) -> None:
    store(lake, article("a1"))
    store(lake, *(article(f"b{n}", EDITED, minutes=n) for n in range(40)))
    store(
        lake,
        article("c1", EDITED),
        article("d1", f"Da agência. {STORY} Com informações da TV."),
    )
    found = originals(lake)
    assert {found[key] for key in found if key != "a1"} == {"a1"}


WORDS = [f"w{n}" for n in range(90)]
# each like its neighbours
TEXTS = [" ".join(WORDS[start:] + WORDS[:start]) for start in range(0, 60, 6)]


@pytest.mark.slow  # marks many articles
def test_no_copy_points_to_a_copy(lake: Lake) -> None:
    rng = random.Random(5)
    copies = 0
    for _ in range(25):
        numbers = rng.sample(range(8), rng.randint(1, 3))
        store(
            lake,
            *(
                article(f"a{n}", rng.choice(TEXTS), minutes=rng.randint(0, 9))
                for n in numbers
            ),
        )
        found = originals(lake)
        copies += sum(original is not None for original in found.values())
        assert all(found[original] is None for original in found.values() if original)
    assert copies > 25


def test_reading_changes_nothing(lake: Lake) -> None:
    store(lake, article("a1"))
    commit = lake.snapshot()
    [marked] = marked_articles(lake, [article("b1", EDITED)])
    assert (marked.duplicate_of, lake.snapshot()) == ("a1", commit)
