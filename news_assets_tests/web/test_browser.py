"""The pages in a real browser: accessible in light and dark and on a phone, without
scripts, by keyboard.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.pipeline.stories.loaded import story_id_of
from news_assets_tests.support.small_desk import TODAY

playwright = pytest.importorskip("playwright.sync_api")
Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe

STORY = story_id_of(TODAY, "a-1")
PAGES = (
    "/",
    f"/?day={TODAY}&lang=pt",
    "/silences",
    "/about",
    "/about?lang=pt",
    "/search",
    "/search?q=bus&agency=a&mode=keyword",
    "/search?q=nothing-like-it&mode=keyword&language=fr",
    "/search?lang=pt",
    "/queries",
    "/changes?days=36500&lang=pt",
    "/feeds",
    "/articles/a-1",
    "/articles/a-1?rev=1",
    "/articles/a-1/way",
    "/articles/a-3",
    "/operations",
    "/operations/sources",
    "/operations/failures",
    "/publishers/d/a",
    f"/stories/{STORY}",
    f"/stories?day={TODAY}&publishers=1&theme=health&lang=pt",
    "/trends?q=bus%0Aline1&by=day&from=2026-11-01&to=2026-11-30&lang=pt",
    "/trends?measure=share&split=publisher",
    "/trends?language=fr",
    "/names?days=3660&lang=pt",
    "/names/person/ana-lima",
    "/facets/agency?lang=pt",
    "/operations/queries",
    "/operations/login",
    "/operations/articles/a-2",
    "/nothing",
)
COUNCIL_PAGES = (
    "/?lang=en",
    "/meetings",
    "/meetings?lang=pt&status=passed",
    "/meetings?body=nothing",
    "/meetings/springfieldIL/primegov/7",
    "/meetings/springfieldIL/primegov/8?lang=pt",
    "/matters/cities/springfieldIL/file:26-101",
    "/articles/a-1",
    "/articles/news-1?lang=pt",
    "/laws/PUBLIC%20LAW%20117-58",
    "/subscribe?q=homes&agency=springfieldIL",
    "/subscribe?lang=pt",
)
RULES = {
    "runOnly": {
        "type": "tag",
        "values": [
            "wcag2a",
            "wcag2aa",
            "wcag21a",
            "wcag21aa",
            "wcag22aa",
            "best-practice",
        ],
    }
}
PHONE, DESK = {"width": 320, "height": 640}, {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=str(chromium), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.mark.parametrize(
    ("colours", "size"), [("light", DESK), ("dark", PHONE)], ids=["wide", "phone"]
)
@pytest.mark.slow  # looks at every page
def test_no_page_violates_wcag_2_2_aa_or_is_wider_than_the_screen(
    chrome: "playwright.Browser",
    site: str,
    council: str,
    colours: str,
    size: dict[str, int],
) -> None:
    # for axe's own script
    page = chrome.new_page(color_scheme=colours, viewport=size, bypass_csp=True)
    found = {}
    for url in (
        *(site + path for path in PAGES),
        *(council + path for path in COUNCIL_PAGES),
    ):
        page.goto(url)
        for one in page.query_selector_all("details"):
            one.evaluate("node => { node.open = true }")
        violations = Axe().run(page, options=RULES).response["violations"]
        found[url] = [
            f"{rule['id']}: {rule['nodes'][0]['html']}" for rule in violations
        ]
        if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
            found[url].append("wider than the screen")
    page.close()
    assert {url: wrong for url, wrong in found.items() if wrong} == {}
    assert len(found) == len(PAGES) + len(COUNCIL_PAGES)


def test_a_reader_without_scripts_searches_by_keyboard_and_opens_an_article(
    chrome: "playwright.Browser", site: str
) -> None:
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"{site}/search")
    page.get_by_label("Search the articles").fill("bus")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=bus**")
    page.get_by_role("link", name="Bus").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/articles/**")
    page.get_by_role("link", name="stored page").click()
    page.wait_for_url("**/original")
    context.close()
    assert [url for url in requested if not url.startswith(site)] == []


@pytest.mark.slow  # loads several pages in a browser
def test_keys_lead_to_the_search_box_and_through_the_hits_and_can_be_switched_off(
    chrome: "playwright.Browser", site: str
) -> None:
    page = chrome.new_page()
    page.goto(f"{site}/search")
    titles = [one.inner_text() for one in page.query_selector_all(".hits h2 a")]

    def focused() -> str:
        return str(page.evaluate("document.activeElement.innerText"))

    page.keyboard.press("j")
    page.keyboard.press("j")
    assert focused() == titles[1]
    page.keyboard.press("k")
    assert focused() == titles[0]
    page.keyboard.press("/")
    page.keyboard.type("jo?")
    assert page.get_by_label("Search the articles").input_value() == "jo?"
    page.get_by_label("Search the articles").blur()
    page.keyboard.press("?")
    page.get_by_label("Use these keys").uncheck()
    page.get_by_role("button", name="Close").click()
    page.reload()
    page.keyboard.press("j")
    assert focused() not in titles
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Use these keys").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/articles/**")
    page.close()


def test_three_tabs_lead_to_the_first_hit(
    chrome: "playwright.Browser", site: str
) -> None:
    page = chrome.new_page()
    page.goto(f"{site}/search")
    first = page.query_selector(".hits h2 a")
    assert first is not None
    for key in ("Tab", "Tab", "Enter", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate("node => node === document.activeElement", first)
    page.close()
