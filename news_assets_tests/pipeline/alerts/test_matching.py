from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from news_assets.pipeline.alerts.hits import Matchable, Matcher
from news_assets.pipeline.alerts.query_file import SavedQuery
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets_tests.store.examples import full

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
ARTICLE: RawArticle = full(
    RawArticle,
    article_id="a-1",
    desk="govbr",
    agency="saude",
    day=date(2026, 11, 20),
    title="Vila Serena leva vacinação às escolas",
    subtitle=None,
    text="As vacinas contra a gripe chegam na **segunda-feira** a todas as crianças.",
    language="pt-BR",
    published_at=NOW - timedelta(hours=1),
    outcome="ok",
    authors=("Ana Lima",),
    section=None,
    category=None,
    tags=("infraestrutura",),
    body="Council",
    matter="file:1",
    meeting_status="passed",
)
ENRICHED: EnrichedArticle = full(
    EnrichedArticle,
    theme_path=("03", "03.01"),
    summary=None,
    language="pt",
    sentiment="positive",
    entities=("SUS",),
)


def is_match(query: str = "", article: RawArticle = ARTICLE, **given: Any) -> bool:
    saved = SavedQuery(name="q", query=query, to=("c",), **given)
    found = Matchable(article, ENRICHED, "Ministério da Saúde")
    return list(Matcher([saved]).matches(found, NOW)) == [saved]


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("", True),
        ("vacinação", True),
        ("VACINACOES escola", True),
        ("a vacina", True),
        ("vacina dengue", False),
        ('"vila serena"', True),
        ('"serena vila"', False),
        ("vacina -gripe", False),
        ("vacina -dengue", True),
        ("dengue OR gripe", True),
        ("dengue OR zika", False),
        ("title:vacina -title:gripe", True),
        ("title:gripe", False),
        ("gripe NEAR/5 segunda", True),
        ("gripe NEAR/2 segunda", False),
        ("segunda-feira OR zika", True),
        ("date:1d", True),
        ("date:..2026-11-19", False),
        ("vacin* author:lima", True),
        ('publisher:"ministério da saúde" publisher:saude', True),
        ("publisher:educação", False),
        ("theme:03.01 -theme:04", True),
        ("infraestrutura", True),
    ],
)
def test_all_words_in_any_inflection_phrases_and_exclusions(
    query: str, matches: bool
) -> None:
    assert is_match(query) == matches


def test_the_text_of_a_query_is_compared_without_markdown() -> None:
    linked = replace(ARTICLE, text="[Veja a lista](https://example.org/dengue) hoje")
    assert is_match("lista", linked)
    assert not is_match("dengue", linked)
    assert not is_match("dengue OR zika", linked)


@pytest.mark.parametrize(
    ("filters", "matches"),
    [
        ({"desk": "govbr", "agency": "saude", "theme": "03", "language": "pt"}, True),
        ({"theme": "03.01"}, True),
        ({"theme": "04"}, False),
        ({"desk": "g1"}, False),
        ({"agency": "mec"}, False),
        ({"language": "en"}, False),
        ({"entity": "SUS", "sentiment": "positive"}, True),
        ({"entity": "Anvisa"}, False),
        ({"sentiment": "negative"}, False),
        ({"body": "Council", "matter": "file:1", "meeting_status": "passed"}, True),
        ({"body": "Board"}, False),
        ({"matter": "file:2"}, False),
        ({"meeting_status": "cancelled"}, False),
    ],
)
def test_filters(filters: dict[str, str], matches: bool) -> None:
    assert is_match(**filters) == matches


def test_what_was_published_long_ago_is_told_only_where_that_is_asked_for() -> None:
    old = replace(ARTICLE, published_at=NOW - timedelta(hours=49))
    assert not is_match(article=old)
    assert is_match(article=old, max_age_hours=50)
    assert is_match(article=old, backfill=True)
    undated = replace(ARTICLE, published_at=None)
    assert is_match(article=undated)
    assert not is_match(article=replace(undated, day=date(2026, 11, 17)))
