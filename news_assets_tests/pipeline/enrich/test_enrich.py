"""Enrichment: cache, duplicates and failures."""

import json
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import pytest

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.enrich import enrich_batch
from news_assets.pipeline.enrich.enriched_rows import identity, input_hash
from news_assets.pipeline.enrich.plan import is_sure
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Enrichment
from news_assets.store.lake import Lake

DAY = date(2026, 11, 20)
RESULT = Enrichment(
    theme_path=("a", "a.b"),
    theme_labels=("A", "B"),
    theme_score=0.9,
    summary="It is so.",
    keywords=("so",),
    word_count=3,
)


class CountingEnricher:
    """Returns one result for every text, fails on texts with `bad`, and records the
    texts.
    """

    def __init__(self, model: str = "1") -> None:
        self.name, self.model, self.prompt_version, self.taxonomy_version = (
            "counting",
            model,
            "p",
            "t",
        )
        self.texts: list[str] = []

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        self.texts.append(text)
        if "bad" in text:
            raise EnrichError("the text is bad")
        return RESULT


def raw(
    article_id: str, text: str | None = "Some text.", **changes: object
) -> RawArticle:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    article = RawArticle(
        article_id=article_id,
        desk="sample",
        agency="mec",
        day=date(2026, 11, 20),
        source_id="s",
        entry_id="e",
        entry_hash="h",
        url="https://x.example/1",
        canonical_url="https://x.example/1",
        url_hash="u",
        text_hash=None,
        title="Title",
        subtitle=None,
        authors=(),
        section=None,
        category=None,
        tags=(),
        article_type=None,
        language="en",
        published_at=at,
        updated_at=None,
        first_seen_at=at,
        fetched_at=at,
        image_url=None,
        video_url=None,
        text=text,
        text_origin="page",
        text_chars=len(text or ""),
        word_count=0,
        out_links=(),
        outcome="ok",
        reason=None,
        duplicate_of=None,
        rev_n=1,
        attempts=1,
        next_try_at=None,
        trace_id="t1",
    )
    return replace(article, **changes)  # type: ignore[arg-type]


@pytest.fixture
def enricher() -> CountingEnricher:
    return CountingEnricher()


class Enriched(NamedTuple):
    """Rows by article id, and the results that were added to the cache."""

    rows: list[EnrichedArticle]
    new_cache: list[CachedEnrichment]


def enriched(
    lake: Lake,
    articles: list[RawArticle],
    enricher: CountingEnricher,
    now: datetime,
    cached: tuple[CachedEnrichment, ...] = (),
    originals: tuple[EnrichedArticle, ...] = (),
) -> Enriched:
    """Enrich these articles in a lake that has nothing but them and what is given."""
    keys = AgencyDays("sample", frozenset({("mec", DAY)}))

    def fill(rows: Rows) -> None:
        for record in (RawArticle, EnrichedArticle):
            rows.delete(record, keys)
        rows.delete(CachedEnrichment, enricher=["counting"])
        for given in (articles, [*originals], [*cached]):
            if given:
                rows.upsert(given)

    lake.transact(fill)
    desk = Desk(key="sample", timezone="UTC", language="en", first_day=DAY, agencies=())
    enrich_batch(
        stage_named("enriched_articles"),
        lake,
        desk,
        keys,
        lambda: now,
        enricher=enricher,
    )
    made = [row for row in lake.read(EnrichedArticle) if row not in originals]
    return Enriched(
        made, [row for row in lake.read(CachedEnrichment) if row not in cached]
    )


