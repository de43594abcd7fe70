from news_assets.pipeline.stage_declaration import Findings
from news_assets.pipeline.stages import unsupported_answers
from news_assets.records.derived import EnrichedArticle
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse, upsert


def row(
    n: int, *spans: str, enricher: str = "model", desk: str = "d"
) -> EnrichedArticle:
    points = tuple(f"Point {number}." for number in range(len(spans)))
    given = {"enricher": enricher, "desk": desk, "model": "openai:m", "outcome": "ok"}
    return sparse(
        EnrichedArticle,
        article_id=f"a-{n}",
        key_points=points,
        key_point_spans=spans,
        **given,
    )


def call(n: int, reason: str | None, outcome: str = "refused") -> ModelCall:
    given = {"desk": "d", "model": "openai:m", "reason": reason, "outcome": outcome}
    return sparse(ModelCall, call_id=f"{n}", article_id=f"a-{n}", **given)


def test_the_unsupported_among_a_model_s_answers_are_found_and_one_in_ten_is_accepted(
    lake: Lake,
) -> None:
    local = row(90, enricher="local")
    upsert(
        lake,
        [
            row(1, "0-9", "", ""),
            row(2),
            *(row(n, "3-9") for n in range(3, 10)),
            row(91, "", desk="e"),
            local,
        ],
    )
    evidence = "evidence: nothing in the text supports the summary's “X”"
    upsert(
        lake, [call(10, evidence), call(11, "schema: no JSON"), call(12, None, "ok")]
    )

    assert unsupported_answers(lake, "d") == Findings(
        10,
        ("article_id", "model", "what is unsupported"),
        (("a-10", "openai:m", evidence), ("a-1", "openai:m", "2 of 3 key points")),
        accepted=1,
    )


def test_without_models_nothing_is_checked(lake: Lake) -> None:
    upsert(lake, [row(1, enricher="local")])
    assert unsupported_answers(lake, "d").checked == 0
