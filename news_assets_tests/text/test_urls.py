from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from news_assets.text.urls import (
    canonical_url,
    host_of,
    is_same_site,
    resolve,
    url_hash,
    web_url,
)

PIECES = "http https : // / ? # & = % %2e .. . amp /amp .amp .html index.html ; a.com [ ] @ utm_source ref=rss é \\ \t * :80"
ADDRESSES = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES.split(" ")), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES.split(" ")), max_size=12).map(
        lambda pieces: "http://a.com/" + "".join(pieces)
    ),
)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        (
            "  HTTPS://User:pw@WWW.Example.COM:443/a/../b/./c//d#part ",
            "https://www.example.com/b/c/d",
        ),
        ("http://example.org", "http://example.org/"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://münchen.de/straße", "http://xn--mnchen-3ya.de/stra%C3%9Fe"),
        ("http://a.org/%7euser/caf%c3%a9", "http://a.org/~user/caf%C3%A9"),
        ("https://a.org/n?b=2&utm_source=x&a=1&fbclid=y", "https://a.org/n?a=1&b=2"),
        ("https://a.org/n?id=2&id=1", "https://a.org/n?id=2&id=1"),
        ("https://a.org/n?id=7&amp;utm_medium=rss", "https://a.org/n?id=7"),
        ("https://a.org/n;jsessionid=0A1B?PHPSESSID=3f", "https://a.org/n"),
        ("https://a.org/n?sid=0123456789abcdef0123", "https://a.org/n"),
        ("https://a.org/news/story/amp/", "https://a.org/news/story"),
        ("https://a.org/news/story.amp.html", "https://a.org/news/story.html"),
        ("https://a.org/news/story?amp=1", "https://a.org/news/story"),
        ("https://a-org.cdn.ampproject.org/c/s/a.org/story", "https://a.org/story"),
        (
            "https://www.google.com/url?q=https%3A%2F%2Fa.org%2Fn%3Fgclid%3D1&sa=D",
            "https://a.org/n",
        ),
        (
            "https://redir.folha.com.br/redir/online/poder/rss091/*https://a.org/n",
            "https://a.org/n",
        ),
        ("http://https://a.org/n", "https://a.org/n"),
        ("http:/a.org/n", "http://a.org/n"),
        ("//a.org/n", "https://a.org/n"),
        (r"http://a.org\n\m?p=\d", "http://a.org/n/m?p=%5Cd"),
        ("https://[::1]:443/", "https://[::1]/"),
        ("https://a.org/#!/noticia/1", "https://a.org/#!/noticia/1"),
    ],
)
def test_every_spelling_of_a_page_has_one_canonical_url(
    url: str, canonical: str
) -> None:
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.org/n", "https://a.org/n"),
        ("https://a.org/n", "https://www.a.org/n"),
        ("https://a.org/n", "https://a.org/n/"),
        ("https://a.org/N", "https://a.org/n"),
        ("https://a.org/?id=1", "https://a.org/?id=2"),
        ("https://a.org/?ref=master", "https://a.org/?ref=develop"),
        ("https://a.org/?session_id=91", "https://a.org/?session_id=92"),
        ("https://a.org/?source=rss", "https://a.org/?source=council"),
        ("https://a.org/#/noticia/1", "https://a.org/#/noticia/2"),
        ("https://a.org:8443/n", "https://a.org/n"),
        ("https://a.org/index.php?id=1", "https://a.org/?id=2"),
        ("https://a.org/2026/index.html", "https://a.org/2026/"),
        ("https://facebook.com/sharer?u=https://a.org/1", "https://a.org/1"),
    ],
)
def test_addresses_that_may_be_two_pages_differ(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize(
    "rubbish",
    [
        "",
        "not a url",
        "javascript:alert(1)",
        "http://[::1",
        "http://a:99999/",
        "http://ex ample.org/",
        "mailto:a@b",
    ],
)
def test_any_other_text_is_returned_stripped(rubbish: str) -> None:
    assert canonical_url(f" {rubbish}\n") == rubbish


@given(ADDRESSES)
@example("https://a.org/%f%44b")
@example("https://a.org/%4%34b?q=%%44")
def test_canonical_url_is_idempotent(url: str) -> None:
    once = canonical_url(url)
    assert canonical_url(once) == once


@given(ADDRESSES, ADDRESSES)
def test_any_text_is_accepted(url: str, other: str) -> None:
    resolve(url, other)
    is_same_site(url, other)
    assert len(url_hash(url)) == 64


def test_the_hash_is_that_of_the_canonical_url() -> None:
    assert (
        url_hash("https://a.org/n?utm_source=x")
        == url_hash("https://A.org/n#top")
        != url_hash("https://a.org/m")
    )


def test_a_relative_address_is_made_canonical_with_its_base() -> None:
    assert canonical_url("../n?utm_id=1", "https://a.org/x/y/") == "https://a.org/x/n"


def test_an_address_without_scheme_takes_that_of_its_base() -> None:
    assert resolve("http://a.org/", "//b.org/n") == "http://b.org/n"


@pytest.mark.parametrize(
    ("url", "other", "is_same"),
    [
        ("https://www.mec.gov.br/a", "http://portal.mec.gov.br/b", True),
        ("https://a.gov.br/", "https://b.gov.br/", False),
        ("http://10.0.0.1/", "http://10.0.0.2/", False),
        ("http://localhost/", "http://localhost:8000/", True),
        ("nonsense", "nonsense", False),
    ],
)
def test_sites_are_registrable_domains(url: str, other: str, is_same: bool) -> None:
    assert is_same_site(url, other) is is_same


def test_the_host_is_lower_case_without_port() -> None:
    assert host_of("https://WWW.Example.org:8080/x") == "www.example.org"


def test_a_link_keeps_its_spelling_but_not_its_password() -> None:
    assert (
        web_url("//u:p@a.org/N?utm_id=1#x", "http://b.org/")
        == "http://a.org/N?utm_id=1#x"
    )


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "ftp://a.org/x",
    ],
)
def test_other_links_are_none(link: str) -> None:
    assert web_url(link, "https://a.org/") is None


