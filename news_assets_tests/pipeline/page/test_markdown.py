from news_assets.pipeline.page.extract import extract
from news_assets_tests.pipeline.page.samples import FIRST, SECOND, ZONE, html, page


def test_headings_lists_quotes_and_tables_stay_as_markdown() -> None:
    body = (
        f"<article><h1>Título da notícia de hoje</h1><p>{FIRST}</p><h2>Como será</h2>"
        f"<ul><li>Primeira parcela em março deste ano</li><li>Segunda parcela em agosto deste ano</li></ul>"
        f"<blockquote><p>Vamos construir dez escolas até dezembro, disse a ministra.</p></blockquote>"
        f"<table><tr><th>Estado</th><th>Escolas</th></tr><tr><td>Ceará</td><td>4</td></tr></table>"
        f"<p>{SECOND}</p></article>"
    )
    text = extract(page(html(body)), ZONE).text or ""
    assert (
        "## Como será\n\n- Primeira parcela em março deste ano\n- Segunda parcela em agosto deste ano"
        in text
    )
    assert "> Vamos construir dez escolas até dezembro, disse a ministra." in text
    assert "| Estado | Escolas |\n| --- | --- |\n| Ceará | 4 |" in text
