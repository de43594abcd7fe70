from dataclasses import replace

import pytest

from news_assets.pipeline.page.extract import extract
from news_assets.records.reading import ExtractedArticle, Page
from news_assets_tests.pipeline.page.samples import BODY, ZONE, html, page


def refusal(found: Page) -> tuple[str, str | None]:
    article = extract(found, ZONE, "pt-BR")
    assert article.text is None
    return article.outcome, article.reason


def test_two_sentences_in_an_article_element_are_an_article() -> None:
    note = "O ministério lamenta a morte do professor João. O velório é hoje."
    body = f"<article><h1>Nota de pesar</h1><p>{note}</p></article>"
    assert extract(page(html(body)), ZONE).outcome == "ok"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (page(b"just words"), ("failed", "not HTML: no element in it")),
        (page(html("<h1>404</h1><p>Oops</p>", "<title>Página não encontrada</title>")),
         ("failed", "error page: Página não encontrada")),
        (page(html("<p>Checking</p>", "<title>Just a moment...</title>")),
         ("blocked", "challenge page: Just a moment...")),
        (page(html("<p>Aceite os cookies.</p>", "<title>Antes de continuar</title>")),
         ("blocked", "consent page: Antes de continuar")),
        (page(html("<form><input type=password></form>", "<title>Entrar — Portal</title>")),
         ("blocked", "log-in page: Entrar — Portal")),
        (page(html("", '<meta http-equiv="refresh" content="0; url=/outra">')), ("failed", "only redirects to /outra")),
        (page(html("<p>Menu</p>")), ("failed", "too little text: 4 characters")),
        (page(html(BODY), final_url="https://www.example.org/"), ("failed", "redirected to the home page")),
    ],
)  # fmt: skip
def test_a_page_without_an_article_has_a_reason(
    found: Page, expected: tuple[str, str]
) -> None:
    assert refusal(found) == expected


def test_an_article_about_a_missing_page_is_an_article() -> None:
    body = BODY.replace(
        "Escolas técnicas recebem R$ 10 milhões",
        "Página não encontrada: o erro que parou o país",
    )
    head = '<meta property="og:type" content="article">'
    assert extract(page(html(body, head)), ZONE).outcome == "ok"


# --- test index pages ---

SITE = "https://www.example.org"
MENU = "".join(f'<li><a href="/editoria-{n}">Editoria {n}</a></li>' for n in range(30))
TEASER = "Comissão ouviu moradores e técnicos antes de publicar o relatório com prazos, valores e nomes das empresas."
SENTENCE = "O secretário disse que a obra da rua {n} começa em {n} dias e custa {n} mil reais, pagos pela prefeitura. "
PROSE = "".join(f"<p>{(SENTENCE * 3).format(n=n)}</p>" for n in range(1, 13))


def cards(count: int) -> str:
    return "".join(
        f'<div class="card"><h3><a href="/noticias/obra-da-rua-{n}">Obra da rua {n} começa na semana que vem</a></h3>'
        f"<p>{TEASER}</p></div>"
        for n in range(count)
    )


def read(path: str, title: str, main: str, head: str = "") -> ExtractedArticle:
    body = f"<nav><ul>{MENU}</ul></nav><main><h1>{title}</h1>{main}</main>"
    found = page(html(body, f"<title>{title}</title>{head}"), final_url=f"{SITE}{path}")
    return extract(replace(found, url=found.final_url), ZONE)


@pytest.mark.parametrize(
    ("path", "title", "main"),
    [
        ("/noticias", "Notícias", cards(20)),
        ("/tag/obras", "Obras", cards(20) + '<a href="/tag/obras?page=2">Próxima</a>'),
        ("/busca?q=rua", "Resultado da busca por rua", "<p>Ordenar por</p>" + cards(20)),
        ("/loja/canecas", "Canecas", "".join(f"<li><a href='/caneca-{n}'>Caneca azul {n}</a> <b>R$ {n},90</b></li>"
                                             for n in range(30))),
        ("/", "Jornal da Cidade", cards(30)),
    ],
    ids=["section", "tag", "search", "shop", "home"],
)  # fmt: skip
def test_an_index_page_is_refused(path: str, title: str, main: str) -> None:
    article = read(path, title, main)
    assert (article.outcome, article.text) == ("skipped", None)
    assert "page, no article" in (article.reason or "")


