import gzip

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets_tests.clients.web.conftest import Site, answer, failure_of, request


@pytest.mark.parametrize(
    ("status", "headers", "body", "reason"),
    [
        (403, {"cf-mitigated": "challenge"}, b"", "blocked: Cloudflare"),
        (503, {}, b"<title>Just a moment...</title>", "blocked: Cloudflare"),
        (
            403,
            {"content-encoding": "gzip"},
            gzip.compress(b'<div class="h-captcha">', mtime=0),
            "blocked: a captcha",
        ),
    ],
)
def test_a_bot_wall_is_named(
    site: Site,
    fetcher: HttpFetcher,
    status: int,
    headers: dict[str, str],
    body: bytes,
    reason: str,
) -> None:
    assert (
        failure_of(
            fetcher, request(site.put("/x", answer(body, status, **headers)))
        ).reason
        == reason
    )


def test_an_article_about_captchas_is_a_page(site: Site, fetcher: HttpFetcher) -> None:
    assert (
        fetcher.fetch(request(site.put("/x", answer(b"verify you are human")))).status
        == 200
    )
