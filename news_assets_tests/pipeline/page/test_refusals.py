import pytest

from news_assets.pipeline.page.extract import extract
from news_assets.records.reading import Page
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
