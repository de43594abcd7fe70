"""A real model, which is too weak to be right: what it says is checked, marked, paid
for once and replaced.
"""

from dataclasses import replace
from functools import cache
from types import MappingProxyType

import pytest

from news_assets.pipeline.enrich.model.answer_schema import answer_schema
from news_assets.pipeline.enrich.model.model_requests import Prompt
from news_assets.records.articles import RawArticle
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets.taxonomy import Taxonomy
from news_assets_tests.store.examples import upsert
from news_assets_tests.support import small_model
from news_assets_tests.support.model_enrichment import (
    LATER,
    NOW,
    ScriptedModel,
    enrich,
    enricher,
    made,
    rows,
    served,
    taxonomy,
)
from news_assets_tests.support.model_server import model_server

NAME = "openai:gpt-5-mini"
CODES = ("economy", "education", "environment", "health", "sport")
PROMPT = Prompt(
    kind="enrich",
    version="short",
    answers=("theme", "summary"),
    body="Describe the article as JSON: its theme, and one sentence with the quote it rests on. Themes:\n{themes}",
    sentences=1,
)
SUBJECTS = (
    (
        "Ministry extends scholarships",
        "the programme of scholarships will reach 1001 students of federal universities",
    ),
    (
        "New hospital opens in Recife",
        "the new hospital with 240 beds will open its doors to patients in March",
    ),
    (
        "City plants ten thousand trees",
        "volunteers and workers planted ten thousand trees along the river",
    ),
)


def short(number: int) -> RawArticle:
    title, fact = SUBJECTS[number]
    text = f"The government said on Thursday in Brasilia that {fact}. The decision was published in the official gazette."
    return made(number, text, title=title, language="en")


def themes() -> Taxonomy:
    own = {code: replace(taxonomy().themes[code], children=()) for code in CODES}
    return Taxonomy("five", MappingProxyType(own))


@pytest.mark.slow  # a real model: loading takes 30 s of CPU and six answers a minute
@pytest.mark.exhaustive  # the checks of answers have tests of their own
@pytest.mark.timeout(1200)
@pytest.mark.skipif(
    not small_model.is_installed(), reason="`make test-all` installs the small model"
)
def test_bad_answers_of_a_weak_model_are_checked_paid_for_once_and_replaced(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = answer_schema("enrich", PROMPT.answers, CODES)
    upsert(lake, [short(number) for number in range(len(SUBJECTS))])
    with model_server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        server.answer = cache(
            lambda text: small_model.answer(PROMPT.body, text, schema)
        )
        model = served(NAME, concurrency=1, timeout_s=300)
        for now in (NOW, LATER):
            enrich(lake, enricher(model, prompt=PROMPT, taxonomy=themes()), now=now)
        model.close()
        requests = server.calls
    calls = lake.read(ModelCall)
    assert (len(requests), len(calls)) == (len(SUBJECTS), requests.total())
    assert max(requests.values()) <= 2
    assert {call.outcome for call in calls} >= {"refused"}
    for row in rows(lake).values():
        is_supported = row.enricher == "model" and all(row.summary_spans)
        assert is_supported or row.local_reason, (
            "an answer has evidence, or the local result says why it does not count"
        )

    enrich(
        lake,
        enricher(ScriptedModel(name="openai:strong"), taxonomy=themes()),
        now=LATER,
        re_enrich=True,
    )
    assert {row.model for row in rows(lake).values()} == {"openai:strong"}
