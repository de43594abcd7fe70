"""Images of articles: fetched by the server within the rules of fetching, and only if
that is switched on.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.records.articles import RawArticle
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web.archive import Archive
from news_assets.web.article_views import MAX_IMAGE_BYTES
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.support.small_desk import DESK
from news_assets_tests.web.conftest import served

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
IMAGES = {
    "ok": answer(PNG, content_type="image/png"),
    "svg": answer(
        b"<svg><script>alert(1)</script></svg>", content_type="image/svg+xml"
    ),
    "html": answer(b"<p>", content_type="text/html; charset=utf-8"),
    "large": answer(bytes(MAX_IMAGE_BYTES + 1), content_type="image/jpeg"),
    "gone": answer(status=410),
}


@pytest.fixture
def origin() -> Iterator[Site]:
    """The site that the images are of."""
    site = Site()
    site.answers |= {f"/{name}": [sent] for name, sent in IMAGES.items()}
    yield site
    site.close()


@pytest.fixture
def lake(origin: Site, tmp_path: Path) -> Iterator[Lake]:
    """A lake with an article for each image, and `none` without one."""
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as opened:
        urls = {name: f"{origin.url}/{name}" for name in IMAGES} | {"none": None}
        upsert(
            opened,
            [
                full(RawArticle, article_id=name, image_url=url)
                for name, url in urls.items()
            ],
        )
        yield opened


@pytest.fixture(params=[("127.0.0.1",)])
def pages(
    request: pytest.FixtureRequest, lake: Lake, tmp_path: Path
) -> Iterator[httpx.Client]:
    """A client of pages that fetch images, also from these private hosts."""
    options = {"user_agent": "test", "delay_s": 0.0, "state_dir": tmp_path / "hosts"}
    with (
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
        HttpFetcher(**options, allow_private_hosts=request.param) as fetcher,  # type: ignore[arg-type]
        served(
            Archive(Index(index, lambda: None, index.close), lake, [DESK], {}),
            fetcher=fetcher,
        ) as url,  # type: ignore[arg-type, return-value]
        httpx.Client(base_url=url) as client,
    ):
        yield client


def test_an_image_is_fetched_once_and_shown_from_the_same_server(
    pages: httpx.Client, origin: Site
) -> None:
    assert (
        '<img src="/articles/ok/image"'
        in pages.get("/articles/ok", headers={"Accept": "text/html"}).text
    )
    assert (
        "<img" not in pages.get("/articles/none", headers={"Accept": "text/html"}).text
    )

    answers = [pages.get("/articles/ok/image") for _ in range(2)]

    assert [
        (one.status_code, one.content, one.headers["content-type"]) for one in answers
    ] == [(200, PNG, "image/png")] * 2
    assert "sandbox" in answers[0].headers["content-security-policy"]
    assert origin.paths == ["/ok"]


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("svg", 502, "the image has the type image/svg+xml"),
        ("html", 502, "the image has the type text/html"),
        ("large", 502, "more than 5,000,000 bytes"),
        ("gone", 502, "gone"),
        ("none", 404, "no image of an article none"),
        ("unknown", 404, "no image of an article unknown"),
    ],
)
def test_what_is_no_image_is_not_passed_on(
    pages: httpx.Client, name: str, status: int, reason: str
) -> None:
    found = pages.get(f"/articles/{name}/image")
    assert (found.status_code, reason in found.text) == (status, True)


@pytest.mark.parametrize("pages", [()], indirect=True)
def test_a_private_address_is_not_asked(pages: httpx.Client, origin: Site) -> None:
    found = pages.get("/articles/ok/image")
    assert (found.status_code, "not a public address" in found.text) == (502, True)
    assert origin.every_request == []


@pytest.mark.slow  # starts the server
def test_without_the_setting_there_are_no_images(site: str) -> None:
    assert httpx.get(f"{site}/articles/a-1/image").status_code == 404