def test_an_article_becomes_a_row_and_a_cache_entry(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    key = input_hash("Title", "Some text.", identity(enricher))

    assert enriched(lake, [raw("a1", content_hash="c1")], enricher, now) == Enriched(
        rows=[
            EnrichedArticle(
                article_id="a1",
                desk="sample",
                agency="mec",
                day=date(2026, 11, 20),
                input_hash=key,
                content_hash="c1",
                theme_code="a.b",
                theme_path=("a", "a.b"),
                theme_labels=("A", "B"),
                theme_score=0.9,
                summary="It is so.",
                keywords=("so",),
                language=None,
                word_count=3,
                reading_minutes=0,
                readability=None,
                enricher="counting",
                model="1",
                prompt_version="p",
                taxonomy_version="t",
                reused_from=None,
                enriched_at=now,
                outcome="ok",
                reason=None,
                trace_id="t1",
            )
        ],
        new_cache=[
            CachedEnrichment(
                input_hash=key,
                enricher="counting",
                model="1",
                result_json=json.dumps(asdict(RESULT), ensure_ascii=False),
                created_at=now,
                article_id="a1",
            )
        ],
    )


def test_an_article_without_text_or_with_another_outcome_gets_no_row(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    articles = [
        raw("a", None),
        raw("b", " \n"),
        raw("c", outcome="failed"),
        raw("d", outcome="gone"),
    ]

    assert enriched(lake, articles, enricher, now) == Enriched([], [])


def test_a_cached_result_is_used(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    first = enriched(lake, [raw("a1")], enricher, now - timedelta(days=1))
    again = enriched(lake, [raw("a1")], enricher, now, cached=tuple(first.new_cache))

    assert again == Enriched([replace(first.rows[0], enriched_at=now)], [])
    assert len(enricher.texts) == 1


def test_an_edited_text_and_another_model_are_enriched_again(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    first = enriched(lake, [raw("a1")], enricher, now)
    edited = enriched(
        lake, [raw("a1", "Other text.")], enricher, now, cached=tuple(first.new_cache)
    )
    newer = enriched(
        lake, [raw("a1")], CountingEnricher("2"), now, cached=tuple(first.new_cache)
    )

    assert (
        len({row.input_hash for part in (first, edited, newer) for row in part.rows})
        == 3
    )
    assert (len(edited.new_cache), len(newer.new_cache)) == (1, 1)


def test_a_cache_entry_that_cannot_be_read_is_replaced(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    whole = enriched(lake, [raw("a1")], enricher, now)
    for broken in ("{", "[]", "3", '{"unknown": 1}', '{"keywords": 3}'):
        cached = replace(whole.new_cache[0], result_json=broken)
        assert enriched(lake, [raw("a1")], enricher, now, cached=(cached,)) == whole


def test_one_failure_is_a_failed_row_and_the_others_succeed(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    found = enriched(lake, [raw("a1", "bad"), raw("a2")], enricher, now)

    assert [(row.article_id, row.outcome, row.reason) for row in found.rows] == [
        ("a1", "failed", "the text is bad"),
        ("a2", "ok", None),
    ]
    assert [entry.input_hash for entry in found.new_cache] == [found.rows[1].input_hash]


def test_equal_inputs_are_enriched_once_even_if_they_fail(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    found = enriched(
        lake, [raw("a1"), raw("a2"), raw("a3", "bad"), raw("a4", "bad")], enricher, now
    )

    assert enricher.texts == ["Some text.", "bad"]
    assert [row.outcome for row in found.rows] == ["ok", "ok", "failed", "failed"]


def test_a_duplicate_before_its_original_reuses_its_result(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    copy = raw("a1", "Some text, copied.", duplicate_of="a2")
    found = enriched(lake, [copy, raw("a2")], enricher, now)

    assert [(row.article_id, row.reused_from, row.summary) for row in found.rows] == [
        ("a1", "a2", "It is so."),
        ("a2", None, "It is so."),
    ]
    assert enricher.texts == ["Some text."]


def test_a_copy_with_another_text_is_enriched_from_its_own(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    copy = raw(
        "a1",
        "Some text, cut.",
        duplicate_of="a2",
        duplicate_reason="nearly the same text",
    )
    found = enriched(lake, [copy, raw("a2")], enricher, now)

    assert [row.reused_from for row in found.rows] == [None, None]
    assert set(enricher.texts) == {"Some text.", "Some text, cut."}


def test_a_duplicate_reuses_a_stored_original(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    original = enriched(lake, [raw("a2")], CountingEnricher(), now).rows[0]
    found = enriched(
        lake,
        [raw("a1", "Copied.", duplicate_of="a2")],
        enricher,
        now,
        originals=(original,),
    )

    assert (found.rows[0].reused_from, found.new_cache, enricher.texts) == (
        "a2",
        [],
        [],
    )


@pytest.mark.parametrize(
    "change", [{"outcome": "failed"}, {"model": "0"}, {"taxonomy_version": "old"}]
)
def test_an_original_that_failed_or_is_outdated_is_not_reused(
    lake: Lake, enricher: CountingEnricher, now: datetime, change: dict[str, str]
) -> None:
    original = replace(
        enriched(lake, [raw("a2")], CountingEnricher(), now).rows[0], **change
    )  # type: ignore[arg-type]
    found = enriched(
        lake,
        [raw("a1", "Copied.", duplicate_of="a2")],
        enricher,
        now,
        originals=(original,),
    )

    assert (found.rows[0].reused_from, enricher.texts) == (None, ["Copied."])


def test_duplicates_in_a_cycle_are_each_enriched(
    lake: Lake, enricher: CountingEnricher, now: datetime
) -> None:
    found = enriched(
        lake,
        [raw("a1", "One.", duplicate_of="a2"), raw("a2", "Two.", duplicate_of="a1")],
        enricher,
        now,
    )

    assert [row.outcome for row in found.rows] == ["ok", "ok"]


@pytest.mark.parametrize("parts", [("ab", "c"), ("a", "bc"), ("", "abc"), ('a"', "bc")])
def test_the_input_hash_separates_title_and_text(parts: tuple[str, str]) -> None:
    others, by = [("abc", ""), ("a\x00b", "c")], identity(CountingEnricher())

    assert all(input_hash(*parts, by) != input_hash(*other, by) for other in others)


@pytest.mark.parametrize(
    ("path", "score", "expected"),
    [(("health",), 0.95, True), (("health",), 0.94, False), ((), 0.99, False)],
)
def test_a_theme_is_sure_if_its_probability_of_error_is_at_most_the_wanted_rate(
    path, score, expected
):
    assert is_sure(Enrichment(theme_path=path, theme_score=score), 0.05) is expected
