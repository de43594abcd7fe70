from dataclasses import replace

from news_assets.pipeline.stage_declaration import content_hash
from news_assets.records.articles import ArticleRevision, CopyKey
from news_assets.records.derived import Failure
from news_assets_tests.pipeline.articles.fetched_desk import (
    LATER,
    STORY,
    FetchedDesk,
    story,
)
from news_assets_tests.support.small_desk import NOW, entry


def test_a_new_text_is_stored_as_a_change_of_method_and_the_next_replay_finds_nothing(
    desk: FetchedDesk,
) -> None:
    desk.fetch_stories(1, 2)
    desk.store_otherwise("a-1", f"Menu. {STORY}")
    aged = desk.articles()["a-1"]
    desk.store(list(desk.replay().values()))

    new = desk.articles()["a-1"]
    assert (new.text, new.rev_n, new.fetched_at) == (str(new.text), 1, aged.fetched_at)
    assert new.text_chars > aged.text_chars
    assert new.content_hash == content_hash(new) != aged.content_hash
    assert desk.lake.read(ArticleRevision) == [
        ArticleRevision(
            article_id="a-1", desk="d", agency="a", day=aged.day, rev_n=1, title=aged.title, text=aged.text,
            text_hash=aged.text_hash, fetched_at=NOW, replaced_at=LATER, cause="method",
        )
    ]  # fmt: skip
    before = desk.lake.snapshot()
    assert desk.changes() == {"a-1": "unchanged", "a-2": "unchanged"}
    desk.store(list(desk.replay().values()))
    assert desk.lake.snapshot() == before


def test_an_edit_after_a_change_of_method_keeps_both_texts(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    desk.store_otherwise("a-1", STORY)
    desk.store(list(desk.replay().values()))
    replayed = desk.articles()["a-1"]
    desk.site.texts[1] = story(7)
    desk.fetch(entry(1, entry_hash="two"), at=LATER.replace(hour=20))

    assert desk.articles()["a-1"].rev_n == 2
    kept = [(one.rev_n, one.cause, one.text) for one in desk.lake.read(ArticleRevision)]
    assert kept == [(1, "method", STORY), (1, "edit", replayed.text)]


def test_other_metadata_are_stored_without_a_revision(desk: FetchedDesk) -> None:
    desk.fetch_stories(1)
    before = desk.store_otherwise("a-1", desk.articles()["a-1"].text, title="Menu")
    desk.store(list(desk.replay().values()))
    assert desk.articles()["a-1"] == before
    assert desk.lake.read(ArticleRevision) == []


def test_a_fetch_in_between_wins(desk: FetchedDesk) -> None:
    desk.fetch_stories(1, 2)
    for article_id in ("a-1", "a-2"):
        desk.store_otherwise(article_id, STORY)
    replayed = list(desk.replay().values())
    desk.site.texts[1] = story(7)
    desk.fetch(entry(1, entry_hash="two"), at=LATER)
    fetched = desk.articles()["a-1"]

    assert [(one.change, one.row is None) for one in desk.store(replayed)] == [
        ("newer", True),
        ("text", False),
    ]
    assert desk.articles()["a-1"] == fetched
    assert {(one.article_id, one.cause) for one in desk.lake.read(ArticleRevision)} == {
        ("a-1", "edit"),
        ("a-2", "method"),
    }


def test_a_gained_text_ends_the_failure(desk: FetchedDesk) -> None:
    desk.site.texts[1] = ""
    desk.fetch(entry(1))
    assert [failure.article_id for failure in desk.lake.read(Failure)] == ["a-1"]
    (one,) = desk.replay().values()
    row = replace(one.article, text=STORY, text_chars=len(STORY), outcome="ok", rev_n=1)
    desk.store([replace(one, change="gained", row=row)])
    assert desk.lake.read(Failure) == []
    assert desk.articles()["a-1"].text == STORY


def test_copies_are_marked_among_the_new_texts(desk: FetchedDesk) -> None:
    desk.site.texts |= {1: story(1), 2: story(1)}
    desk.fetch(entry(1), entry(2, "b"))
    assert desk.articles()["b-2"].duplicate_of == "a-1"
    desk.store_otherwise("a-1", f"Menu. {STORY}")
    desk.store_otherwise("b-2", f"Other menu. {STORY}", duplicate_of=None)
    desk.store(list(desk.replay().values()))
    assert {key: article.duplicate_of for key, article in desk.articles().items()} == {
        "a-1": None,
        "b-2": "a-1",
    }


def test_articles_from_before_copy_keys_get_them_and_their_marks(
    desk: FetchedDesk,
) -> None:
    desk.site.texts |= {1: story(1), 2: story(1), 3: story(3)}
    desk.fetch(entry(1), entry(2, "b"), entry(3))
    stored, keys = desk.articles(), desk.lake.read(CopyKey)
    for article_id, article in stored.items():
        desk.store_otherwise(
            article_id,
            article.text,
            duplicate_of=None,
            duplicate_reason=None,
            lead_minhash=None,
        )
    desk.lake.transact(lambda rows: rows.delete(CopyKey, article_id=list(stored)))

    desk.store(list(desk.replay().values()))
    assert desk.lake.read(CopyKey) == keys
    assert desk.articles() == stored
    assert desk.lake.read(ArticleRevision) == []
