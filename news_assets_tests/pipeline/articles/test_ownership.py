import pytest

from news_assets.pipeline.articles.ownership import Owners
from news_assets.records.desks import Agency, Source
from news_assets.text.urls import site_of


def agency(
    key: str, *urls: str, hosts: tuple[str, ...] = ()
) -> tuple[tuple[str, str], Agency]:
    sources = tuple(
        Source(
            source_id=url,
            desk="d",
            agency=key,
            kind="feed",
            url=url,
            timezone="UTC",
            language="pt",
        )
        for url in urls
    )
    return ("d", key), Agency(
        key=key, name=key, timezone="UTC", language="pt", sources=sources, hosts=hosts
    )


OWNERS = Owners(
    [
        agency("paper", "https://paper.example.org/feed.xml"),
        agency(
            "city", "https://www.city.gov.br/rss", hosts=("news-of-city.example.com",)
        ),
        agency("mec", "https://www.gov.br/mec/pt-br/assuntos/noticias"),
        agency("saude", "https://www.gov.br/saude/pt-br/assuntos/noticias"),
        agency("ac", "https://g1.example.com/rss/g1/ac/acre/"),
        agency("sp", "https://g1.example.com/rss/g1/sp/"),
        agency("blog", "https://blog.wordpress.com/feed/"),
        agency("one", "http://127.0.0.1:9001/one.xml"),
        agency("two", "http://127.0.0.1:9001/two.xml"),
        agency("far", "http://127.0.0.1:9002/feed.xml"),
        agency("root", "https://shared.example.net/feed"),
        agency("part", "https://shared.example.net/part/feed"),
    ]
)


@pytest.mark.parametrize(
    ("key", "url", "owner"),
    [
        ("paper", "https://www.example.org/2026/1", "own"),
        ("city", "https://www.example.org/2026/1", "other"),
        ("city", "https://m.city.gov.br/n/1", "own"),
        ("city", "https://news-of-city.example.com/n/1", "own"),
        ("paper", "https://nobody.example.net.br/1", "nobody"),
        ("mec", "https://www.gov.br/mec/pt-br/noticias/saude/1", "own"),
        ("saude", "https://www.gov.br/mec/pt-br/noticias/saude/1", "other"),
        ("ac", "https://g1.example.com/ac/acre/noticia/1.ghtml", "own"),
        ("sp", "https://g1.example.com/ac/acre/noticia/1.ghtml", "other"),
        ("sp", "https://g1.example.com/economia/noticia/1.ghtml", "shared"),
        ("blog", "https://blog.wordpress.com/2026/1", "own"),
        ("blog", "https://victim.wordpress.com/2026/1", "nobody"),
        ("one", "http://127.0.0.1:9001/one/1.html", "own"),
        ("two", "http://127.0.0.1:9001/one/1.html", "other"),
        ("two", "http://127.0.0.1:9001/articles/1.html", "shared"),
        ("far", "http://127.0.0.1:9001/articles/1.html", "other"),
        ("root", "https://shared.example.net/2026/1", "own"),
        ("part", "https://shared.example.net/part/1", "own"),
        ("root", "https://shared.example.net/part/1", "other"),
        ("paper", "not an address", "nobody"),
        ("paper", "http://[::1", "nobody"),
    ],
)
def test_an_address_belongs_to_the_agency_whose_site_it_is_on(
    key: str, url: str, owner: str
) -> None:
    assert OWNERS.owner("d", key, url) == owner


def test_of_several_addresses_of_one_article_the_weakest_counts() -> None:
    assert (
        OWNERS.owner(
            "d", "city", "https://www.city.gov.br/1", "https://paper.example.org/1"
        )
        == "other"
    )


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://news.paper.example/1", "paper.example"),
        ("https://a.sp.gov.br/1", "a.sp.gov.br"),
        ("https://sp.gov.br/1", "sp.gov.br"),
        ("https://me.wordpress.com/1", "me.wordpress.com"),
        ("http://127.0.0.1:8000/1", "127.0.0.1"),
        ("http://[::1]:8000/1", "::1"),
        ("http://localhost/1", "localhost"),
        ("mailto:me@example.org", ""),
    ],
)
def test_a_site_is_what_one_publisher_holds(url: str, site: str) -> None:
    assert site_of(url) == site
