"""Pages read by the selectors of a desk file."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.site_rules import rule_on
from news_assets.records.desks import PageRule
from news_assets.records.reading import ExtractedArticle, Page

BODY = "The council kept bus line nine for another year after hours of debate. " * 6
NOTE = (
    "Subscribe to the weekly letter of the council and read all its decisions first. "
    * 6
)
PAGE = f"""<html><head><title>Bus line nine stays</title></head><body>
<div class="when">Published on 5 September 2026, 14:30</div>
<table><tr><td class="story"><p>{BODY}</p><div class="ad"><p>{NOTE}</p></div>
<h3>Next</h3><p>Vote in May.</p></td></tr></table>
<div class="story"><p>Second part of the story.</p></div>
<main><article><p>{NOTE}</p><p>{NOTE}</p></article></main></body></html>"""


def read(rule: PageRule | None, markup: str = PAGE) -> ExtractedArticle:
    url = "https://example.org/news/bus-line-nine-stays"
    page = Page(
        url=url,
        final_url=url,
        status=200,
        body=markup.encode(),
        content_type="text/html",
        fetched_at=datetime(2026, 9, 6, tzinfo=UTC),
    )
    return extract(replace(page, rule=rule), "America/Sao_Paulo")


def test_the_text_is_what_content_matches_without_what_remove_matches() -> None:
    article = read(PageRule(content=".story", remove=".ad, h4"))

    assert (
        article.text
        == f"{BODY.strip()}\n\n### Next\n\nVote in May.\n\nSecond part of the story."
    )
    assert (article.outcome, article.reason, article.title) == (
        "ok",
        None,
        "Bus line nine stays",
    )


def test_without_a_rule_another_text_is_taken() -> None:
    assert NOTE.strip() in (read(None).text or "")


def test_content_within_content_is_read_once() -> None:
    assert (read(PageRule(content="table, .story", remove=".ad")).text or "").count(
        "Vote in May."
    ) == 1


def test_the_time_is_what_date_matches_in_the_agencys_zone() -> None:
    article = read(PageRule(date=".when"))

    assert (article.published_at, article.published_origin) == (
        datetime(2026, 9, 5, 17, 30, tzinfo=UTC),
        "markup",
    )


@pytest.mark.parametrize(
    "markup",
    [
        '<time class="when" datetime="2026-09-05T17:30Z">today</time>',
        '<meta class="when" content="2026-09-05T17:30Z">',
    ],
)
def test_a_stated_time_goes_before_the_text(markup: str) -> None:
    page = PAGE.replace(
        '<div class="when">Published on 5 September 2026, 14:30</div>', markup
    )

    assert read(PageRule(date=".when"), page).published_at == datetime(
        2026, 9, 5, 17, 30, tzinfo=UTC
    )


def test_a_selector_that_matches_nothing_is_named_and_the_page_is_read_without_it() -> (
    None
):
    article, plain = read(PageRule(content="#gone", date="#gone")), read(None)

    assert (article.text, article.published_at) == (plain.text, plain.published_at)
    assert article.reason == "`#gone` of the desk file matches no text: read without it"


def test_the_newest_rule_that_holds_on_the_day_is_used() -> None:
    old, new = (
        PageRule(content="#old"),
        PageRule(since=date(2026, 5, 1), content="#new"),
    )

    assert [
        rule_on((new, old), day) for day in (date(2026, 4, 30), date(2026, 5, 1))
    ] == [old, new]
    assert rule_on((new,), date(2026, 4, 30)) is None