@pytest.mark.parametrize("levels", [1, 20, 21, 30])
def test_a_target_wrapped_often_keeps_one_canonical_url(levels: int) -> None:
    url = "https://www.google.com/url?q=" * levels + "https://a.org/n"

    assert canonical_url(canonical_url(url)) == canonical_url(url)


@pytest.mark.parametrize(
    "redirect",
    [
        "https://www.google.com.br/url?sa=t&url={}",
        "https://l.facebook.com/l.php?u={}&h=AT0",
        "https://mail.example.org/click/77?id=3&url={}",
        "https://click.example.net/deeplink?mid=2&murl={}",
        "https://www.dpbolvw.net/click-8187505-15219391?url={}",
        "https://nam02.safelinks.protection.outlook.com/?url={}&data=05",
        "https://example.org/out.php?Target={}",
        "https://example.org/redirect?u={}",
        "https://example.org/login?portal=1&redirect={}",
        "https://www.example.org/wp-login.php?redirect_to={}",
        "https://accounts.example.org/ServiceLogin?hl=pt&continue={}",
        "https://secure.example.org/user/registration/?redirectUrl={}",
        "https://partner.example.net/c/1407275/1723626/8631?prodsku=7&u={}",
        "https://example.net/?dest={}",
        "https://track.example.net/t.aspx?site=5&zz={}",
        "https://example.org/go/27072/{}",
        "https://example.org/outgoing?{}",
    ],
)
def test_an_address_that_only_leads_to_another_one_gives_that(redirect: str) -> None:
    assert (
        canonical_url(redirect.format(quote("https://a.org/n?id=2", safe="")))
        == "https://a.org/n?id=2"
    )


@pytest.mark.parametrize(
    "page",
    [
        "https://www.facebook.com/sharer.php?u={}",
        "https://twitter.com/intent/tweet?url={}",
        "https://example.org/share/link?url={}",
        "https://example.org/news/2?url={}",
        "https://example.org/api/link?url={}",
        "https://example.org/link?ref={}",
        "https://example.org/add?url={}",
        "https://example.org/noticia.php?id=7&url={}",
        "https://example.org/news/bridge-opens-at-last?url={}",
        "https://example.org/?u=https://www.example.org/n",
        "https://example.org/go?url={}.jpg",
        "https://example.org/?q={}",
        "https://web.archive.org/web/2020/{}",
        "https://example.org/out?url=/n",
    ],
)
def test_a_page_about_another_one_is_no_redirect(page: str) -> None:
    url = page.format("https://a.org/n")

    assert canonical_url(url) == url


@pytest.mark.parametrize(
    "value",
    [
        "https%253A%252F%252Fa.org%252Fn%253Fid%253D2",
        "aHR0cHM6Ly9hLm9yZy9uP2lkPTI%3D",
        "//a.org/n?id=2",
    ],
    ids=["encoded twice", "base64", "without a scheme"],
)
def test_the_target_of_a_redirect_may_be_encoded(value: str) -> None:
    assert (
        canonical_url(f"https://click.example.net/?x=1&url={value}")
        == "https://a.org/n?id=2"
    )


@pytest.mark.parametrize(
    "cached",
    [
        "https://a-org.cdn.ampproject.org/v/s/a.org/n",
        "https://a-org.bing-amp.com/c/s/a.org/n",
        "https://www.google.com.br/amp/s/a.org/n",
    ],
)
def test_a_cached_amp_page_is_the_page_itself(cached: str) -> None:
    assert canonical_url(cached) == "https://a.org/n"


def test_a_wrapper_with_thousands_of_parameters_gives_its_target() -> None:
    assert (
        canonical_url(f"https://www.google.com/url?{'x=1&' * 5000}q=https://a.org/n")
        == "https://a.org/n"
    )


@given(
    st.text(),
    st.sampled_from(
        [
            "",
            "http://",
            "https://www.google.com/url?q=",
            "http://a.org/",
            "http://a.org:",
        ]
    ),
)
def test_no_text_makes_it_raise(text: str, start: str) -> None:
    once = canonical_url(start + text)

    assert canonical_url(once) == once
