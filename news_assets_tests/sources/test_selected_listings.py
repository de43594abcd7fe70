"""Listing pages read with the selectors of a desk file."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.desks.desk_files import load_desks
from news_assets.errors import DeskFileError, ListingChangedError
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Selectors, Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.html_listing_kinds import parse_selected
from news_assets.sources.source_kinds import KINDS, adapter_of
from news_assets_tests.desks.test_desk_files import GOOD, written
from news_assets_tests.pipeline.poll.poll_cases import poll_sources
from news_assets_tests.sources.page_builders import SELECTORS, html, page_of, source_of
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

URL = "https://prefeitura.example/noticias"
SOURCE = source_of("html_listing", URL)
SAMPLE = html(
    """<ul class="news">
    <li><a href="/img/2"><img alt="Foto"></a><h3><a href="/noticias/2">Ônibus
        noturno continua</a></h3><span class="date">Publicado em 08/09/2026 14h30</span><p>A câmara votou.</p></li>
    <li><h3><a href="3?utm_source=x">Feira no sábado</a></h3><span class="date">9 de setembro de 2026</span></li>
    </ul><div class="pager"><a href="/noticias">1</a> <a href="/noticias?page=2">2</a></div>"""
)


def listing_of(body: str, **changes: str) -> Listing:
    return parse_selected(
        page_of(html(body), URL),
        replace(SOURCE, selectors=replace(SELECTORS, **changes)),
    )


def test_items_become_entries_in_the_agencys_zone_and_the_next_page_is_named() -> None:
    listing = parse_selected(page_of(SAMPLE, URL), SOURCE)
    assert listing.entries == (
        ListedEntry(
            entry_id="https://prefeitura.example/3",
            url="https://prefeitura.example/3?utm_source=x",
            title="Feira no sábado",
            published_at=datetime(2026, 9, 9, 3, tzinfo=UTC),
        ),
        ListedEntry(
            entry_id="https://prefeitura.example/noticias/2",
            url="https://prefeitura.example/noticias/2",
            title="Ônibus noturno continua",
            summary="A câmara votou.",
            published_at=datetime(2026, 9, 8, 17, 30, tzinfo=UTC),
        ),
    )
    assert listing.next_urls == ("https://prefeitura.example/noticias?page=2",)
    assert (listing.title, listing.language, listing.problems) == (
        "Notícias",
        "pt-BR",
        (),
    )


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (Selectors(item="li"), ("https://prefeitura.example/img/2", "Foto")),
        (
            Selectors(item="li", link="h3 a"),
            ("https://prefeitura.example/noticias/2", "Ônibus noturno continua"),
        ),
        (
            Selectors(item="li", title="h3"),
            ("https://prefeitura.example/noticias/2", "Ônibus noturno continua"),
        ),
        (
            Selectors(item="li", title="p"),
            ("https://prefeitura.example/img/2", "A câmara votou."),
        ),
        (
            Selectors(item="h3 a"),
            ("https://prefeitura.example/noticias/2", "Ônibus noturno continua"),
        ),
    ],
)
def test_what_is_left_out_follows_from_the_others(
    selectors: Selectors, expected: tuple[str, str]
) -> None:
    first = parse_selected(
        page_of(SAMPLE, URL), replace(SOURCE, selectors=selectors)
    ).entries[0]
    assert (first.url, first.title) == expected


def test_a_time_is_read_from_its_attribute() -> None:
    time = '<time class="date" datetime="2026-09-08T10:00:00Z">ontem</time>'
    (entry,) = listing_of(
        f'<ul class=news><li><h3><a href="/1">a</a></h3>{time}</ul>'
    ).entries
    assert entry.published_at == datetime(2026, 9, 8, 10, tzinfo=UTC)


def test_items_without_link_or_title_or_date_are_problems() -> None:
    body = """<ul class="news"><li><h3>No link</h3></li>
        <li><h3><a href="/1">One</a></h3><span class="date">08/09/2026</span></li>
        <li><h3><a href="/2"></a></h3><span class="date">há 2 horas</span></li></ul>"""
    assert listing_of(body).problems == (
        "entry 1 has no link: skipped",
        "1 of 2 entries have no readable date",
        "1 of 2 entries have no title",
    )


def test_a_page_without_items_is_an_error_unless_the_page_says_so() -> None:
    nothing = "<p class=none>Nenhuma notícia.</p>"
    with pytest.raises(
        ListingChangedError,
        match=r"no item matches `ul\.news > li`: an HTML page of no known kind",
    ):
        listing_of(nothing)
    with pytest.raises(ListingChangedError, match="no item matches"):
        listing_of("<p>x</p>", empty="p.none")
    assert listing_of(nothing, empty="p.none") == Listing(entries=(), states_empty=True)
    with pytest.raises(ListingChangedError, match="none of 1 items has a link"):
        listing_of("<ul class=news><li>a</ul>", empty="p.none")


@pytest.mark.parametrize(
    "href",
    [
        "https://other.example/?page=2",
        "javascript:next()",
        "/noticias",
        "#",
        "",
        "/noticias?utm_source=pager",
    ],
)
def test_only_another_page_of_the_same_host_is_a_next_page(href: str) -> None:
    body = f'<ul class="news"><li><a href="/1">a</a></ul><div class=pager><a href="{href}">next</a></div>'
    assert listing_of(body, link="a").next_urls == ()


# --- polls ----------------------------------------------------------------------------


class Pages(ScriptedFetcher):
    def __init__(self, pages: dict[str, str]) -> None:
        self.pages = pages

    def answer(self, request: PageRequest) -> Page:
        return page_of(self.pages[request.url], request.url)


AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def outcome_of(body: str, source: Source = SOURCE) -> tuple[str, int, Sequence[str]]:
    padded = html(f"{body}<!-- {'x' * 6000} -->")
    following = "<ul class=news><li><h3><a href=/9>Old</a></h3></ul>"
    fetcher = Pages({URL: padded, f"{URL}?page=2": html(following)})
    (polled,) = poll_sources(
        [source], {}, adapter_of, fetcher, InlineSandbox(), lambda: AT
    )
    listing = polled.listing or Listing(entries=())
    return polled.outcome, len(listing.entries), listing.problems


def test_a_large_page_that_says_it_is_empty_is_a_quiet_day_and_a_changed_one_fails() -> (
    None
):
    source = replace(SOURCE, selectors=replace(SELECTORS, empty="p.none"))
    assert outcome_of("<p class=none>Nenhuma notícia</p>", source)[:2] == ("ok", 0)
    assert outcome_of("<p>Nova página</p>", source)[:2] == ("failed", 0)


def test_the_first_poll_reads_one_page() -> None:
    body = "<ul class=news><li><h3><a href=/1>a</a></h3></ul><div class=pager><a href='?page=2'>2</a></div>"
    outcome, count, problems = outcome_of(body)
    assert (outcome, count) == ("ok", 1)
    assert "stopped after 1 pages" in problems


# --- the desk file --------------------------------------------------------------------

SELECTING = GOOD.replace("kind: feed\n", "kind: html_listing\n").replace(
    "every_minutes: 15\n", "selectors:\n{}"
)


def test_selectors_come_from_the_desk_file(tmp_path: Path) -> None:
    text = SELECTING.replace(
        "{}", '          item: "ul.news > li"\n          date: .date\n'
    )
    (desk,) = load_desks([written(tmp_path, text)], KINDS)
    assert desk.sources[0].selectors == Selectors(item="ul.news > li", date=".date")


def test_each_selector_that_is_none_is_a_mistake_in_its_line(tmp_path: Path) -> None:
    text = SELECTING.replace(
        "{}",
        "          item: 'li >'\n          link: a::attr(href)\n          title: '//h3'\n"
        "          date: 'svg|a'\n          lnk: a\n          next: 1\n",
    )
    at = "agencies.on.sources.0.selectors"
    write = "write one such as `ul.news > li`"
    found = mistakes_of(tmp_path, text)
    assert found == [
        f"desk.yaml:13: {at}.item: `li >` is not a CSS selector: Expected selector, got <EOF at 4>; {write}",
        f"desk.yaml:14: {at}.link: `a::attr(href)` is not a CSS selector: pseudo-elements such as ::text match no "
        f"element; {write}",
        f"desk.yaml:15: {at}.title: `//h3` is not a CSS selector: Expected selector, got <DELIM '/' at 0>; {write}",
        f"desk.yaml:16: {at}.date: `svg|a` is not a CSS selector: Undefined namespace prefix; {write}",
        f"desk.yaml:17: {at}.lnk: unknown key; did you mean `link`?",
        f"desk.yaml:18: {at}.next: Input should be a valid string; change `1`",
    ]


def mistakes_of(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(DeskFileError) as caught:
        load_desks([written(tmp_path, text)], KINDS)
    return [line.removeprefix(f"{tmp_path}/") for line in caught.value.mistakes]


@pytest.mark.parametrize("css", [":not(" * 70 + "a" + ")" * 70, "a" * 301])
def test_a_selector_has_a_limited_length(tmp_path: Path, css: str) -> None:
    (mistake,) = mistakes_of(
        tmp_path, SELECTING.replace("{}", f"          item: '{css}'\n")
    )
    assert "longer than 300 characters" in mistake


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            GOOD.replace("kind: feed\n", "kind: html_listing\n"),
            "desk.yaml:10: agencies.on.sources.0.selectors: a source of kind html_listing needs selectors; "
            "add `selectors: {item: ...}`",
        ),
        (
            GOOD.replace("every_minutes: 15", "selectors: {item: li}"),
            "desk.yaml:12: agencies.on.sources.0.selectors: a source of kind feed takes no selectors; remove them, "
            "or write kind html_listing",
        ),
    ],
)
def test_selectors_belong_to_their_kind(
    tmp_path: Path, text: str, mistake: str
) -> None:
    assert mistakes_of(tmp_path, text) == [mistake]
