"""Every command over a lake whose titles, addresses and reasons were written to take
over a terminal.
"""

import html
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from news_assets.commands import search_articles as search
from news_assets.ports.search_index import SearchAnswer, SearchHit
from news_assets.records.articles import FeedEntry, Poll, RawArticle
from news_assets.records.derived import Failure
from news_assets.store.lake import Lake
from news_assets.store.queries.copies import Copy
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import NOW
from news_assets_tests.text.test_defuse import obeyed

HOSTILE = "[bold]x[/bold]\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\nfailures: none\r\x00"
ARGUMENT = HOSTILE.replace("\0", "")


@pytest.fixture
def _hostile_lake(
    hostile_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_lake(hostile_home, tmp_path)
    monkeypatch.setenv("NEWS_DESKS", str(tmp_path / "d.yaml"))
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(scope="module")
def hostile_home(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed lake and its desk file, as a template."""
    home = tmp_path_factory.mktemp("hostile")
    copy_lake(home_template, home)
    sources = [{"kind": "feed", "url": f"https://example.org/{HOSTILE}.xml"}]
    agencies = {
        "a": {
            "name": HOSTILE,
            "type": HOSTILE,
            "active": False,
            "reason": HOSTILE,
            "sources": sources,
        }
    }
    agencies["b"] = {
        "name": HOSTILE,
        "sources": [{"kind": "feed", "url": "https://example.org/b.xml"}],
    }
    desk = {
        "desk": "d",
        "timezone": "UTC",
        "language": "en",
        "first_day": "2026-01-01",
        "agencies": agencies,
    }
    (home / "d.yaml").write_text(yaml.safe_dump(desk))
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        entries = [
            replace(row, title=HOSTILE, source_id=f"d/a/{HOSTILE}")
            for row in lake.read(FeedEntry)
        ]
        failures = [replace(row, reason=HOSTILE) for row in lake.read(Failure)]
        articles = [
            replace(row, title=HOSTILE, reason=HOSTILE) for row in lake.read(RawArticle)
        ]
        polls = [replace(row, reason=HOSTILE) for row in lake.read(Poll)]
        lake.transact(
            lambda rows: [
                rows.upsert(some)
                for some in (entries, failures, articles, polls)
                if some
            ]
        )
    return home


@pytest.mark.usefixtures("_hostile_lake")
@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "--desk", ARGUMENT),
        ("status", "--url", "https://example.org/3"),
        ("status", "--url", ARGUMENT),
        ("agencies",),
        ("agencies", "--json"),
        ("gaps", "--days", "10000"),
        ("gaps", "--days", "10000", "--json"),
        ("failures", "list"),
        ("failures", "list", "--json"),
        ("failures", "list", "--stage", ARGUMENT),
        ("failures", "show", "b-3"),
        ("failures", "show", "a-2"),
        ("failures", "show", ARGUMENT),
        ("failures", "retry", "b-3", ARGUMENT),
        ("search", ARGUMENT, "--mode", "keyword"),
        ("export", "entries"),
        ("try-source", ARGUMENT),
        (ARGUMENT,),
    ],
    ids=lambda words: " ".join(words)[:30].encode("ascii", "backslashreplace").decode(),
)
def test_nothing_from_outside_is_obeyed(call: Call, words: tuple[str, ...]) -> None:
    _, out, err = call(*words)
    said = out + err
    assert obeyed(said.replace("\n", "")) == []
    assert not [line for line in said.splitlines() if line.startswith("failures: none")]
    if "--json" in words:
        assert all(map(json.loads, out.splitlines()))


@pytest.mark.usefixtures("_hostile_lake")
def test_the_text_is_shown_readably(call: Call) -> None:
    _, out, _ = call("failures", "show", "b-3")
    assert "[bold]x[/bold]␛]0;owned␇␛[2J�31m�gnp failures: none" in out


def test_hits_of_a_search_are_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    hit = SearchHit(
        article_id="1",
        title=HOSTILE,
        url=f"https://example.org/{HOSTILE}",
        desk="d",
        agency=HOSTILE,
        day=NOW.date(),
        score=1.0,
        snippet=f"a <mark>match</mark> {html.escape(HOSTILE)}",
        theme_code=HOSTILE,
    )
    copy = Copy(
        article_id=HOSTILE,
        desk="d",
        agency=HOSTILE,
        day=NOW.date(),
        url=HOSTILE,
        published_at=NOW,
    )
    others = {"1": (copy,)}
    search.show(
        SearchAnswer(
            hits=(hit,),
            found=1,
            facets={"agency": {HOSTILE: 1}},
            took_ms=1.0,
            languages={},
        ),
        HOSTILE,
        others,
    )
    out = capsys.readouterr().out
    assert obeyed(out.replace("\n", "")) == []
    assert "[yellow]" not in out
    assert out.count("[bold]x[/bold]") == 9
