"""Platforms and walls recognised by one pattern each; no article is taken for a wall."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.sources import platforms
from news_assets.sources.platforms import Platform, found_instead, platform_of
from news_assets_tests.sources.page_builders import INSTEAD, html, page_of

URL = "https://example.org/noticias"
CORPUS = Path(__file__).parents[2] / "../shared/corpus"
PROSE = "<p>O ministro falou de captcha e de login: “Just a moment...”.</p>" * 40


def platform(body: str | bytes, url: str = URL) -> Platform | None:
    return platform_of(page_of(body, url))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            html("x", attributes='class="template-listing_view portaltype-collection"'),
            platforms.PLONE,
        ),
        (html('<img src="/++plone++static/logo.png">'), platforms.PLONE),
        (
            html(
                "x", head='<meta name="generator" content="Plone - https://plone.org/">'
            ),
            platforms.PLONE,
        ),
        (
            html(
                "x",
                head='<meta name="generator" content="Plone 6 - https://plone.org">',
            ),
            platforms.PLONE_6,
        ),
        (
            html("x", attributes='class="view-viewview contenttype-folder"'),
            platforms.PLONE_6,
        ),
        (
            html(
                '<script>window.env = {\'a\': 1, "apiPath": "https://example.org"};</script>'
            ),
            platforms.PLONE_6,
        ),
        (
            html("x", head='<link rel="https://api.w.org/" href="/wp-json/">'),
            platforms.WORDPRESS,
        ),
        (
            html(
                "x",
                head='<meta name="Generator" content="Drupal 10 (https://www.drupal.org)">',
            ),
            platforms.DRUPAL,
        ),
        (html('<img src="/sites/default/files/a.jpg">'), platforms.DRUPAL),
        (
            html(
                '<div class="ultima-noticia"></div><img src="/sites/default/files/a.jpg">'
            ),
            platforms.EBC,
        ),
        (
            html(
                '<div class="feed-post bstn-item"><a class="feed-post-link gui">x</a></div>'
            ),
            Platform(name="G1", kind="g1"),
        ),
        (
            "\ufeff<?xml version='1.0'?>\n<!-- a -->\n<feed xmlns='http://www.w3.org/2005/Atom'/>",
            Platform(name="an Atom feed", kind="feed"),
        ),
        ("<rdf:RDF/>", Platform(name="an RSS feed", kind="feed")),
        ("<sitemapindex/>", Platform(name="a sitemap", kind="sitemap")),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "items": []}',
            Platform(name="a JSON feed", kind="json_feed"),
        ),
        (
            '{"@id": "https://example.org/@search", "items": [], "items_total": 0}',
            platforms.PLONE_6,
        ),
        ('[{"id": 1, "title": {"rendered": "Um"}}]', platforms.WORDPRESS),
        ('{"code": "rest_no_route", "message": "x"}', platforms.WORDPRESS),
        (html("<p>Uma página como qualquer outra.</p>"), None),
        ("{", None),
        ("", None),
    ],
)
def test_one_pattern_names_the_platform(body: str, expected: Platform | None) -> None:
    assert platform(body) == expected


@pytest.mark.parametrize(
    ("mark", "guard"),
    [
        ('<script src="https://x.captcha-delivery.com/c.js"></script>', "DataDome"),
        ('<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>', "Imperva"),
        (
            '<script src="https://abc.token.awswaf.com/challenge.js"></script>',
            "AWS WAF",
        ),
        ('<script src="/.within.website/x/cmd/anubis/main.mjs"></script>', "Anubis"),
        (
            "<p>The requested URL was rejected. Please consult with your administrator.</p>",
            "F5",
        ),
        (
            '<form><div class="g-recaptcha"></div><p>Não sou um robô</p></form>',
            "a captcha",
        ),
    ],
)
def test_a_wall_names_its_protection_and_prose_about_it_is_not_a_wall(
    mark: str, guard: str
) -> None:
    assert platform(html(mark)) == Platform(
        name=f"an anti-bot page ({guard})", is_wall=True
    )
    assert platform(html(mark + PROSE)) is None


def test_a_log_in_page_has_a_password_field_a_log_in_address_or_link() -> None:
    field = html('<form><input type="Password"></form>')
    forward = html(
        '<a href="/acl_users/credentials_cookie_auth/require_login?came_from=/mec">continuar</a>'
    )
    assert platform(field) == Platform(name="a log-in page", is_wall=True)
    assert platform(forward) == Platform(name="a log-in page", is_wall=True)
    assert platform(
        html("<p>x</p>", title="Acesso restrito"), f"{URL}/login_form?a=1"
    ) == Platform(name="a log-in page", is_wall=True)
    assert platform(html(f"{PROSE}<form><input type=password></form>")) is None


def test_a_page_that_only_starts_a_script_is_a_shell() -> None:
    assert platform(
        html('<div id="app"></div><script src="/a.js"></script>')
    ) == Platform(name="an empty page that needs JavaScript", is_wall=True)
    plea = "<noscript>Ative o JavaScript para ver esta página.</noscript><script src='/a.js'></script>"
    assert platform(html(plea)) == Platform(
        name="an empty page that needs JavaScript", is_wall=True
    )
    assert (
        platform(html(f"<div id=app>{PROSE}</div><script src='/a.js'></script>"))
        is None
    )


@pytest.mark.parametrize(("body", "reason"), INSTEAD)
def test_a_reason_names_the_page(body: str | bytes, reason: str) -> None:
    assert reason in found_instead(page_of(body, URL))


def test_the_kind_that_failed_is_not_recommended_again() -> None:
    plone = page_of(html("x", attributes='class="portaltype-folder"'), URL)
    assert (
        found_instead(plone, "plone_listing")
        == 'looks like Plone, in an unknown form, titled "Notícias"'
    )


@given(
    st.binary(max_size=400),
    st.sampled_from(
        [
            b"",
            b"{",
            b"[[[",
            b"<html>",
            b"<!DOCTYPE html><body class='",
            b"<?xml",
            b"<!--",
            b"\xff\xfe<\0",
        ]
    ),
)
def test_any_bytes_give_a_platform_or_none(noise: bytes, start: bytes) -> None:
    page = page_of(start + noise, URL)
    assert platform_of(page) == platform_of(page)
    assert found_instead(page)


@pytest.mark.skipif(not CORPUS.exists(), reason="no corpus beside the repository")
def test_no_real_article_is_taken_for_a_wall() -> None:
    pages = sorted(CORPUS.glob("article_[pn]*/dev/html/*.html.gz"))
    found = {path.name: platform(gzip.decompress(path.read_bytes())) for path in pages}
    assert len(found) > 50
    assert {
        name for name, it in found.items() if it is not None and it.is_wall
    } == set()


def test_deeply_nested_json_is_not_a_platform() -> None:
    assert platform("[" * 100_000) is None
    assert platform(json.dumps({"version": 7})) is None
