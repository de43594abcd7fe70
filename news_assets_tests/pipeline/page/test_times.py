"""Times of publication and update, from each part of small pages written for these tests."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.html import fromstring

from news_assets.pipeline.page.metadata import PageMetadata, read_metadata

ZONE = "America/Sao_Paulo"
URL = "https://www.example.org/noticias/escolas"
DATED_URL = "https://www.example.org/2026/02/24/escolas"
FETCHED = datetime(2026, 3, 4, 12, tzinfo=UTC)
TITLE = "Escolas técnicas recebem verba para obras"
BODY = "".join(f"<p>{'O ministério anunciou obras em escolas de três estados do Nordeste. ' * 5}</p>" for _ in "ab")

JSON_LD = '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2026-03-01T10:00-03:00"}</script>'
META = '<meta property="article:published_time" content="2026-02-28T10:00:00-03:00">'
MARKUP = '<span class="documentPublished"><span>Publicado em</span> <span class="value">27/02/2026 14h30</span></span>'
TEXT = "<p>Publicado em 26/02/2026 14h30</p>"


def read(head: str = "", above: str = "", byline: str = "", foot: str = "", url: str = URL) -> PageMetadata:
    body = f"<header>{above}</header><article><h1>{TITLE}</h1>{byline}{BODY}</article>{foot}"
    html = f"<html><head><title>{TITLE}</title>{head}</head><body>{body}</body></html>"
    return read_metadata(fromstring(html), url, ZONE, FETCHED)


def published(*args: str, **parts: str) -> tuple[str | None, str | None]:
    """Return the local time and its origin."""
    found = read(*args, **parts)
    return found.published_at and f"{found.published_at - timedelta(hours=3):%d/%m %H:%M}", found.published_origin


def updated(*args: str, **parts: str) -> str | None:
    at = read(*args, **parts).updated_at
    return at and f"{at - timedelta(hours=3):%d/%m %H:%M}"


# --- sources ---------------------------------------------------------------------------------------------------------


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
    assert published(foot="<footer><span class='date'>25/02/2026</span></footer>") == ("25/02 00:00", "guess")


def test_a_bare_day_takes_the_time_of_day_of_the_same_day_only() -> None:
    day = '<meta name="dcterms.issued" content="2026-02-26">'
    assert published(day, byline=TEXT) == ("26/02 14:30", "text")
    assert published(day, byline=TEXT.replace("26/02", "27/02")) == ("26/02 00:00", "meta")


def test_a_number_is_seconds_since_1970() -> None:
    head = '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":1772370000}</script>'
    assert published(head) == ("01/03 10:00", "json_ld")


# --- future and rendered times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", ["2026-03-05T10:00:00-03:00", "2026-03-04T13:01:00Z", "2099-01-01"])
def test_a_future_time_is_ignored(ahead: str) -> None:
    assert published(META.replace("2026-02-28T10:00:00-03:00", ahead), byline=TEXT) == ("26/02 14:30", "text")


def test_a_future_time_is_a_guess_where_there_is_no_other() -> None:
    assert published(META.replace("02-28", "03-09")) == ("09/03 10:00", "guess")


def test_a_time_within_the_next_hour_is_accepted() -> None:
    assert published(META.replace("2026-02-28T10:00:00-03:00", "2026-03-04T12:59:00Z")) == ("04/03 09:59", "meta")


def test_a_templates_time_of_rendering_is_ignored() -> None:
    rendered = '<meta name="date" content="2026-03-04T12:00:31Z">'
    assert published(rendered, byline=TEXT) == ("26/02 14:30", "text")
    assert published(rendered)[1] == "guess"


def test_an_article_published_this_minute_is_dated() -> None:
    assert published(META.replace("2026-02-28T10:00:00-03:00", "2026-03-04T12:00:00Z")) == ("04/03 09:00", "meta")


def test_a_future_day_in_the_url_is_ignored() -> None:
    assert published(url=DATED_URL.replace("02/24", "12/24"))[1] != "url"


# --- words of publication and update ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "byline",
    [
        "<p>Publicado em 26/02/2026 14h30</p>",
        "<div>Por Ana Lima | Publicada em 26/02/2026, às 14:30</div>",
        "<dl><dt>Publicado:</dt><dd>26/02/2026 às 14:30</dd></dl>",
        "<p>Criado em 26 de fevereiro de 2026, 14h30</p>",
        "<ul><li>Postado em 26/fev/2026 14h30min</li></ul>",
        "<p>Published on February 26, 2026 2:30 pm</p>",
        "<p>PUBLISHED: 14:30, 26 February 2026</p>",
        "<p>Data de publicação: 26/02/2026 14h30</p>",
        "<p>Publicado el 26 de febrero de 2026 a las 14:30</p>",
        "<p>Publié le 26 février 2026 à 14h30, modifié le 27 février 2026 à 9h00</p>",
        "<p>Veröffentlicht am 26.02.2026, 14.30 Uhr</p>",
        "<p>Pubblicato il 26 febbraio 2026 alle 14:30</p>",
        "<p>Atualizado em 27/02/2026 9h - Publicado em 26/02/2026 14h30</p>",
        "<p>Publicado <time datetime='2026-02-26T14:30:00-03:00'>há 6 dias</time></p>",
        "<p>26/02/2026 14h30</p>",
        "<p>Brasília, 26/02/2026 - 14h30 | Atualizado há 3 dias</p>",
        "Publicado em 26/02/2026 14h30",
    ],
)
def test_a_byline_dates_the_page(byline: str) -> None:
    assert published(byline=byline) == ("26/02 14:30", "text")


def test_a_date_above_the_headline_dates_the_page() -> None:
    assert published(above="<p>Publicado em 26/02/2026 14h30</p>") == ("26/02 14:30", "text")


def test_the_byline_precedes_the_foot() -> None:
    foot = "<div>Publicado em 20/02/2026 10h00</div>"
    assert published(byline=TEXT, foot=foot) == ("26/02 14:30", "text")
    assert published(foot=foot) == ("20/02 10:00", "text")


@pytest.mark.parametrize(
    "foot",
    [
        "<div>Publicado em 20/02/2026 10h00</div><div>Publicado em 21/02/2026 10h00</div>",
        "<aside>Publicado em 20/02/2026 10h00</aside>",
        "<div class='related'>Publicado em 20/02/2026 10h00</div>",
        "<div id='comments'>Publicado em 20/02/2026 10h00</div>",
        "<p>O edital foi publicado em 20/02/2026 10h00</p>",
        "<p>Copyright 2026</p>",
    ],
    ids=["list", "aside", "related", "comments", "sentence", "copyright"],
)
def test_unrelated_dates_are_ignored(foot: str) -> None:
    assert published(foot=foot)[1] in ("guess", None)


@pytest.mark.parametrize("byline", ["<p>Inscrições vão até 20/02/2026</p>", "<p>Atualizado em 20/02/2026 9h</p>"])
def test_dates_of_other_events_near_the_headline_are_ignored(byline: str) -> None:
    assert published(byline=byline)[1] in ("guess", None)


@pytest.mark.parametrize(
    "byline",
    [
        "<p>Publicado em 26/02/2026 14h30 - Atualizado em 27/02/2026 9h12</p>",
        "<p>Última modificação: 27/02/2026 9h12</p>",
        "<p>Última atualização em 27/02/2026 às 9h12</p>",
        "<p>Last updated February 27, 2026 9:12 AM</p>",
        "<p>Mis à jour le 27 février 2026 à 9h12</p>",
        "<p>Aktualisiert am 27.02.2026 um 9:12 Uhr</p>",
        "<p>Updated <time datetime='2026-02-27T09:12:00-03:00'>today</time></p>",
    ],
)
def test_a_byline_dates_the_update(byline: str) -> None:
    assert updated(byline=byline) == "27/02 09:12"


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
def test_every_time_has_an_origin_and_only_guesses_are_in_the_future(parts: list[str]) -> None:
    found = read_metadata(fromstring("<html><body><p>a</p>" + "".join(parts)), URL, ZONE, FETCHED)
    assert (found.published_at is None) == (found.published_origin is None)
    assert (
        not found.published_at
        or found.published_at <= FETCHED + timedelta(hours=1)
        or found.published_origin == "guess"
    )
