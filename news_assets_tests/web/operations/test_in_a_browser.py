"""The actions in a real browser, which decides itself what it says about the origin of
a form.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.pipeline.alerts.query_file import SavedQuery, query_of
from news_assets.records.alerts import StoredQuery
from news_assets.records.derived import Failure
from news_assets_tests.web.operations.conftest import TOKEN, Site
from news_assets_tests.web.test_browser import PHONE, RULES

playwright = pytest.importorskip("playwright.sync_api")
Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe


@pytest.fixture
def chrome(chromium: Path) -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=str(chromium), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def log_in_on(page: "playwright.Page") -> None:
    page.get_by_label("Your name").fill("Ana")
    page.get_by_label("Operators' token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.slow  # walks through pages in a browser
def test_an_operator_without_scripts_logs_in_and_retries(
    chrome: "playwright.Browser", operated: Site
) -> None:
    page = chrome.new_context(java_script_enabled=False).new_page()
    page.goto(f"{operated.address}/operations/failures?stage=enriched_articles")
    log_in_on(page)
    page.get_by_role("link", name="Bus", exact=True).click()
    page.get_by_role("button", name="Retry now").click()
    page.get_by_text("Ana, retry: enriched_articles").wait_for()

    assert operated.lake.read(Failure, article_id=["a-2"])[0].attempts == 0


@pytest.mark.slow  # walks through pages in a browser
def test_an_operator_without_scripts_retries_all_that_is_filtered(
    chrome: "playwright.Browser", operated: Site
) -> None:
    page = chrome.new_context(java_script_enabled=False).new_page()
    page.goto(f"{operated.address}/operations/failures")
    log_in_on(page)
    page.locator("select[name=cause]").select_option("not found (404)")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("button", name="Retry this failure").click()
    page.get_by_role("button", name="Retry", exact=True).click()
    page.get_by_text("raw_articles: waiting").wait_for()

    assert operated.lake.read(Failure, article_id=["a-3"])[0].attempts == 0


@pytest.mark.slow  # walks through pages in a browser
def test_an_operator_without_scripts_saves_the_search_that_is_shown_and_deletes_it(
    chrome: "playwright.Browser", operated: Site
) -> None:
    page = chrome.new_context(java_script_enabled=False).new_page()
    page.goto(f"{operated.address}/search?q=bus&agency=a&mode=keyword")
    page.get_by_role("link", name="Log in").click()
    log_in_on(page)
    page.goto(f"{operated.address}/search?q=bus&agency=a&mode=keyword")
    page.get_by_role("link", name="Save this search").click()
    page.get_by_label("Name").fill("Buses here")
    page.get_by_label("chat").check()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Buses here").wait_for()
    [saved] = operated.lake.read(StoredQuery)
    assert (saved.saved_by, query_of(saved)) == (
        "Ana",
        SavedQuery(name="Buses here", query="bus", agency="a", to=("chat",)),
    )

    page.get_by_role("button", name="Delete Buses here").click()
    page.get_by_text("None yet.").wait_for()
    assert operated.lake.read(StoredQuery) == []


@pytest.mark.slow  # looks at every page
def test_the_pages_of_operators_violate_no_rule_of_wcag_2_2_aa(
    chrome: "playwright.Browser", guarded: Site
) -> None:
    page = chrome.new_page(color_scheme="dark", viewport=PHONE, bypass_csp=True)
    found = {}
    for path in (
        "/operations/login",
        "/operations/articles/a-2",
        "/operations/queries?q=bus&agency=a",
        "/operations/failures",
        "/operations/retries",
    ):
        page.goto(guarded.address + path)
        found[path] = [
            rule["id"] for rule in Axe().run(page, options=RULES).response["violations"]
        ]
        if path == "/operations/login":
            log_in_on(page)
            page.wait_for_url("**/operations/failures")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert len(found) == 5
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
