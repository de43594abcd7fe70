"""The actions in a real browser, which decides itself what it says about the origin of a form."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.records.derived import Failure
from news_assets_tests.web.operations.conftest import TOKEN, Site
from news_assets_tests.web.test_browser import PHONE, RULES

playwright = pytest.importorskip("playwright.sync_api")
Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe


@pytest.fixture
def chrome(chromium: Path) -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield browser
        browser.close()


def test_an_operator_without_scripts_logs_in_and_retries(chrome: "playwright.Browser", operated: Site) -> None:
    page = chrome.new_context(java_script_enabled=False).new_page()
    page.goto(f"{operated.address}/operations/failures")
    page.get_by_role("link", name="a-2").click()
    page.get_by_role("link", name="Log in to retry or withdraw").click()
    page.get_by_label("Your name").fill("Ana")
    page.get_by_label("Operators' token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Retry now").click()
    page.get_by_text("Ana, retry: enriched_articles").wait_for()

    assert operated.lake.read(Failure, article_id=["a-2"])[0].attempts == 0


def test_the_pages_of_operators_violate_no_rule_of_wcag_2_2_aa(chrome: "playwright.Browser", guarded: Site) -> None:
    page = chrome.new_page(color_scheme="dark", viewport=PHONE, bypass_csp=True)
    found = {}
    for path in ("/operations/login", "/operations/articles/a-2"):
        page.goto(guarded.address + path)
        found[path] = [rule["id"] for rule in Axe().run(page, options=RULES).response["violations"]]
        if path == "/operations/login":
            page.get_by_label("Your name").fill("Ana")
            page.get_by_label("Operators' token").fill(TOKEN)
            page.get_by_role("button", name="Log in").click()
            page.wait_for_url("**/operations/failures")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert found == {"/operations/login": [], "/operations/articles/a-2": []}
