"""The commands `cost` and `explain`."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
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


QUOTE = "keep bus line1 running"


@pytest.fixture
def asked(home: Path) -> Path:
    """The lake of `home`, where a model enriched `a-1` at its second answer."""
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        [article] = lake.read(RawArticle, article_id=["a-1"])
        [row] = lake.read(EnrichedArticle, article_id=["a-1"])
        start = (article.text or "").index(QUOTE)
        row = replace(
            row,
            enricher="model",
            model="openai:gpt-5-mini",
            prompt_version="1-ab",
            summary="The bus stays.",
            summary_spans=(f"{start}-{start + len(QUOTE)}",),
            key_points=("Nobody asked.",),
            key_point_spans=("",),
            sentiment="positive",
            sentiment_score=0.5,
        )
        call = sparse(
            ModelCall,
            call_id="1",
            article_id="a-1",
            input_hash=row.input_hash,
            kind="enrich",
            model=row.model,
            prompt_version="1-ab",
            called_at=NOW,
            via="direct",
            input_tokens=1_234,
            output_tokens=56,
            cached_tokens=1_000,
            usd=0.000196,
            elapsed_ms=1_500,
            outcome="refused",
            reason="evidence: nothing in the text supports it",
            answer_json='{"summary":"As it came"}',
        )
        again = replace(
            call,
            call_id="2",
            called_at=NOW + timedelta(minutes=1),
            outcome="ok",
            reason=None,
        )
        lake.transact(
            lambda rows: [
                rows.upsert([row]),
                rows.upsert([call, replace(again, answer_json="not JSON")]),
            ]
        )
    return home


def test_a_model_s_result_is_shown_with_calls_prices_answers_and_marks(
    asked: Path, call: Call
) -> None:
    code, said, _ = call("explain", "a-1")
    assert code == 0
    for part in (
        "by model openai:gpt-5-mini, prompt 1-ab, taxonomy 1, at 2026-11-20 15:00:00Z",
        "summary: The bus stays.\n",
        "sentiment: positive (+0.50)\n",
        f"[1] summary\n    “{QUOTE}”\n",
        "[2] key point: Nobody asked.\n    nothing in the text supports it\n",
        "2026-11-20 15:00:00Z enrich by openai:gpt-5-mini, prompt 1-ab, direct: 1,234 tokens in (1,000 cached), 56 "
        "out; 0.000196 USD; 1,500 ms; refused: evidence: nothing in the text supports it\n",
        '  "summary": "As it came"\n',
        "  not JSON\n",
        f"[[1 {QUOTE} 1]]",
    ):
        assert part in said


def test_the_json_has_the_ledger_s_rows_and_the_marked_text(
    asked: Path, call: Call
) -> None:
    facts = json.loads(call("explain", "https://example.org/1", "--json")[1])
    assert facts["made_by"]["model"] == "openai:gpt-5-mini"
    assert [one["quote"] for one in facts["evidence"]] == [QUOTE, None]
    assert [
        (one["outcome"], one["usd"], one["answer_json"]) for one in facts["calls"]
    ] == [
        ("refused", 0.000196, '{"summary":"As it came"}'),
        ("ok", 0.000196, "not JSON"),
    ]
    assert facts["usd"] == 0.000392
    assert f"[[1 {QUOTE} 1]]" in facts["marked_text"]
    assert facts["is_outdated"] is False


def test_a_local_result_is_explained_too(home: Path, call: Call) -> None:
    code, said, _ = call("explain", "a-1")
    assert code == 0
    assert "by words 1, prompt 1, taxonomy 1" in said
    assert "theme: none: no theme fits (score 0.00)" in said
    assert "[1]" not in said
    facts = json.loads(call("explain", "a-1", "--json")[1])
    assert (facts["calls"], facts["usd"], facts["marked_text"]) == ([], None, None)


def test_a_copy_is_explained_by_the_calls_for_its_original_and_a_stopgap_as_such(
    asked: Path, call: Call
) -> None:
    with Lake.open(asked / "catalog.sqlite", asked / "data") as lake:
        [row] = lake.read(EnrichedArticle, article_id=["a-2"])
        reason = "NEWS_MAX_USD_PER_DAY is reached: …"
        given = {
            "is_provisional": True,
            "reused_from": "a-1",
            "local_reason": reason,
            "outcome": "ok",
        }
        lake.transact(lambda rows: rows.upsert([replace(row, **given)]))

    said = call("explain", "a-2")[1]

    assert "reused from a-1\n" in said
    assert (
        "local, because: NEWS_MAX_USD_PER_DAY is reached: …; a model will be requested again\n"
        in said
    )
    assert "has changed since" not in said
    assert said.count("; requested for a-1\n") == 2


def test_why_there_is_no_result_is_said(home: Path, call: Call) -> None:
    assert "failed: no answer" in call("explain", "a-2")[1]
    assert (
        "not enriched: the article has the outcome failed ("
        in call("explain", "b-3")[1]
    )


def test_an_unknown_article_is_one_line(home: Path, call: Call) -> None:
    code, _, error = call("explain", "a-9")
    assert (code, len(error.splitlines())) == (1, 1)
    assert "no article `a-9`" in error


def test_it_says_how_fully_an_agenda_item_is_summarised(home: Path, call: Call) -> None:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        [article] = lake.read(RawArticle, article_id=["a-1"])
        item = replace(
            article, title="Ordinance on buses", meeting_id="springfieldIL/legistar/1"
        )
        lake.transact(lambda rows: rows.upsert([item]))

    _, said, _ = call("explain", "a-1")

    assert (
        "depth of a language model's summary: full, because its title has “ordinance”\n"
        in said
    )
    _, line, _ = call("explain", "a-1", "--json")
    assert json.loads(line)["depth"] == {
        "depth": "full",
        "reason": "its title has “ordinance”",
    }
