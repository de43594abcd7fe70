"""`try-source --selectors`, called as the command line calls it, against a page on
loopback.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from news_assets.cli import main
from news_assets.desks.desk_files import load_desks
from news_assets.sources.source_kinds import KINDS
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.sources.page_builders import html
from news_assets_tests.sources.test_selector_proposal import CARDS

Run = Callable[..., tuple[int, str, str]]
HEAD = "desk: mine\ntimezone: America/Sao_Paulo\nlanguage: pt\nfirst_day: 2026-01-01\nagencies:\n"


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    opened.put(
        "/noticias",
        answer(html(CARDS, title="Prefeitura").encode(), content_type="text/html"),
    )
    opened.put("/empty", answer(html("<p>x</p>").encode(), content_type="text/html"))
    yield opened
    opened.close()


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    for name, value in {
        "HOME": str(tmp_path),
        "HOST_DELAY_S": "0",
        "ALLOW_PRIVATE_HOSTS": "127.0.0.1",
    }.items():
        monkeypatch.setenv(f"NEWS_{name}", value)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["news-assets", "try-source", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_the_block_can_be_pasted_and_the_entries_are_shown(
    run: Run, site: Site, tmp_path: Path
) -> None:
    code, block, shown = run(f"{site.url}/noticias", "--selectors")
    assert code == 0
    assert "item     article.card" in shown
    assert "5 entries, 5 dated" in shown
    assert f"2026-09-05 14:30  Câmara vota o projeto 5  {site.url}/noticias/5" in shown
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + block)
    (desk,) = load_desks([str(path)], KINDS)
    (source,) = desk.sources
    assert (source.kind, source.url, desk.agencies[0].name) == (
        "html_listing",
        f"{site.url}/noticias",
        "Prefeitura",
    )
    assert source.selectors
    assert source.selectors.item == "article.card"


def test_stated_selectors_are_applied(run: Run, site: Site) -> None:
    code, out, _ = run(
        f"{site.url}/noticias",
        "--select",
        "item=.list > article",
        "--select",
        "title=p",
        "--json",
    )
    found = json.loads(out)
    assert code == 0
    assert found["selectors"] == {"item": ".list > article", "title": "p"}
    assert (
        found["entries"][0]["title"]
        == "O plenário da câmara votou nesta terça-feira o projeto número 1."
    )
    _, out, _ = run(
        f"{site.url}/noticias", "--selectors", "--select", "date=.tag", "--json"
    )
    found = json.loads(out)
    assert (found["selectors"]["item"], found["problems"]) == (
        "article.card",
        ["no dates"],
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("/empty", "--selectors"),
            1,
            "no repeated headlines with links found; give --select item=SELECTOR",
        ),
        (("/empty", "--select", "item=ul > li"), 1, "no item matches `ul > li`"),
        (("/none", "--selectors"), 1, "not found (404)"),
        (("/noticias", "--select", "item"), 2, "--select takes NAME=SELECTOR"),
        (
            ("/noticias", "--select", "item=li >"),
            2,
            "item: `li >` is not a CSS selector",
        ),
        (
            ("/noticias", "--select", "titel=a"),
            2,
            "titel: unknown key; did you mean `title`?",
        ),
        (("/noticias", "--selectors", "--desk", "no"), 1, "no desk `no`"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    run: Run, site: Site, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ended, out, err = run(site.url + arguments[0], *arguments[1:])
    assert (ended, out) == (code, "")
    assert message in err.splitlines()[-1]
