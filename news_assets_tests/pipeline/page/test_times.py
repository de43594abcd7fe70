"""Times of publication and update, from each part of small pages written for these
tests.
"""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.html import fromstring

from news_assets.pipeline.page.page_metadata import read_metadata
from news_assets_tests.pipeline.page.dated_page import (
    DATED_URL,
    FETCHED,
    JSON_LD,
    MARKUP,
    META,
    TEXT,
    URL,
    ZONE,
    published,
    updated,
)

# --- sources --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "byline", "url", "expected"),
    [
        (JSON_LD + META, MARKUP + TEXT, DATED_URL, ("01/03 10:00", "json_ld")),
        (META, MARKUP + TEXT, DATED_URL, ("28/02 10:00", "meta")),
        ("", MARKUP + TEXT, DATED_URL, ("27/02 14:30", "markup")),
        ("", TEXT, DATED_URL, ("26/02 14:30", "text")),
        ("", "", DATED_URL, ("24/02 00:00", "url")),
        ("", "", URL, (None, None)),
    ],
)
def test_the_surest_source_dates_the_page(
    head: str, byline: str, url: str, expected: tuple[str | None, str | None]
) -> None:
    assert published(head, byline=byline, url=url) == expected


def test_a_date_that_only_trafilatura_finds_is_a_guess() -> None:
    caption = f"<p>{'A reforma, que segue até dezembro, foi vista pela equipe. ' * 3}Em 25/02/2026 ela começou.</p>"
    assert published(foot=caption)[1] in ("guess", None)
    assert published(foot="<footer><span class='date'>25/02/2026</span></footer>") == (
        "25/02 00:00",
        "guess",
    )


def test_a_bare_day_takes_the_time_of_day_of_the_same_day_only() -> None:
    day = '<meta name="dcterms.issued" content="2026-02-26">'
    assert published(day, byline=TEXT) == ("26/02 14:30", "text")
    assert published(day, byline=TEXT.replace("26/02", "27/02")) == (
        "26/02 00:00",
        "meta",
    )


def test_a_number_is_seconds_since_1970() -> None:
    head = '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":1772370000}</script>'
    assert published(head) == ("01/03 10:00", "json_ld")


# --- future and rendered times --------------------------------------------------------


@pytest.mark.parametrize(
    "ahead", ["2026-03-05T10:00:00-03:00", "2026-03-04T13:01:00Z", "2099-01-01"]
)
def test_a_future_time_is_ignored(ahead: str) -> None:
    assert published(META.replace("2026-02-28T10:00:00-03:00", ahead), byline=TEXT) == (
        "26/02 14:30",
        "text",
    )


def test_a_future_time_is_a_guess_where_there_is_no_other() -> None:
    assert published(META.replace("02-28", "03-09")) == ("09/03 10:00", "guess")


def test_a_time_within_the_next_hour_is_accepted() -> None:
    assert published(
        META.replace("2026-02-28T10:00:00-03:00", "2026-03-04T12:59:00Z")
    ) == ("04/03 09:59", "meta")


def test_a_templates_time_of_rendering_is_ignored() -> None:
    rendered = '<meta name="date" content="2026-03-04T12:00:31Z">'
    assert published(rendered, byline=TEXT) == ("26/02 14:30", "text")
    assert published(rendered)[1] == "guess"


def test_an_article_published_this_minute_is_dated() -> None:
    assert published(
        META.replace("2026-02-28T10:00:00-03:00", "2026-03-04T12:00:00Z")
    ) == ("04/03 09:00", "meta")


def test_a_future_day_in_the_url_is_ignored() -> None:
    assert published(url=DATED_URL.replace("02/24", "12/24"))[1] != "url"


# --- updates --------------------------------------------------------------------------


def test_an_update_before_publication_is_ignored() -> None:
    assert updated(META, byline="<p>Atualizado em 27/02/2026 9h12</p>") is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "Publicado em ", "Updated ", "26/02/2026", " 14h30", "<h1>", "</h1>", "<time>", "\x01",
             "<time datetime='x'>", "<nav>", "</nav>", "<article>", "2099-12-31", "é|", "<div class='related'>"]
        ),
        max_size=25,
    )
)  # fmt: skip
def test_every_time_has_an_origin_and_only_guesses_are_in_the_future(
    parts: list[str],
) -> None:
    found = read_metadata(
        fromstring("<html><body><p>a</p>" + "".join(parts)), URL, ZONE, FETCHED
    )
    assert (found.published_at is None) == (found.published_origin is None)
    assert (
        not found.published_at
        or found.published_at <= FETCHED + timedelta(hours=1)
        or found.published_origin == "guess"
    )
