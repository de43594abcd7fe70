"""The pages as a client gets them from the real server."""

import csv
import html
import io
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

import news_assets.web
from news_assets.pipeline.alerts.mail_text import CHANGES
from news_assets.pipeline.stories.loaded import story_id_of
from news_assets.ports.search_index import FILTER_LABELS
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.taxonomy import CIVIC_TOPICS, load_taxonomy
from news_assets.web.answers import SearchPart
from news_assets.web.archive import Archive
from news_assets.web.facets import facets_of
from news_assets.web.localization import made_text, portuguese
from news_assets.web.parameters import SearchAddress
from news_assets_tests.clients.search.contract.examples import document
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.small_desk import DESK, NOW, TODAY
from news_assets_tests.web.conftest import served

STORY = story_id_of(TODAY, "a-1")
TEMPLATES = Path(news_assets.web.__file__).parent / "templates"
LISTS = ("/search", "/operations", "/operations/sources", "/operations/failures")
PAGES = (
    *LISTS,
    "/search?q=bus&agency=a&mode=keyword",
    "/articles/a-1",
    "/articles/a-3",
    f"/days/{datetime.now(UTC).date()}",
    "/publishers/d/a",
    "/",
    f"/?day={TODAY}",
    "/silences",
    f"/stories/{STORY}",
    f"/stories?day={TODAY}&publishers=1",
    "/trends?q=bus%0Aline1&by=day",
    "/names?days=3660",
    "/names/person/ana-lima",
    "/facets/agency?q=bus",
)


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("href", "src")]


def links_of(page: str) -> list[str]:
    parser = _Links()
    parser.feed(page)
    return parser.found


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_shown_and_all_its_own_links_lead_somewhere(
    browser: httpx.Client, statuses: dict[str, int], path: str
) -> None:
    answer = browser.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (
        200,
        "text/html; charset=utf-8",
    )
    own = {link for link in links_of(answer.text) if link.startswith("/")}
    for link in own - statuses.keys():
        statuses[link] = browser.get(link, follow_redirects=True).status_code
    assert {link: statuses[link] for link in own} == dict.fromkeys(own, 200)


def test_the_report_of_a_day_counts_its_articles(browser: httpx.Client) -> None:
    page = text_of(browser.get(f"/days/{NOW.date()}").text)
    assert f"Newsroom, {NOW:%A %-d %B %Y}" in page
    assert "Stages by desk" in page
    assert "No new entries" not in page


@pytest.mark.parametrize("day", ["1900-01-01", "2999-12-31", "today", "2026-13-01"])
def test_a_day_that_cannot_have_a_report_is_not_found(
    browser: httpx.Client, day: str
) -> None:
    assert browser.get(f"/days/{day}").status_code == 404


@pytest.mark.parametrize("path", LISTS)
def test_a_list_is_the_same_as_json_by_suffix_and_by_accept(
    browser: httpx.Client, path: str
) -> None:
    by_suffix, by_accept = (
        browser.get(f"{path}.json"),
        browser.get(path, headers={"Accept": "application/json"}),
    )
    assert (
        by_suffix.headers["content-type"]
        == by_accept.headers["content-type"]
        == "application/json"
    )
    assert by_suffix.json() == by_accept.json()


def test_a_search_finds_filters_and_counts(browser: httpx.Client) -> None:
    found = browser.get("/search.json?q=bus&mode=keyword").json()
    assert (found["found"], {hit["article_id"] for hit in found["items"]}) == (
        3,
        {"a-1", "a-2", "a-4"},
    )
    page = text_of(browser.get("/search?q=bus&mode=keyword&agency=a").text)
    assert "3 articles" in page
    assert "Publisher: Câmara a" in page


def test_a_search_takes_operators(browser: httpx.Client) -> None:
    for mode in ("keyword", "hybrid"):
        text = "(line2 OR line4) -line1 date:2026-11-20"
        answer = browser.get("/search.json", params={"q": text, "mode": mode}).json()
        found = {hit["article_id"] for hit in answer["items"]}
        assert (found, answer["found"]) == ({"a-2", "a-4"}, 2)
    assert "title: author: publisher:" in browser.get("/search").text


def test_a_mistake_in_a_search_is_shown_where_it_is_in_the_readers_language(
    browser: httpx.Client,
) -> None:
    query = {"q": 'bus (tram "<b>', "agency": "a", "lang": "pt"}
    answer = browser.get("/search", params=query)
    assert answer.status_code == 400
    page = text_of(answer.text)
    assert "coluna 11 da busca: as aspas não são fechadas" in page
    assert "<q>bus (tram <mark>&#34;&lt;b&gt;</mark></q>" in answer.text
    assert '<input type="hidden" name="agency" value="a">' in answer.text
    unopened = browser.get("/search", params={"q": "bus) tram", "lang": "en"})
    assert "no bracket was opened before this one" in unopened.text