STATED = '<script type="application/ld+json">{"@type":"%s","headline":"Obras","datePublished":"2026-03-02"}</script>'
LIVE = "".join(
    f"<article><h2>{n}h00 Nova atualização</h2>{(SENTENCE * 2).format(n=n)}</article>"
    for n in range(8, 20)
)
ITEMS = "".join(
    f'<h3><a href="/parque-{n}">{n}. Parque {n}</a></h3><p>{(SENTENCE * 3).format(n=n)}</p>'
    for n in range(1, 11)
)


@pytest.mark.parametrize(
    ("path", "title", "main", "head"),
    [
        ("/noticias/obras", "Obras começam", PROSE, ""),
        (
            "/noticias/escolas-tecnicas-recebem-verba",
            "Escolas técnicas recebem verba",
            BODY + cards(12),
            "",
        ),
        ("/noticias/nota", "Nota de pesar", BODY, STATED % "NewsArticle"),
        ("/ao-vivo", "Ao vivo: chuvas", LIVE, STATED % "LiveBlogPosting"),
        (
            "/guia/dez-parques-para-visitar",
            "Dez parques para visitar no verão",
            ITEMS,
            "",
        ),
        (
            "/loja/guia-de-canecas-de-2026",
            "Guia de canecas de 2026",
            PROSE + "<b>R$ 9,90</b>" * 8,
            "",
        ),
    ],
    ids=[
        "short title and address",
        "related list",
        "short note",
        "live blog",
        "list article",
        "prices",
    ],
)
def test_an_article_with_some_signs_of_an_index_page_is_kept(
    path: str, title: str, main: str, head: str
) -> None:
    assert read(path, title, main, head).outcome == "ok"


def test_words_after_a_day_in_the_address_make_an_article() -> None:
    assert read("/2026/03/02/obras/", "Obras", cards(20)).outcome == "ok"
    assert read("/2026/03/02/", "Obras", cards(20)).outcome == "skipped"


def test_a_short_notice_on_a_page_with_few_links_is_kept() -> None:
    assert extract(page(html(BODY), final_url=f"{SITE}/nota"), ZONE).outcome == "ok"


JAPANESE = "市は新しい橋の工事を三月に始めると発表し、費用は二億円になる見込みで、住民への説明会を来週開くという。"


def test_a_japanese_article_is_kept() -> None:
    body = f"<nav><ul>{MENU}</ul></nav><main><h1>新しい橋の工事が始まる</h1><p>{JAPANESE}</p><p>{JAPANESE}</p></main>"
    found = page(
        html(body, "<title>新しい橋の工事が始まる</title>"), final_url=f"{SITE}/n/7"
    )
    assert extract(found, ZONE).outcome == "ok"


def test_a_home_page_with_cards_that_are_articles_is_refused() -> None:
    stories = (
        cards(30)
        .replace('<div class="card">', "<article>")
        .replace("</div>", "</article>")
    )
    assert read("/", "Jornal da Cidade", stories).outcome == "skipped"


@pytest.mark.parametrize(("listed", "outcome"), [(None, "skipped"), ("Obras", "ok")])
def test_an_address_that_a_listing_names_needs_more_signs(
    listed: str | None, outcome: str
) -> None:
    body = f"<nav><ul>{MENU}</ul></nav><main><h1>Obras do ano</h1>{cards(20)}</main>"
    found = page(
        html(body, "<title>Obras do ano</title>"),
        final_url=f"{SITE}/obras-do-ano-de-2026",
    )
    assert extract(replace(found, listed_title=listed), ZONE).outcome == outcome
