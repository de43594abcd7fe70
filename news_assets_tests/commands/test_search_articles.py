"""`search`: hits are listed with their copies, which the lake knows."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.small_desk import NOW, TODAY

SEARCH = ("search", "bus", "--mode", "keyword")


@pytest.fixture
def _copied(home: Path) -> None:
    """Seven copies of `a-1` in the lake, which the index does not have."""
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        [original] = lake.read(RawArticle, article_id=["a-1"])
        copies = [
            replace(
                original,
                article_id=f"c-{n}",
                agency="c",
                url=f"https://c.example/{n}",
                duplicate_of="a-1",
            )
            for n in range(7)
        ]
        lake.transact(lambda rows: rows.upsert(copies))


@pytest.mark.usefixtures("_copied")
def test_a_hit_lists_its_copies(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = call(*SEARCH, "--json")
    [hit] = [hit for hit in json.loads(out)["hits"] if hit["article_id"] == "a-1"]
    assert (code, err, len(hit["copies"])) == (0, "", 7)
    assert hit["copies"][0] == {
        "article_id": "c-0",
        "desk": "d",
        "agency": "c",
        "day": TODAY.isoformat(),
        "url": "https://c.example/0",
        "published_at": NOW.isoformat(),
        "reason": None,
    }
    monkeypatch.setenv("COLUMNS", "120")
    _, shown, _ = call(*SEARCH)
    assert f"also {TODAY} · c · https://c.example/4" in shown
    assert "c.example/5" not in shown
    assert "and 2 more copies" in shown


@pytest.mark.usefixtures("_copied")
def test_a_search_without_the_lake_says_that_copies_are_missing(
    call: Call, home: Path
) -> None:
    (home / "catalog.sqlite").write_bytes(b"no catalog " * 100)
    code, out, err = call(*SEARCH, "--json")
    assert (code, [hit["copies"] for hit in json.loads(out)["hits"]]) == (0, [[], []])
    assert err.startswith("copies are not listed: ")


@pytest.mark.usefixtures("home")
def test_a_search_explains_its_hits(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = call(*SEARCH, "--explain", "--json")
    explained = {
        hit["article_id"]: hit["explanation"] for hit in json.loads(out)["hits"]
    }
    assert (code, err, set(explained)) == (0, "", {"a-1", "a-2"})
    assert sorted(one["keyword_rank"] for one in explained.values()) == [1, 2]
    assert "bus" in explained["a-1"]["words"]
    monkeypatch.setenv("COLUMNS", "120")
    _, shown, _ = call(*SEARCH, "--explain")
    assert "by words: rank 1, score" in shown
    assert "bus in " in shown
    _, shown, _ = call(*SEARCH)
    assert "rank" not in shown


@pytest.mark.usefixtures("home")
def test_a_search_is_sorted_by_date(call: Call) -> None:
    _, out, _ = call("search", "", "--sort", "date", "--json")
    answer = json.loads(out)
    assert [hit["article_id"] for hit in answer["hits"]] == ["a-2", "a-1"]
    assert answer["facets"]["day"] == {TODAY.isoformat(): 2}
    code, _, err = call("search", "bus", "--sort", "size")
    assert code == 2
    assert "'size' is not one of 'relevance', 'date'" in err


@pytest.mark.usefixtures("home")
def test_the_old_name_of_the_embedded_index_is_a_hint(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_SEARCH", "sqlite")
    code, out, err = call(*SEARCH, "--json")
    assert (code, err) == (
        0,
        "news-assets: NEWS_SEARCH=sqlite is now NEWS_SEARCH=embedded\n",
    )
    assert json.loads(out)["found"] == 2


@pytest.mark.usefixtures("home")
def test_a_search_takes_operators_and_names_a_mistake(call: Call) -> None:
    code, out, _ = call("search", "title:bus (line1 OR line2)", *SEARCH[2:], "--json")
    found = {hit["article_id"] for hit in json.loads(out)["hits"]}
    assert (code, found) == (0, {"a-1", "a-2"})
    message = "news-assets: column 5 of the search: OR has nothing after it\n"
    assert call("search", "bus OR") == (2, "", message)


@pytest.mark.usefixtures("_copied")
def test_a_search_by_words_reads_the_copies_without_polars(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_HOME", str(home))
    code = f"""
import atexit, sys
atexit.register(lambda: print("polars" in sys.modules, file=sys.stderr))
sys.argv[1:] = {SEARCH}
from news_assets.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "and 2 more copies" in done.stdout
    assert done.stderr == "False\n"