def test_a_csv_has_no_formulas(browser: httpx.Client) -> None:
    rows = list(
        csv.DictReader(io.StringIO(browser.get("/search.csv?q=bus&mode=keyword").text))
    )
    assert {row["title"][0] for row in rows} == {"B", "'"}


def test_an_empty_answer_says_how_many_there_are_without_each_filter(
    browser: httpx.Client,
) -> None:
    page = browser.get("/search?q=bus&mode=keyword&language=fr").text
    assert "3 without the filter Language" in text_of(page)
    assert "/search?q=bus&amp;mode=keyword" in page


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("mode=fuzzy", "mode=fuzzy: input should be 'keyword', 'vector' or 'hybrid'"),
        ("page=0", "page=0: input should be greater than or equal to 1"),
        ("page=²", "page=²: input should be a valid integer"),
        ("limit=101", "limit=101: input should be less than or equal to 100"),
        (
            "from=yesterday",
            "from=yesterday: input should be a valid date in the format YYYY-MM-DD",
        ),
        (f"q={'x' * 501}", "string should have at most 500 characters"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_it_takes(
    browser: httpx.Client, query: str, named: str
) -> None:
    page = browser.get(f"/search?{query}")
    assert (page.status_code, named in html.unescape(text_of(page.text))) == (400, True)
    problem = browser.get(f"/search.json?{query}")
    assert (problem.status_code, problem.headers["content-type"]) == (
        400,
        "application/problem+json",
    )
    assert named in problem.json()["detail"]


def test_an_article_shows_its_text_revisions_copies_and_events(
    browser: httpx.Client,
) -> None:
    page = browser.get("/articles/a-1").text
    [address] = re.findall(r'"(/articles/a-1/revisions/[0-9]+)"', page)
    changes = browser.get(address).text
    assert re.search(r"<ins>Winter came early\.", changes)
    assert re.search(r"<del>Night and day\.", changes)
    assert browser.get(f"{address}1").status_code == 404
    text = text_of(page)
    for part in (
        "Who published it",
        "Câmara b",
        "same text",
        "Similar articles",
    ):
        assert part in text
    assert "first listed by d/a/feed" in text_of(browser.get("/articles/a-1/way").text)


def test_a_text_that_was_replaced_without_a_stated_time_is_marked(
    browser: httpx.Client,
) -> None:
    assert "silent change: the page states no time of it" in text_of(
        browser.get("/articles/a-1").text
    )
    assert "silent change" not in browser.get("/articles/a-4").text


def test_the_evidence_of_a_summary_is_marked_and_linked(browser: httpx.Client) -> None:
    page = browser.get("/articles/a-4").text
    assert '<mark>after hours of debate</mark><sup id="evidence-1">[1]</sup>' in page
    assert page.count('href="#evidence-1"') == 1
    assert page.count("nothing in the text supports it") == 2
    assert "<mark>" not in browser.get("/articles/a-1").text


def test_a_search_is_sorted_by_date_and_names_the_copies_of_a_hit(
    browser: httpx.Client,
) -> None:
    page = browser.get("/search?q=bus&mode=keyword&sort=date").text
    assert 'value="date" checked' in page
    assert "Also by Câmara b" in text_of(page)


def test_several_publishers_are_chosen_one_after_the_other(
    browser: httpx.Client,
) -> None:
    one = browser.get("/search?agency=b")
    assert "Câmara a" in text_of(one.text), "a choice does not hide the others"
    assert "/search?agency=b%2Ca" in links_of(one.text)
    both = browser.get("/search?agency=b,a").text
    assert "Publisher: Câmara b" in text_of(both)
    assert "Publisher: Câmara a" in text_of(both)
    assert {"/search?agency=a", "/search?agency=b"} <= set(links_of(both))

    def found(agency: str) -> int:
        answer = browser.get(f"/search.json?mode=keyword&agency={agency}").json()
        return sum(answer["facets"]["agency"].values())

    assert found("b,a") == found("a") + found("b")


def test_every_value_of_a_facet_can_be_found_by_a_part_of_its_name(
    browser: httpx.Client,
) -> None:
    every = browser.get("/facets/agency?sort=date").text
    assert {"/search?sort=date&agency=a", "/search?sort=date&agency=b"} <= set(
        links_of(every)
    )
    some = browser.get("/facets/agency?sort=date&contains=camara+B").text
    assert "/search?sort=date&agency=b" in links_of(some)
    assert "/search?sort=date&agency=a" not in links_of(some)
    assert '<input type="hidden" name="sort" value="date">' in some
    assert browser.get("/facets/nothing").status_code == 404


def test_days_are_chosen_with_one_click(browser: httpx.Client) -> None:
    page = browser.get("/search?q=bus").text
    for label, days in (("today", 0), ("the last 7 days", 6), ("the last 30 days", 29)):
        first = datetime.now(UTC).date() - timedelta(days=days)
        assert f'<a href="/search?q=bus&amp;from={first}">{label}</a>' in page


def test_a_bar_of_the_histogram_leads_to_its_days(served_days: str) -> None:
    page = httpx.get(f"{served_days}/search", headers={"Accept": "text/html"}).text
    assert re.search(
        r'<a href="/search\?from=2026-11-19&amp;to=2026-11-19" tabindex="-1"><title>2026-11-19: 1<',
        page,
    )


def test_a_publisher_has_a_page_with_feeds_newest_articles_and_changes(
    browser: httpx.Client,
) -> None:
    hits = browser.get("/search?q=bus&mode=keyword").text
    assert "/publishers/d/a" in links_of(hits)
    page = browser.get("/publishers/d/a").text
    links = links_of(page)
    assert "<h1>Câmara a</h1>" in page
    assert "/search.atom?desk=d&agency=a" in links
    assert {f"/articles/a-{number}" for number in (1, 2, 3, 4)} <= set(links)
    assert any(link.startswith("/articles/a-1/revisions/") for link in links)
    assert browser.get("/publishers/d/nobody").status_code == 404


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/operations/failures", ("enriquecimento", "sem resposta")),
        ("/articles/a-3", ("Não há texto: não encontrado (404)",)),
        ("/articles/a-3/way", ("listagem",)),
        ("/articles/a-1", ("inglês",)),
        ("/articles/a-1/way", ("listado primeiro por d/a/feed",)),
        ("/search?language=en", ("Idioma: inglês",)),
    ],
)
def test_what_the_program_says_is_in_the_language_of_the_page(
    browser: httpx.Client, path: str, parts: tuple[str, ...]
) -> None:
    page = text_of(browser.get(path, headers={"Accept-Language": "pt"}).text)
    assert [part for part in parts if part not in page] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 days 4 h", "3 dias 4 h"),
        ("in 1 day", "em 1 dia"),
        (
            "2 days; usually 3.2 a day, none at weekends; longest silence 4 days",
            "2 dias; normalmente 3.2 por dia, nada em fins de semana; maior silêncio: 4 dias",
        ),
        (
            "4.0 a day, none on Mondays, Tuesdays",
            "4.0 por dia, nada em segundas, terças",
        ),
        (
            "robots.txt: total time limit exceeded",
            "robots.txt: limite de tempo excedido",
        ),
        ("something new", "something new"),
    ],
)
def test_reasons_and_durations_are_translated_part_by_part(
    text: str, expected: str
) -> None:
    assert made_text(text, "pt") == expected
    assert made_text(text, "en") == text


