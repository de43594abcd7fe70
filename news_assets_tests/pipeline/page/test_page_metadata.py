from datetime import UTC, datetime

import pytest
from lxml.html import document_fromstring

from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.page_metadata import authors_of
from news_assets_tests.pipeline.page.samples import BODY, ZONE, html, page


def test_a_plone_byline_is_read_in_the_agencys_timezone() -> None:
    byline = (
        '<span class="documentPublished"><span>publicado</span> <span class="value">27/02/2026 22h30</span></span>'
        '<span class="documentModified">última modificação <span class="value">28/02/2026 09h12</span></span>'
        '<div class="documentDescription">Obras começam em março em três estados</div>'
    )
    article = extract(page(html(byline + BODY)), ZONE)
    assert (article.published_at, article.updated_at, article.subtitle) == (
        datetime(2026, 2, 28, 1, 30, tzinfo=UTC),
        datetime(2026, 2, 28, 12, 12, tzinfo=UTC),
        "Obras começam em março em três estados",
    )


def test_a_paywall_is_noted() -> None:
    linked = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":"False"}</script>'
    article = extract(page(html(BODY, linked)), ZONE)
    assert (article.outcome, article.reason) == (
        "ok",
        "behind a paywall: the text may be its beginning",
    )


def title_of(head: str, heading: str) -> str | None:
    return extract(
        page(
            html(
                BODY.replace(
                    "<h1>Escolas técnicas recebem R$ 10 milhões</h1>", heading
                ),
                head,
            )
        ),
        ZONE,
    ).title


def test_the_name_of_the_site_in_a_heading_is_not_the_title() -> None:
    head = "<title>Escolas técnicas recebem verba | Jornal da Cidade</title>"
    heading = "<h1>Jornal da Cidade</h1><h1>Escolas técnicas recebem verba</h1>"
    assert title_of(head, heading) == "Escolas técnicas recebem verba"


def test_a_heading_worded_unlike_the_head_is_the_title() -> None:
    head = "<title>Verba para escolas técnicas chega em março</title>"
    heading = "<h1>Nordeste terá dez novas escolas técnicas</h1>"
    assert title_of(head, heading) == "Nordeste terá dez novas escolas técnicas"


def test_an_update_without_a_time_of_publication_is_a_guess() -> None:
    head = '<meta property="article:modified_time" content="2026-03-02T10:00:00Z">'
    article = extract(page(html(BODY, head)), ZONE)
    assert (article.published_at, article.published_origin) == (
        datetime(2026, 3, 2, 10, tzinfo=UTC),
        "guess",
    )


def test_a_date_in_a_small_heading_is_read() -> None:
    body = BODY.replace("</h1>", "</h1><h5>2 de março de 2026</h5>")
    article = extract(page(html(body)), ZONE)
    assert (article.published_at, article.published_origin) == (
        datetime(2026, 3, 2, 3, tzinfo=UTC),
        "text",
    )


@pytest.mark.parametrize(
    "heading",
    [
        "Escolas técnicas recebem verba | Notícias",  # a part of the address
        # the section and the site
        "Escolas técnicas recebem verba – Economia – Jornal da Cidade",
        # the site's name without its last word
        "Escolas técnicas recebem verba | Jornal da",
        "<span>Economia</span> Escolas técnicas recebem verba <span>Publicado em 3 de março</span>",
    ],
)
def test_the_title_has_no_names_of_sections_and_sites_and_no_other_parts_of_the_heading(
    heading: str,
) -> None:
    head = (
        '<meta property="og:title" content="Escolas técnicas recebem verba">'
        '<meta property="og:site_name" content="Jornal da Cidade"><meta property="article:section" content="Economia">'
    )
    assert title_of(head, f"<h1>{heading}</h1>") == "Escolas técnicas recebem verba"


@pytest.mark.parametrize(
    "title",
    ["Guerra e paz | Romance", "Notícias | Jornal", "Balanço do ano todo – 2026"],
)
def test_other_parts_of_a_title_are_kept(title: str) -> None:
    head = f'<meta property="og:title" content="{title}"><meta property="og:site_name" content="Jornal">'
    assert title_of(head, f"<h1>{title}</h1>") == title


def test_of_two_headings_like_the_title_the_one_in_the_address_is_chosen() -> None:
    headings = "<h1>Onde remar na serra</h1><h1>Melhores escolas técnicas</h1>"
    head = "<title>Onde estudar na nossa cidade: guia de escolas</title>"
    assert title_of(head, headings) == "Melhores escolas técnicas"


# --- test authors ---


def authors(body: str) -> tuple[str, ...]:
    return authors_of(document_fromstring(f"<html><body>{body}</body></html>"), {}, {})


@pytest.mark.parametrize(
    "byline",
    [
        '<p class="byline">By Ana Lima</p>',
        '<div class="post-author"><span>Written by</span><a href="/a">Ana Lima</a> <span>3 March 2026</span></div>',
        '<a rel="author" href="/ana">Ana Lima</a>',
        '<span itemprop="author">Por Ana Lima</span>',
        '<div class="autor"><style>.a {font: "Open Sans"}</style>Ana Lima</div>',
    ],
)
def test_a_byline_names_the_author(byline: str) -> None:
    assert authors(byline) == ("Ana Lima",)


@pytest.mark.parametrize(
    "marked",
    [
        '<ul class="comments"><li><span class="comment-author">Ana Lima</span></li></ul>',
        '<div class="related"><p class="byline">By Ana Lima</p></div>',
        '<p class="author">About the author</p>',
        '<p class="byline">Published on 3 March 2026</p>',
        '<p class="author">Subscribe</p>',
    ],
)
def test_no_author_is_found_in_comments_teasers_and_captions(marked: str) -> None:
    assert authors(marked) == ()


def test_stated_authors_precede_a_byline() -> None:
    tree = document_fromstring(
        '<html><body><p class="byline">By Ana Lima</p></body></html>'
    )

    assert authors_of(tree, {"author": {"name": "Rui Costa"}}, {}) == ("Rui Costa",)
