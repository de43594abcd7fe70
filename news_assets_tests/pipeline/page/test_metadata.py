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