def test_a_failed_article_says_why(browser: httpx.Client) -> None:
    assert "There is no text: not found (404)" in text_of(
        browser.get("/articles/a-3").text
    )
    assert "no answer" in text_of(browser.get("/operations/failures").text)


def test_markup_in_a_title_is_text(browser: httpx.Client) -> None:
    page = browser.get("/articles/a-4").text
    assert "=Bus 4 &lt; 5 &amp; more</h1>" in page


def test_a_stored_page_is_shown_without_scripts_and_requests(
    browser: httpx.Client,
) -> None:
    answer = browser.get("/articles/a-1/original")
    policy = answer.headers["content-security-policy"]
    assert (
        "sandbox;" in policy,
        "default-src 'none'" in policy,
        "script-src" in policy,
    ) == (True, True, False)
    assert "<article>" in answer.text
    assert browser.get("/articles/a-3/original").status_code == 404


def test_every_answer_has_the_headers_of_safety(browser: httpx.Client) -> None:
    for path in (
        "/search",
        "/search.json",
        "/static/style.css",
        "/nothing",
        "/health/live",
    ):
        headers = browser.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"], path
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == (
            "nosniff",
            "no-referrer",
        ), path


def test_another_host_name_a_long_address_and_a_post_are_refused(
    browser: httpx.Client,
) -> None:
    assert (
        browser.get("/search", headers={"Host": "news.attacker.test"}).status_code
        == 400
    )
    assert browser.get("/search?q=" + "x" * 4_000).status_code == 414
    assert browser.post("/search").status_code == 405


