from datetime import UTC, datetime

from news_assets.pipeline.page.extract import extract
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
    assert (article.outcome, article.reason) == ("ok", "behind a paywall: the text may be its beginning")


def title_of(head: str, heading: str) -> str | None:
    return extract(
        page(html(BODY.replace("<h1>Escolas técnicas recebem R$ 10 milhões</h1>", heading), head)), ZONE
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
    assert (article.published_at, article.published_origin) == (datetime(2026, 3, 2, 10, tzinfo=UTC), "guess")


def test_a_date_in_a_small_heading_is_read() -> None:
    body = BODY.replace("</h1>", "</h1><h5>2 de março de 2026</h5>")
    article = extract(page(html(body)), ZONE)
    assert (article.published_at, article.published_origin) == (datetime(2026, 3, 2, 3, tzinfo=UTC), "text")
