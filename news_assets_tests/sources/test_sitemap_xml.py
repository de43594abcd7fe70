import pytest

from news_assets.sources.sitemap_xml import Child, in_order


def test_children_without_a_time_stay_in_their_order() -> None:
    assert in_order(
        [
            Child("https://e.org/b.xml"),
            Child("https://e.org/a.xml"),
            Child("https://e.org/b.xml"),
        ]
    ) == (
        "https://e.org/b.xml",
        "https://e.org/a.xml",
    )


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("2026/11/21_1.xml", "2026/11/20_1.xml"),
        ("sitemap.xml?yyyy=2026&mm=11&dd=03", "sitemap.xml?yyyy=2026&mm=9&dd=30"),
        ("posts-2026.xml", "posts-2025-12.xml"),
        ("sitemap_20261103.xml", "sitemap_202610.xml"),
        ("news-2019.xml", "sitemap-2026.xml"),
        ("post-sitemap3.xml", "category-sitemap.xml"),
        ("wp-sitemap-posts-post-1.xml", "wp-sitemap-taxonomies-category-1.xml"),
        ("wp-sitemap-posts-post-1.xml", "wp-sitemap-posts-page-1.xml"),
        ("sitemap.xml?page=2", "page-sitemap.xml"),
    ],
)
def test_the_name_of_a_child_decides_its_order(later: str, earlier: str) -> None:
    children = [Child(f"https://example.org/{name}") for name in (earlier, later)]
    assert in_order(children) == (
        f"https://example.org/{later}",
        f"https://example.org/{earlier}",
    )