def test_a_page_is_in_the_language_that_is_asked_for(browser: httpx.Client) -> None:
    by_header = browser.get("/search", headers={"Accept-Language": "pt-BR,pt;q=0.9"})
    by_link = browser.get("/search?lang=pt")
    for page in (by_header, by_link):
        assert (page.headers["content-language"], '<html lang="pt">' in page.text) == (
            "pt",
            True,
        )
        assert "Artigos mais recentes" in page.text


def test_a_chosen_language_stays_after_links_and_forms(site: str) -> None:
    with httpx.Client(base_url=site, headers={"Accept": "text/html"}) as client:
        chosen = client.get("/search?lang=pt")
        assert client.get("/operations/sources").headers["content-language"] == "pt"
        [action] = re.findall(r'<form class="search" action="([^"]*)"', chosen.text)
        found = client.get(action, params={"q": "bus"})
        assert '<html lang="pt">' in found.text
        assert client.get("/search?lang=en").headers["content-language"] == "en"
        assert client.get("/queries").headers["content-language"] == "en"


def test_every_text_of_the_templates_is_translated() -> None:
    used = {
        text
        for path in TEMPLATES.glob("*.html")
        for text in _phrases(path.read_text(encoding="utf-8"))
    }
    used |= {*FILTER_LABELS.values(), *CHANGES.values()}
    assert used - portuguese().keys() == set()
    named = {text: set(re.findall(r"{\w+}", text)) for text in portuguese()}
    assert {
        text: set(re.findall(r"{\w+}", portuguese()[text])) for text in named
    } == named


def _phrases(template: str) -> list[str]:
    return [
        first or second
        for first, second in re.findall(r"""\bt\((?:"([^"]+)"|'([^']+)')""", template)
    ]


def test_a_theme_has_the_label_of_its_desks_taxonomy() -> None:
    unused: Any = None
    taxonomies = {"news": load_taxonomy(), "city": load_taxonomy(CIVIC_TOPICS)}
    archive = Archive(unused, unused, (), taxonomies)
    assert archive.theme_label("health", "en", "news") == "Health"
    assert archive.theme_label("health", "en", "city") == "Health and social services"
    assert archive.theme_label("zoning", "en") == "Zoning"
    assert archive.theme_label("zoning", "en", "news") == "zoning"


def test_every_page_ends_with_links_to_what_the_archive_is_and_to_its_api(
    site: str,
) -> None:
    footer = httpx.get(f"{site}/search").text.partition("<footer>")[2]
    for address in re.findall('href="([^"]+)"', footer):
        assert httpx.get(site + address).status_code == 200
    about = httpx.get(f"{site}/about?lang=pt").text
    assert '<a href="/search?desk=d">d</a>: 2 órgãos' in about


def test_themes_are_listed_as_a_tree() -> None:
    unused: Any = None
    taxonomy = load_taxonomy()
    archive = Archive(unused, unused, (), {"d": taxonomy})
    first, second = taxonomy.roots[:2]
    children = taxonomy.themes[first].children[:2]
    counts = {second: 9, first: 5, children[1]: 4, children[0]: 1, "unknown": 2}
    answer = SearchPart(
        items=(), next=None, found=14, facets={"theme": counts}, mode="keyword"
    )
    (facet,) = facets_of(archive, SearchAddress(), answer)
    tree = [second, first, children[1], children[0], "unknown"]
    assert (list(facet.counts), facet.total) == (tree, 5)
    assert facet.levels == {
        second: 1,
        first: 1,
        children[1]: 2,
        children[0]: 2,
        "unknown": 1,
    }


def test_a_page_says_how_many_hits_cannot_be_reached(tmp_path: Path) -> None:
    unused: Any = None
    index = FakeSearchIndex()
    index.upsert([document(n, "bus", document_hash=str(n)) for n in range(103)])
    opened = Index(index, unused, lambda: None)
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        served(Archive(opened, lake, [DESK], {})) as address,
    ):
        page = httpx.get(
            f"{address}/search?q=bus&mode=keyword&limit=1", timeout=60
        ).text
        whole = httpx.get(f"{address}/search?q=bus&mode=keyword", timeout=60).text
    assert "3 more articles cannot be reached by these pages" in text_of(page)
    assert "cannot be reached" not in whole
