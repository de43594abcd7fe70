import pytest

from news_assets.pipeline.page.extract import extract
from news_assets_tests.pipeline.page.samples import BODY, URL, ZONE, html, page


@pytest.mark.parametrize(
    "canonical",
    [
        "https://www.example.org/",
        "https://other.example.com/noticias/escolas",
        "mailto:a@b",
        "http://[",
    ],
)
def test_a_canonical_url_of_another_site_or_the_home_page_is_ignored(
    canonical: str,
) -> None:
    assert (
        extract(
            page(html(BODY, f'<link rel="canonical" href="{canonical}">')), ZONE
        ).canonical_url
        == URL
    )
