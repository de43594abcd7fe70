"""Discovery on loopback sites: what is found, what is refused, and which requests are
made.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.desks.import_plan import same_source_key
from news_assets.errors import ReadingError
from news_assets.pipeline.poll.candidates import Criteria
from news_assets.pipeline.poll.discover import (
    MAX_REQUESTS,
    Discovery,
    discover_sources,
)
from news_assets.ports.services import Sandbox
from news_assets.records.desks import Source
from news_assets.sources.source_kinds import adapter_of
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.sources.page_builders import html, source_of
from news_assets_tests.sources.site_builders import (
    ENGLISH,
    PORTUGUESE,
    alternate,
    home,
    posts,
    rss,
    search_answer,
    sitemap,
    sitemap_index,
)
from news_assets_tests.support.inline_sandbox import InlineSandbox

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
TODAY = NOW - timedelta(hours=2)
WORDPRESS = '<link rel="stylesheet" href="/wp-content/themes/serra/style.css">'
WORDPRESS_POSTS = "/wp-json/wp/v2/posts?per_page=100&orderby=date&order=desc&_embed=author,wp:featuredmedia,wp:term"

Find = Callable[..., Discovery]


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture
def find(tmp_path: Path) -> Iterator[Find]:
    """Discover with changed criteria, and with the hosts that may be requested."""
    with ExitStack() as stack:

        def discovered(
            url: str,
            hosts: tuple[str, ...] = ("127.0.0.0/8",),
            tries_all: bool = False,
            sandbox: Sandbox = InlineSandbox(),  # noqa: B008 - it has no state
            **criteria: Any,
        ) -> Discovery:
            fetcher = HttpFetcher(
                user_agent="news_assets/0.1",
                delay_s=0,
                state_dir=tmp_path / "hosts",
                allow_private_hosts=hosts,
                connect_s=1,
                read_s=1,
                total_s=2,
            )
            stack.enter_context(fetcher)
            return discover_sources(
                url,
                fetcher,
                sandbox,
                adapter_of,
                Criteria(**{"now": NOW, **criteria}),
                tries_all=tries_all,
            )

        yield discovered


class Limited(InlineSandbox):
    """A sandbox in which reading the document at a path exceeds the limits."""

    def __init__(self, path: str) -> None:
        self.path = path

    def run(
        self, work: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        if any(page.url.endswith(self.path) for page, *_ in calls):
            return [ReadingError("not read in 20 s") for _ in calls]
        return super().run(work, calls)


def put(site: Site, path: str, body: str, **headers: str) -> str:
    return site.put(path, answer(body.encode(), **headers))


def outcomes(found: Discovery) -> list[tuple[str | None, str, tuple[str, ...]]]:
    """Return kind, path and refusals of each candidate, in order."""
    return [
        (one.kind, "/" + one.url.partition("//")[2].partition("/")[2], one.refusals)
        for one in found.candidates
    ]


NO_LISTING = ('not a listing: an HTML page of no known kind, titled "Serra"',)
HOME = (None, "/", NO_LISTING)


def test_the_feed_linked_by_a_home_page_is_found(site: Site, find: Find) -> None:
    put(
        site,
        "/",
        home(
            alternate("/feed/", "Serra » Feed"),
            alternate("/comments/feed/", "Serra » Comments Feed"),
        ),
    )
    put(site, "/feed/", rss(site.url, TODAY, language="pt-br"))
    found = find(site.url + "/")
    assert outcomes(found) == [
        ("feed", "/feed/", ()),
        HOME,
        (None, "/comments/feed/", ("a feed of comments",)),
    ]
    contents = found.best.contents if found.best else None
    assert contents is not None
    assert (len(contents.entries), contents.newest_at, contents.language) == (
        len(PORTUGUESE),
        TODAY,
        "pt-BR",
    )
    assert (contents.dated_ratio, contents.titled_ratio, contents.full_text_ratio) == (
        1.0,
        1.0,
        0.0,
    )
    assert found.name == "Serra"
    assert site.every_path == ["/robots.txt", "/", "/feed/"], (
        "no usual address is tried if a feed is linked"
    )


def test_a_page_that_cannot_be_read_within_the_limits_is_refused_and_the_others_are_found(
    site: Site, find: Find
) -> None:
    put(site, "/", home(alternate("/slow/", "Slow"), alternate("/feed/", "Serra")))
    put(site, "/slow/", home())
    put(site, "/feed/", rss(site.url, TODAY))
    slow = (None, "/slow/", ("not read in 20 s",))
    assert outcomes(find(site.url + "/", sandbox=Limited("/slow/"))) == [
        ("feed", "/feed/", ()),
        HOME,
        slow,
    ]
    assert outcomes(find(site.url + "/slow/", sandbox=Limited("/slow/"))) == [slow]


def test_the_address_of_a_feed_takes_one_request(site: Site, find: Find) -> None:
    put(site, "/rss", rss(site.url, TODAY, title="Diário da Serra RSS"))
    found = find(site.url + "/rss")
    assert (outcomes(found), found.name, site.paths) == (
        [("feed", "/rss", ())],
        "Diário da Serra",
        ["/rss"],
    )


def test_the_target_of_a_redirect_is_proposed(site: Site, find: Find) -> None:
    site.put("/rss", answer(status=301, location="/novo.xml"))
    put(site, "/novo.xml", rss(site.url, TODAY))
    assert outcomes(find(site.url + "/rss")) == [("feed", "/novo.xml", ())]


def test_a_feed_without_a_link_is_found_at_a_usual_address(
    site: Site, find: Find
) -> None:
    put(site, "/", home())
    put(site, "/rss.xml", rss(site.url, TODAY))
    found = find(site.url + "/")
    assert outcomes(found) == [("feed", "/rss.xml", ()), HOME]
    assert "/sitemap.xml" not in site.paths


def test_the_feed_of_a_plone_listing_is_preferred(site: Site, find: Find) -> None:
    tiles = "".join(
        f'<article class="tileItem"><h2 class="tileHeadline"><a class="url" href="/noticia/{number}">{title}</a></h2>'
        f'<span class="documentByLine"><i class="icon-day"></i> {20 - number}/11/2026 </span></article>'
        for number, (title, _) in enumerate(PORTUGUESE)
    )
    page = html(
        f'<div id="content-core">{tiles}</div>',
        attributes='class="portaltype-collection"',
    )
    put(site, "/mec/noticias", page)
    assert [one[:2] for one in outcomes(find(site.url + "/mec/noticias"))] == [
        ("plone_listing", "/mec/noticias")
    ]
    put(
        site,
        "/mec/noticias",
        page.replace("</head>", alternate("/mec/noticias/RSS") + "</head>"),
    )
    put(site, "/mec/noticias/RSS", rss(site.url, TODAY))
    found = find(site.url + "/mec/noticias")
    assert outcomes(found) == [("feed", "/mec/noticias/RSS", ())]
    assert found.candidates[0].notes == (
        f"plone_listing {site.url}/mec/noticias lists the same",
    )


def test_a_listing_that_became_plone_6_is_found_by_its_search(
    site: Site, find: Find
) -> None:
    url = put(
        site,
        "/mec/pt-br/noticias",
        html("x", head='<meta name="generator" content="Plone 6 - https://plone.org">'),
    )
    query = "portal_type=News%20Item&sort_on=effective&sort_order=descending&fullobjects=1&b_size=25"
    put(
        site,
        f"/mec/++api++/pt-br/noticias/@search?{query}",
        search_answer(site.url, TODAY),
    )
    old = source_of("plone_listing", url)
    found = find(url, known={same_source_key(url): old})
    best = found.best
    assert best is not None
    assert (best.kind, best.url, best.replaces) == ("plone_search", url, old)
    assert best.notes == ("replaces kind plone_listing in desk sample, agency mec",)
    assert found.candidates[1].refusals == (
        'not a listing: looks like Plone 6: use kind plone_search, titled "Notícias"',
    )


def test_wordpress_without_a_feed_link_is_read_by_its_api(
    site: Site, find: Find
) -> None:
    put(site, "/", home(WORDPRESS))
    put(site, WORDPRESS_POSTS, posts(site.url, TODAY))
    found = find(site.url + "/")
    assert [one[:2] for one in outcomes(found)] == [("wordpress", "/"), (None, "/")]
    best = found.best
    assert best is not None
    assert best.contents is not None
    assert best.contents.full_text_ratio == 1.0


def test_the_same_content_is_proposed_once_with_full_text_preferred(
    site: Site, find: Find
) -> None:
    put(site, "/", home(WORDPRESS, alternate("/feed", "Serra")))
    put(site, "/feed", rss(site.url, TODAY))
    put(site, WORDPRESS_POSTS, posts(site.url, TODAY))
    found = find(site.url + "/")
    assert [one[:2] for one in outcomes(found)] == [("wordpress", "/"), (None, "/")]
    assert found.candidates[0].notes == (f"feed {site.url}/feed lists the same",)


def test_sitemaps_of_robots_txt_are_tried_last_news_first(
    site: Site, find: Find
) -> None:
    put(site, "/", home())
    put(
        site,
        "/robots.txt",
        f"User-agent: *\nAllow: /\nSitemap: {site.url}/pages.xml\nSitemap: {site.url}/news.xml\n",
    )
    put(site, "/pages.xml", sitemap(site.url + "/paginas", None))
    put(
        site,
        "/news.xml",
        sitemap_index(f"{site.url}/2026-10.xml", f"{site.url}/2026-11.xml"),
    )
    put(site, "/2026-11.xml", sitemap(site.url, TODAY))
    undated = ("no entry has a date, and a sitemap lists pages of any age",)
    assert outcomes(find(site.url + "/")) == [
        ("sitemap", "/news.xml", ()),
        ("sitemap", "/pages.xml", undated),
        HOME,
    ]
    assert "/2026-10.xml" not in site.paths


def test_a_usual_sitemap_is_found_if_robots_txt_names_none(
    site: Site, find: Find
) -> None:
    put(site, "/", home())
    put(site, "/sitemap.xml", sitemap(site.url, TODAY))
    assert outcomes(find(site.url + "/")) == [("sitemap", "/sitemap.xml", ()), HOME]


@pytest.mark.parametrize(
    ("criteria", "newest", "refusal"),
    [
        ({}, NOW - timedelta(days=8), "newest entry 8 days old, more than 7"),
        ({"max_age": timedelta(days=30)}, NOW - timedelta(days=8), None),
        ({"language": "en"}, TODAY, "language pt is not en"),
        ({"language": "pt-BR"}, TODAY, None),
        ({}, NOW + timedelta(days=90), "every date is in the future"),
    ],
)
def test_a_refusal_states_its_reason(
    site: Site,
    find: Find,
    criteria: dict[str, Any],
    newest: datetime,
    refusal: str | None,
) -> None:
    put(site, "/rss", rss(site.url, newest))
    assert outcomes(find(site.url + "/rss", **criteria)) == [
        ("feed", "/rss", (refusal,) if refusal else ())
    ]


def test_the_detected_language_overrules_the_declared_one(
    site: Site, find: Find
) -> None:
    put(site, "/rss", rss(site.url, TODAY, ENGLISH, language="pt-BR"))
    found = find(site.url + "/rss", language="pt")
    assert outcomes(found) == [("feed", "/rss", ("language en is not pt",))]
    assert found.candidates[0].notes == ("declares language pt-BR",)


def test_a_listing_without_dates_is_accepted_with_a_note(
    site: Site, find: Find
) -> None:
    dated = rss(site.url, TODAY)
    put(
        site,
        "/rss",
        "".join(
            part.partition("</pubDate>")[2] or part for part in dated.split("<pubDate>")
        ),
    )
    found = find(site.url + "/rss")
    assert found.best is not None
    assert found.best.notes == ("no entry has a date: freshness unknown",)


def test_an_empty_feed_is_refused(site: Site, find: Find) -> None:
    put(
        site, "/rss", '<rss version="2.0"><channel><title>Vazio</title></channel></rss>'
    )
    assert outcomes(find(site.url + "/rss")) == [("feed", "/rss", ("no entries",))]


@pytest.mark.parametrize("spelling", ["/feed/", "/feed"])
def test_a_known_source_is_refused_in_any_spelling(
    site: Site, find: Find, spelling: str
) -> None:
    put(site, "/", home(alternate("/feed/")))
    put(site, "/feed/", rss(site.url, TODAY))
    known = source_of("feed", site.url + spelling)
    found = find(site.url + "/", known={same_source_key(known.url): known})
    assert outcomes(found) == [
        ("feed", "/feed/", ("already in desk sample, agency mec",)),
        HOME,
    ]
    assert site.every_path == ["/robots.txt", "/", "/feed/"], (
        "no usual address is tried if a source is known"
    )


def test_the_content_of_a_known_source_is_refused(site: Site, find: Find) -> None:
    put(site, "/", home(alternate("/feed"), alternate("/all.rss")))
    for path in ("/feed", "/all.rss"):
        put(site, path, rss(site.url, TODAY))
    known = source_of("feed", site.url + "/all.rss")
    found = find(site.url + "/", known={same_source_key(known.url): known})
    same = f"lists the same as {site.url}/all.rss, already in desk sample, agency mec"
    assert outcomes(found) == [("feed", "/feed", (same,)), HOME]


def test_robots_txt_is_obeyed_except_for_the_given_address(
    site: Site, find: Find
) -> None:
    put(site, "/", home(alternate("/feed")))
    put(site, "/robots.txt", "User-agent: *\nDisallow: /\n")
    put(site, "/feed", rss(site.url, TODAY))
    found = find(site.url + "/")
    assert found.best is None
    assert (None, "/feed", ("forbidden by robots.txt",)) in outcomes(found)
    assert site.paths == ["/"]
    assert outcomes(find(site.url + "/feed")) == [("feed", "/feed", ())], (
        "the given address is requested, as a poll would"
    )


def test_a_page_of_200_feeds_is_bounded(site: Site, find: Find) -> None:
    put(
        site,
        "/",
        home(
            *(
                alternate(f"/secao/{number}.rss", f"Seção {number}")
                for number in range(200)
            )
        ),
    )
    found = find(site.url + "/", tries_all=True)
    assert len(site.paths) <= MAX_REQUESTS
    assert (
        found.notes[0]
        == "190 more feeds are linked: give the address of the one to add"
    )


def test_no_request_is_made_after_the_time_limit(
    site: Site, find: Find, tmp_path: Path
) -> None:
    put(site, "/", home(alternate("/feed")))
    left = iter([True])
    with HttpFetcher(
        user_agent="a",
        delay_s=0,
        state_dir=tmp_path / "hosts",
        allow_private_hosts=("127.0.0.0/8",),
    ) as fetcher:
        criteria = Criteria(now=NOW)
        found = discover_sources(
            site.url + "/",
            fetcher,
            InlineSandbox(),
            adapter_of,
            criteria,
            has_time=lambda: next(left, False),
        )
    assert (None, "/feed", ("not requested: out of time",)) in outcomes(found)
    assert site.paths == ["/"]


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (
            html("<form><input type=password name=p></form>", title="Acesso"),
            'looks like a log-in page, titled "Acesso"',
        ),
        (
            html('<script src="/cdn-cgi/challenge-platform/h/b/x.js"></script>'),
            "an anti-bot page (Cloudflare)",
        ),
        (b"%PDF-1.7\n\x00", "a PDF"),
        (b"", "an empty document"),
    ],
)
def test_a_wall_or_a_file_is_named_and_not_searched(
    site: Site, find: Find, page: str | bytes, reason: str
) -> None:
    site.put("/", answer(page.encode() if isinstance(page, str) else page))
    found = find(site.url + "/")
    assert found.best is None
    assert reason in found.candidates[0].refusals[0]
    assert site.paths == ["/"]


def test_a_missing_page_leads_to_the_feed_of_its_site(site: Site, find: Find) -> None:
    put(site, "/rss.xml", rss(site.url, TODAY))
    found = find(site.url + "/secao/velha")
    assert outcomes(found) == [
        ("feed", "/rss.xml", ()),
        (None, "/secao/velha", ("not found (404)",)),
    ]


def test_a_private_address_is_refused_unless_allowed(site: Site, find: Find) -> None:
    found = find(site.url + "/", hosts=())
    assert (found.candidates, site.paths) == ((), [])
    assert "not a public address" in (found.error or "")


def test_an_unavailable_server_is_reported(site: Site, find: Find) -> None:
    url = site.url
    site.close()
    found = find(url + "/")
    assert (found.candidates, found.best) == ((), None)
    assert found.error


def test_a_known_source_of_another_kind_stays_known(site: Site, find: Find) -> None:
    url = put(site, "/rss", rss(site.url, TODAY))
    known: Source = source_of("g1", url)
    assert outcomes(find(url, known={same_source_key(url): known})) == [
        ("g1", "/rss", ("already in desk sample, agency mec",))
    ]
