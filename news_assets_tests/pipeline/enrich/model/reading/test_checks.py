"""Answers that are wrong in one thing are refused with the check that failed."""

import json
from typing import Any

import pytest

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.model.prompt import load_prompt
from news_assets.pipeline.enrich.model.reading.checks import Checked, checked
from news_assets.pipeline.enrich.model.schema import answer_schema
from news_assets_tests.support.model_enrichment import TITLE, honest, made

SCHEMA = answer_schema("enrich", load_prompt("enrich").answers, ("education", "health"))
TEXT = made(1).text or ""
GOOD = honest(f"\n\n{TEXT}\n")
GERMAN = "Die Regierung hat gestern in der Hauptstadt ein neues Gesetz über die Schulen und die Straßen vorgestellt."


def read(answer: dict[str, Any] | str) -> Checked:
    return checked(
        answer if isinstance(answer, str) else json.dumps(answer), SCHEMA, TITLE, TEXT, "pt-BR", max_sentences=2
    )


def sentence(text: str) -> dict[str, Any]:
    return GOOD | {"summary": [{"sentence": text, "quote": GOOD["summary"][0]["quote"]}]}


def test_a_good_answer_is_taken_also_in_a_fence_and_without_a_theme() -> None:
    assert read(GOOD) == read(f"```json\n{json.dumps(GOOD)}\n```")
    assert read(GOOD | {"theme": None}).theme is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I cannot help with this.", "the answer is not JSON: I cannot help with this."),
        (json.dumps(GOOD)[:-20], "the answer is not JSON"),
        ("[" * 50_000, "the answer is not JSON"),
        ("x" * 70_000, "the answer has 70,000 characters, more than 60,000"),
        ("[]", "schema: the answer is no object"),
        ({name: value for name, value in GOOD.items() if name != "theme"}, "schema: the answer lacks `theme`"),
        (GOOD | {"theme": "gone"}, "schema: `theme` has a value that was not offered: gone"),
        (GOOD | {"mood": 1}, "schema: the answer has the unknown field `mood`"),
        (GOOD | {"keywords": "a, b"}, "schema: `keywords` is no array"),
        (GOOD | {"article_type": "poem"}, "schema: `article_type` has a value that was not offered: poem"),
        (GOOD | {"sentiment": {"label": "neutral", "score": float("nan")}}, "schema: `score` is no number"),
        (GOOD | {"sentiment": {"label": "neutral", "score": 2}}, "the sentiment's score is 2, not from -1 to 1"),
        (GOOD | {"sentiment": {"label": "positive", "score": -0.5}}, "the sentiment contradicts itself"),
        (GOOD | {"summary": []}, "length: the summary has 0 sentences"),
        (GOOD | {"summary": GOOD["summary"] * 3}, "length: the summary has 3 sentences"),
        (sentence("Sim."), "length: a sentence has 4 characters"),
        (sentence("O ministério " * 60), "length: a sentence has 779 characters"),
        (sentence("O Ministério da Educação anunciou bolsas em https://x.example"), "a sentence contains 'https:'"),
        (sentence("O Ministério da Educação anunciou <b>bolsas</b>"), "a sentence contains '<b'"),
        (
            GOOD | {"summary": [{"sentence": GERMAN, "quote": GERMAN}], "key_points": []},
            "language: the answer is in de",
        ),
        (sentence("Compre relógios baratos na loja do centro hoje mesmo."), "evidence: nothing in the text supports"),
    ],
)
def test_a_wrong_answer_is_refused_with_the_check(answer: dict[str, Any] | str, reason: str) -> None:
    with pytest.raises(EnrichError) as caught:
        read(answer)
    assert str(caught.value).startswith(reason)


def test_a_key_point_without_evidence_is_marked_and_a_keyword_that_is_not_there_is_left_out() -> None:
    points = [{"sentence": "O Ministério da Educação amplia bolsas.", "quote": "nada disso aparece no texto"}]
    found = read(GOOD | {"key_points": points, "keywords": ["bolsas", "cassino", "BOLSAS"]})
    assert found.key_point_spans == ("",)
    assert found.keywords == ("bolsas",)
