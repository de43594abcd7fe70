"""Selectors that are proposed for a listing page: what they have to find."""

from dataclasses import replace

import pytest

from news_assets.records.desks import Selectors
from news_assets.records.reading import Listing
from news_assets.sources.html_listing_kinds import parse_selected
from news_assets.sources.selector_proposal import propose
from news_assets_tests.sources.page_builders import html, page_of, source_of

URL = "https://prefeitura.example/noticias"
MENU = "".join(
    f'<li class="item"><a href="/menu/{n}">Secretaria de Assuntos {n}</a></li>'
    for n in range(20)
)
FRAME = (
    f"<nav><ul>{MENU}</ul></nav>",
    "<footer><a href=/contato>Fale com a prefeitura agora</a></footer>",
)


def card(number: int) -> str:
    return (
        f'<article class="card post-{number}123"><a href="/img/{number}"><img></a>'
        f'<h3 class="head"><a href="/noticias/{number}">Câmara vota o projeto {number}</a></h3>'
        f'<span class="when">0{number}/09/2026 14h30</span><span class="tag">Cidade 2</span>'
        f"<p>O plenário da câmara votou nesta terça-feira o projeto número {number}.</p></article>"
    )


def row(number: int) -> str:
    link = f'<a href="/atos/{number}">Portaria municipal número {number}</a>'
    return f"<tr><td>0{number}/09/2026</td><td>{link}</td></tr>"


NEXT = '<a rel="next" href="?page=2">Próximo</a>'
CARDS = f'<main><div class="list">{"".join(map(card, range(1, 6)))}</div>{NEXT}</main>'
ROWS = f'<table id="atos"><tbody>{"".join(map(row, range(1, 6)))}</tbody></table>'
WRAPPED = "".join(
    f'<a class="box" href="/n/{n}"><h2>Feira de livros no bairro {n}</h2><time datetime="2026-09-0{n}">ontem</time></a>'
    for n in range(1, 6)
)


def proposed(body: str) -> tuple[Selectors | None, Listing]:
    page = page_of(html(FRAME[0] + body + FRAME[1]), URL)
    selectors = propose(page, "America/Sao_Paulo")
    source = replace(source_of("html_listing", URL), selectors=selectors)
    return selectors, parse_selected(page, source) if selectors else Listing(entries=())


@pytest.mark.parametrize(
    ("body", "stem"), [(CARDS, "/noticias/"), (ROWS, "/atos/"), (WRAPPED, "/n/")]
)
def test_the_proposal_finds_each_headline_with_its_link_and_date(
    body: str, stem: str
) -> None:
    _, listing = proposed(body)
    assert [entry.url for entry in listing.entries] == [
        f"https://prefeitura.example{stem}{n}" for n in range(5, 0, -1)
    ]
    assert [
        entry.published_at.day for entry in listing.entries if entry.published_at
    ] == [5, 4, 3, 2, 1]
    assert all(
        entry.title and entry.title.endswith(entry.url[-1]) for entry in listing.entries
    )


def test_the_proposal_names_the_classes_that_items_share() -> None:
    selectors, listing = proposed(CARDS)
    assert selectors == Selectors(
        item="article.card",
        title="h3 a",
        date="span.when",
        summary="p",
        next="a[rel~=next]",
    )
    assert listing.next_urls == (f"{URL}?page=2",)


@pytest.mark.parametrize("body", ["", "<p>Nenhuma notícia</p>", card(1) + card(2)])
def test_a_page_without_repeated_headlines_gives_no_proposal(body: str) -> None:
    assert proposed(body)[0] is None
