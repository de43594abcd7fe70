"""Pages as news sites and gov.br's Plone serve them, written for these tests."""

from datetime import UTC, datetime

from news_assets.records.reading import Page

URL = "https://www.example.org/noticias/2026/escolas"
ZONE = "America/Sao_Paulo"
FIRST = (
    "O ministério anunciou nesta terça-feira um investimento de R$ 10 milhões em escolas técnicas de três estados do "
    "Nordeste, com início das obras previsto para março."
)
SECOND = (
    "Segundo a pasta, o valor será repassado em duas parcelas e fiscalizado pelos tribunais de contas, com prestação "
    'de contas mensal publicada no <a href="https://transparencia.example.net/contas">portal da transparência</a>.'
)
BODY = f"<article><h1>Escolas técnicas recebem R$ 10 milhões</h1><p>{FIRST}</p><p>{SECOND}</p></article>"


def page(body: str | bytes, *, final_url: str = URL) -> Page:
    content = body.encode() if isinstance(body, str) else body
    return Page(
        url=URL,
        final_url=final_url,
        status=200,
        body=content,
        content_type="text/html",
        fetched_at=datetime(2026, 3, 4, tzinfo=UTC),
    )


def html(body: str, head: str = "") -> str:
    return f'<!doctype html><html lang="pt-br"><head><meta charset="utf-8">{head}</head><body>{body}</body></html>'
