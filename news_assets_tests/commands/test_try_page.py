"""`try-page`, called as the command line calls it, against a page on loopback."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from news_assets.cli import main
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.pipeline.page.test_extract import PAGE
from news_assets_tests.pipeline.page.test_extract import RULED_BODY as BODY

Run = Callable[..., tuple[int, str, str]]
DESK = """desk: mine
timezone: America/Sao_Paulo
language: en
first_day: 2026-01-01
agencies:
  bureau:
    name: Bureau
    sources: [{{kind: feed, url: "{0}/bureau/feed"}}]
  council:
    name: Council
    pages: [{{content: .story, remove: .ad}}]
    sources: [{{kind: feed, url: "{0}/council/feed"}}]
"""


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    opened.put("/council/story", answer(PAGE.encode(), content_type="text/html"))
    opened.put(
        "/short",
        answer(b"<html><body><p>x</p></body></html>", content_type="text/html"),
    )
    yield opened
    opened.close()


@pytest.fixture
def run(
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    desk = tmp_path / "mine.yaml"
    desk.write_text(DESK.format(site.url))
    values = {
        "HOME": tmp_path,
        "HOST_DELAY_S": 0,
        "ALLOW_PRIVATE_HOSTS": "127.0.0.1",
        "DESKS": desk,
    }
    for name, value in values.items():
        monkeypatch.setenv(f"NEWS_{name}", str(value))

    def call(path: str, *options: str) -> tuple[int, str, str]:
        address = site.url + path if path.startswith("/") else path
        monkeypatch.setattr(sys, "argv", ["news-assets", "try-page", address, *options])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_a_page_is_read_by_the_rule_of_the_agency_of_its_site(run: Run) -> None:
    code, text, shown = run("/council/story")

    assert (
        code,
        text.startswith(BODY.strip()),
        text.endswith("Second part of the story.\n"),
    ) == (0, True, True)
    assert "without the rule" in shown
    assert "another text" in shown


def test_stated_selectors_give_the_block_for_a_desk_file(run: Run) -> None:
    code, block, shown = run(
        "/council/story", "--content", "td.story", "--date", ".when"
    )

    assert code == 0
    assert block == "    pages:\n    - content: td.story\n      date: .when\n"
    assert "2026-09-05 17:30:00+00:00" in shown


def test_json_has_the_article_and_the_rule(run: Run) -> None:
    found = json.loads(run("/council/story", "--json")[1])

    assert (found["agency"], found["rule"]["content"], found["outcome"]) == (
        "council",
        ".story",
        "ok",
    )


@pytest.mark.parametrize(
    ("path", "options", "code", "message"),
    [
        ("/short", (), 1, "too little text"),
        ("/none", (), 1, "not found (404)"),
        ("nowhere", (), 2, "is not a web address"),
        ("/council/story", ("--content", "td >"), 2, "`td >` is not a CSS selector"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    run: Run, path: str, options: tuple[str, ...], code: int, message: str
) -> None:
    ended, _, err = run(path, *options)

    assert ended == code
    assert message in err.splitlines()[-1]
