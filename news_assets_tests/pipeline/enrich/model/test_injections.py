"""Text is data: articles with instructions for a model that obeys them change no fixed field of their rows."""

from news_assets.store.lake import Lake
from news_assets_tests.pipeline.enrich.model.injections import INJECTIONS, SUBTLE, obedient, taken_over
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import TEXT, ScriptedModel, enrich, enricher, local, made, rows

FIXED = ("theme_path", "sentiment", "sentiment_score", "article_type", "summary", "keywords", "language")


def injected(number: int, instruction: str) -> str:
    """Return the text with the instruction in its middle, at its end or before its beginning."""
    first, second = TEXT.replace("{n}", str(number)).split("\n\n")
    places = ((first, instruction, second), (first, second, instruction), (instruction, first, second))
    return "\n\n".join(places[number % 3])


def test_there_are_enough_injections() -> None:
    assert len(INJECTIONS) >= 40


def test_no_injection_changes_a_fixed_field_whatever_the_model_answers(lake: Lake) -> None:
    articles = [made(number, injected(number, text)) for number, text in enumerate(INJECTIONS)]
    upsert(lake, articles)
    model = ScriptedModel(taken_over)
    enrich(lake, enricher(model))

    found = rows(lake)
    changed = {}
    for article, instruction in zip(articles, INJECTIONS, strict=True):
        row = found[article.article_id]
        expected = local().enrich(article.title or "", article.text or "", article.language)
        if any(getattr(row, name) != getattr(expected, name, None) for name in FIXED):
            changed[instruction] = row.local_reason
    assert changed == {}
    assert model.sent == []


def test_an_instruction_that_no_pattern_finds_meets_the_checks_of_the_answer(lake: Lake) -> None:
    numbered = [(way, text) for text in SUBTLE for way in range(7)]
    articles = [made(number, injected(number, text)) for number, (_, text) in enumerate(numbered)]
    upsert(lake, articles)
    answers = iter([way for way, _ in numbered])
    model = ScriptedModel(lambda text: obedient(text, next(answers)))
    enrich(lake, enricher(model))

    assert len(model.sent) == len(numbered)
    found = rows(lake)
    accepted = {n: row.summary for n, a in enumerate(articles) if (row := found[a.article_id]).enricher != "local"}
    assert accepted == {}
