"""What is sent: the themes that a model may choose from, how fully agenda items are
summarised.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from news_assets.pipeline.enrich.model.model_batches import SENT_WITHIN, settle_batches
from news_assets.pipeline.enrich.model.model_requests import (
    MAX_LIST_CHARS,
    depth_of,
    is_descended,
    list_text,
    themes_below,
    upper_themes,
)
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.records.desks import DepthRules
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets.taxonomy import CIVIC_TOPICS, load_taxonomy, taxonomy_of
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import (
    NOW,
    ScriptedModel,
    desk,
    enrich,
    enricher,
    honest,
    large_tree,
    made,
    rows,
    served,
)
from news_assets_tests.support.model_server import model_server


class Choosing(ScriptedModel):
    """A model that chooses the most specific of the codes that lead to its theme."""

    def __init__(self, theme: str) -> None:
        super().__init__()
        self._theme = theme

    def send(self, request: ModelRequest) -> Any:
        offered = request.schema["properties"]["theme"]["anyOf"][0]["enum"]
        leading = [code for code in offered if self._theme.startswith(code)]
        self.answer = lambda text: ModelAnswer(
            raw=json.dumps(honest(text) | {"theme": max(leading, key=len)}),
            input_tokens=1,
            output_tokens=1,
            cached_tokens=0,
            elapsed_ms=1,
        )
        return super().send(request)


def test_every_theme_of_a_tree_of_588_is_offered_for_each_article(shared: Path) -> None:
    tree = load_taxonomy(
        shared / "corpus/themes_govbr/common/themes_tree_enriched_full.yaml"
    )
    offered = themes_below(tree, None)
    assert [theme.code for theme in offered] == list(tree.themes)
    assert not is_descended(tree)
    assert len(list_text(offered)) <= MAX_LIST_CHARS


def test_instructions_are_the_same_for_all_articles_and_the_article_comes_after_them(
    lake: Lake,
) -> None:
    upsert(lake, [made(1), made(2)])
    model = ScriptedModel()
    enrich(lake, enricher(model))
    first, second = model.sent
    assert (first.instructions, first.schema) == (second.instructions, second.schema)
    assert "Themes:" in first.instructions
    assert first.text != second.text


def test_a_large_tree_is_descended_in_two_calls(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = Choosing("07.13.04")
    enrich(lake, enricher(model, taxonomy=large_tree()))
    assert [request.kind for request in model.sent] == ["theme", "enrich"]
    assert rows(lake)["mec-00001"].theme_code == "07.13.04"
    assert {call.kind for call in lake.read(ModelCall)} == {"theme", "enrich"}


def test_a_list_of_a_large_tree_keeps_its_limit() -> None:
    tree = large_tree()
    assert is_descended(tree)
    assert {theme.level for theme in upper_themes(tree)} == {1, 2}
    for themes in (
        upper_themes(tree),
        themes_below(tree, "03"),
        themes_below(tree, "03.04"),
    ):
        assert 0 < len(list_text(themes)) <= MAX_LIST_CHARS


ITEM = """The city council considers the item below, which staff recommends. It concerns the streets at the old market.
The work begins in April and ends in June. Residents of the Second Ward are told by letter two weeks before it begins.
The fund for streets pays for it. The committee on streets voted for it by five to two. No other permits are needed."""
SENTENCES = re.split(r"(?<=[.!?])\s+", " ".join(ITEM.split()))


@pytest.mark.parametrize(
    ("title", "matter_type", "section", "text", "depth", "why"),
    [
        (
            "Ordinance on short-term rental licenses",
            "",
            "",
            "",
            "full",
            "its title has “ordinance”",
        ),
        (
            "Amend Title 17",
            "Ordinance",
            "Consent calendar",
            "",
            "full",
            "its type has “ordinance”",
        ),
        (
            "Rezoning of 12 Oak Street",
            "Resolution",
            "",
            "",
            "full",
            "its title has “rezoning”",
        ),
        (
            "Tavern license for 12 Oak Street",
            "",
            "Public hearings",
            "",
            "brief",
            "its title has “license”",
        ),
        (
            "Appeal of Acme Inc.",
            "",
            "Public Hearings",
            "",
            "full",
            "its section has “public hearings”",
        ),
        (
            "Receive and file the report",
            "Report",
            "",
            "It names $4 million.",
            "brief",
            "its title has “receive and file”",
        ),
        (
            "Bus contract",
            "",
            "",
            "It costs $1.25 million a year, then $90,000.",
            "full",
            "it names $1,250,000",
        ),
        (
            "Bus contract",
            "",
            "",
            "It costs $249,999.99.",
            "usual",
            "neither its words, its sums",
        ),
        (
            "Bus contract",
            "",
            "",
            "x" * 6_000 + " $4 million",
            "usual",
            "neither its words, its sums",
        ),
        (
            "Bus contract",
            "",
            "",
            "word " * 8_000,
            "full",
            "its text has 40,000 characters",
        ),
        ("Ordinances", "", "", "", "full", "its title has “ordinances”"),
        ("Subordinance", "", "", "", "usual", "neither its words"),
    ],
)
def test_title_type_section_sums_and_length_decide(
    title: str, matter_type: str, section: str, text: str, depth: str, why: str
) -> None:
    item = made(1, text, title=title, category=matter_type, section=section)
    found, reason = depth_of(item, DepthRules())
    assert (found, reason[: len(why)]) == (depth, why)


def test_a_desk_file_states_other_phrases_and_sums() -> None:
    rules = DepthRules(brief=("market",), full=(), dollars=10, chars=1_000)
    given = [("Ordinance", ""), ("Market day", ""), ("Bus contract", "It costs $10.")]
    depths = [
        depth_of(made(1, text, title=title, category=None, section=None), rules)[0]
        for title, text in given
    ]
    assert depths == ["usual", "brief", "full"]


def by_schema(request: ModelRequest) -> dict[str, Any]:
    """Answer as a model should: every sentence of the text as the summary, up to what
    is asked for.
    """
    wanted = request.schema["properties"]
    given = honest(request.text) | {
        "theme": None,
        "keywords": ["council"],
        "summary": [
            {"sentence": one, "quote": one}
            for one in SENTENCES[: request.max_sentences]
        ],
    }
    return {name: given[name] for name in wanted}


class AnsweringModel(ScriptedModel):
    """A model that keeps to the schema of each request."""

    def send(self, request: ModelRequest) -> Any:
        self.answer = lambda _text: by_schema(request)
        return super().send(request)


def items() -> list[Any]:
    """Return a routine item, a usual one, an ordinance, and an article of news with the
    same words.
    """
    return [
        made(
            1,
            ITEM,
            title="Street closure for the market",
            meeting_id="m",
            language="en",
        ),
        made(
            2,
            ITEM + " Second.",
            title="Contract for the market",
            meeting_id="m",
            language="en",
        ),
        made(
            3,
            ITEM + " Third.",
            title="Ordinance on the market",
            meeting_id="m",
            language="en",
        ),
        made(4, ITEM + " Fourth.", title="Ordinance on the market", language="en"),
    ]


def test_routine_items_have_one_sentence_and_consequential_ones_up_to_six(
    lake: Lake,
) -> None:
    upsert(lake, items())
    model = AnsweringModel()

    enrich(lake, enricher(model))

    found = rows(lake)
    lengths = {key[-1]: len(row.summary_spans) for key, row in found.items()}
    assert lengths == {"1": 1, "2": 2, "3": 6, "4": 2}
    versions = {
        key[-1]: row.prompt_version.rpartition("-")[0] for key, row in found.items()
    }
    assert versions == {"1": "brief-1", "2": "1", "3": "full-1", "4": "1"}
    assert found["mec-00001"].key_points == ()
    calls = lake.read(ModelCall)
    assert {call.prompt_version for call in calls} == {
        row.prompt_version for row in found.values()
    }
    enrich(lake, enricher(model), re_enrich=True)
    assert len(model.sent) == 4  # the others come from the cache


def by_title(text: str) -> dict[str, Any]:
    """Answer as a model should to the prompt that an item of this title has."""
    most = (
        1
        if "Title: Street closure" in text
        else 6
        if "Title: Ordinance" in text and "Third." in text
        else 2
    )
    summary = [{"sentence": one, "quote": one} for one in SENTENCES[:most]]
    given = honest(text) | {"theme": None, "keywords": ["council"], "summary": summary}
    return (
        {name: given[name] for name in ("theme", "summary", "keywords")}
        if most == 1
        else given
    )


@pytest.mark.parametrize("via", ["direct", "batch"])
def test_a_provider_is_sent_the_prompt_of_each_depth(
    via: str, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    upsert(lake, items())
    of, later = desk(via=via), NOW + 2 * SENT_WITHIN
    with model_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        server.answer, server.clock = by_title, lambda: NOW
        model = served("openai:gpt-5-mini")
        by = enricher(model)
        enrich(lake, by, of)
        settle_batches(lake, by, [of], lambda: later)
        enrich(lake, by, of, later)
        model.close()

    found = rows(lake)
    assert {key[-1]: len(row.summary_spans) for key, row in found.items()} == {
        "1": 1,
        "2": 2,
        "3": 6,
        "4": 2,
    }
    versions = {call.article_id: call.prompt_version for call in lake.read(ModelCall)}
    assert versions == {key: row.prompt_version for key, row in found.items()}
    assert [seen.is_batch for seen in server.seen] == [via == "batch"] * 4


@pytest.mark.slow  # several runs with a model server
def test_rules_of_depth_do_not_change_the_inputs_of_news(lake: Lake) -> None:
    upsert(lake, items())
    first, second = AnsweringModel(), AnsweringModel()

    enrich(lake, enricher(first))
    everything_full = DepthRules(brief=(), full=("market",))
    enrich(lake, enricher(second), of=desk(depth=everything_full), re_enrich=True)

    # items of another depth than before
    assert sorted(request.article_id[-1] for request in second.sent) == [
        "1",
        "2",
    ]


def test_a_desk_asks_for_the_themes_of_its_own_taxonomy(lake: Lake) -> None:
    upsert(lake, items()[2:])
    model = AnsweringModel()
    city = replace(desk(), taxonomy=CIVIC_TOPICS)

    enrich(lake, enricher(model, taxonomy_of=lambda of: taxonomy_of(of, None)), of=city)

    codes = {
        tuple(one.schema["properties"]["theme"]["anyOf"][0]["enum"])
        for one in model.sent
    }
    assert codes == {tuple(load_taxonomy(CIVIC_TOPICS).themes)}
    assert {row.taxonomy_version for row in rows(lake).values()} == {
        load_taxonomy(CIVIC_TOPICS).version
    }


def test_more_sentences_than_requested_are_left_out(lake: Lake) -> None:
    upsert(lake, items()[:1])
    quoted = [{"sentence": one, "quote": one} for one in SENTENCES[:2]]
    model = ScriptedModel(
        lambda _text: {"theme": None, "summary": quoted, "keywords": []}
    )

    enrich(lake, enricher(model))

    assert rows(lake)["mec-00001"].summary == SENTENCES[0]
