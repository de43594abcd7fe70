import pytest

from news_assets.sources.platforms import protection_of_page, protection_of_refusal


@pytest.mark.parametrize(
    ("body", "of_page", "of_refusal"),
    [
        (b"<title>just a moment...</title>", "Cloudflare", "Cloudflare"),
        (b"<p>just a moment...</p>", None, "Cloudflare"),
        (
            b'<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js">',
            None,
            "Cloudflare",
        ),
        (b"<p>ddos-guard</p>", None, "DDoS-Guard"),
        (b"<title>ddos-guard</title>", "DDoS-Guard", "DDoS-Guard"),
        (b"_incapsula_resource", "Imperva", "Imperva"),
        (b'<div class="h-captcha">', "a captcha", "a captcha"),
        (
            b"the requested url was rejected. please consult with your administrator",
            "F5",
            "F5",
        ),
        (b"<h1>forbidden</h1>", None, None),
    ],
)
def test_a_refusal_is_matched_by_looser_patterns_than_a_page(
    body: bytes, of_page: str | None, of_refusal: str | None
) -> None:
    assert (protection_of_page(body), protection_of_refusal(body)) == (
        of_page,
        of_refusal,
    )
