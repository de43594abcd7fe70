"""`cost` over a small lake, called as the command line calls it."""

import json
from pathlib import Path

import pytest
import yaml

from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.store.examples import sparse
from news_assets_tests.support.small_desk import NOW, TODAY


@pytest.fixture
def desk(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lake of `home` with a desk file; `a-1` has a result, `a-2` has none."""
    agencies = {
        key: {
            "name": key,
            "sources": [{"kind": "feed", "url": f"https://example.org/{key}"}],
        }
        for key in ("a", "b")
    }
    path = home / "d.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "desk": "d",
                "timezone": "UTC",
                "language": "en",
                "first_day": "2026-01-01",
                "agencies": agencies,
            }
        )
    )
    monkeypatch.setenv("NEWS_DESKS", str(path))
    monkeypatch.setenv("OPENAI_API_KEY", "not used")
    monkeypatch.setenv("NEWS_ENRICHER", "openai:gpt-5-mini")
    return home


def test_the_price_of_a_backfill_is_said_with_its_reasons(
    desk: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_MAX_USD_PER_DAY", "5")
    code, said, error = call(
        "cost", "--desk", "d", "--from", str(TODAY), "--to", str(TODAY)
    )
    assert (code, error) == (0, "")
    lines = [line.strip() for line in said.splitlines()]
    assert lines[:2] == ["desk d", "2  articles with a text"]
    assert lines[2].startswith("1  calls of the next run: ")
    assert lines[3].startswith("1  more calls with `re_enrich: true`: ")
    assert "tokens in, 450 out, about 0.00" in lines[2]
    assert lines[4].startswith(
        "by openai:gpt-5-mini, directly, and backfills in batches"
    )
    assert "NEWS_MAX_USD_PER_DAY: 0 of 5.0000 USD spent" in lines
    assert lines[-1] == "no calls of language models so far for these articles"


@pytest.mark.slow  # enriches with a model server
def test_an_unknown_price_is_said_and_what_was_spent_is_shown(
    desk: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_ENRICHER", "openai:mine")
    given = {
        "desk": "d",
        "agency": "a",
        "day": TODAY,
        "called_at": NOW,
        "model": "openai:gpt-5-mini",
        "via": "direct",
    }
    with Lake.open(desk / "catalog.sqlite", desk / "data") as lake:
        calls = [
            sparse(ModelCall, call_id=f"{n}", outcome="ok", usd=usd, **given)
            for n, usd in enumerate((0.1, 0.2))
        ]
        lake.transact(
            lambda rows: rows.upsert(
                [*calls, sparse(ModelCall, call_id="3", outcome="failed", **given)]
            )
        )

    said = call("cost", "--desk", "d")[1]
    facts = json.loads(call("cost", "--desk", "d", "--json")[1])

    assert "price unknown" in said
    assert "so far: 3 calls, 0.300000 USD" in said
    assert (facts["to_send"]["calls"], facts["to_send"]["usd"]) == (1, None)
    assert facts["to_send_with_re_enrich"]["calls"] == 1
    assert [
        (one["calls"], one["usd"], one["unpriced"]) for one in facts["calls_so_far"]
    ] == [(3, 0.3, 1)]
    assert (facts["articles"], facts["skipped"], facts["copies"]) == (2, {}, 0)


def test_without_a_model_nothing_is_to_pay(
    desk: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_ENRICHER", "local")
    code, said, _ = call("cost", "--desk", "d")
    assert (code, said.splitlines()[1]) == (
        0,
        "NEWS_ENRICHER and NEWS_ENTITIES name no language model: free",
    )


def test_an_unknown_desk_is_one_line(desk: Path, call: Call) -> None:
    code, _, error = call("cost", "--desk", "nowhere")
    assert (code, len(error.splitlines())) == (1, 1)
    assert "no desk `nowhere`" in error
