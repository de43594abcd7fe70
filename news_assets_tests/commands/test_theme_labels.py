"""`label` and `train-themes` over a small lake, called as the command line calls them."""

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from news_assets.clients.local_enrichers import current_version, load_classifier
from news_assets.pipeline.enrich.enrich import enrich_batch
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle, ThemeLabel
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.taxonomy import load_taxonomy
from news_assets_tests.commands.conftest import Call
from news_assets_tests.store.examples import full
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import DESK, NOW, TODAY
from news_assets_tests.support.theme_examples import (
    EMBEDDING_MODEL,
    taxonomy_file,
    text_of,
    vector_of,
)

KEYS = AgencyDays("d", frozenset({("a", TODAY)}))


@pytest.fixture
def labelled_home(
    filled_once: Callable[[Callable[[Lake], None]], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """A lake whose 60 articles of desk `d` have themes of a model and vectors, and one
    the local enricher's theme.
    """
    monkeypatch.setenv("NEWS_TAXONOMY", str(taxonomy_file(tmp_path)))
    copy_lake(filled_once(label), tmp_path)
    return tmp_path


def label(lake: Lake) -> None:
    place = {"desk": "d", "agency": "a", "day": TODAY, "outcome": "ok"}
    sent = {"language": "en", "duplicate_of": None, "filter_reason": ""}
    rows: list[object] = []
    for n in range(61):
        code = ("health", "sport")[n % 2]
        known = place | {"article_id": f"a-{n}"}
        rows += [
            full(
                RawArticle,
                **known,
                title=f"News {n}",
                text=text_of(code, n // 2),
                **sent,
            ),
            full(
                ArticleEmbedding,
                **known,
                model=EMBEDDING_MODEL,
                dim=2,
                vector=vector_of(code, n // 2),
            ),
            full(
                EnrichedArticle,
                **known,
                enricher="model" if n < 60 else "local",
                theme_code=code,
                theme_path=(code,),
                theme_labels=(code.title(),),
                theme_score=0.9 - n / 100,
                language="en",
                reused_from=None,
            ),
        ]
    # so that the desk is known
    rows.append(full(FeedEntry, desk="d", agency="a", day=TODAY))
    for record in (FeedEntry, RawArticle, ArticleEmbedding, EnrichedArticle):
        lake.transact(
            lambda work, r=record: work.upsert(
                [row for row in rows if isinstance(row, r)]
            )
        )


def read(home: Path, record: type, article_id: str) -> list:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return lake.read(record, article_id=[article_id])


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch):
    return lambda *lines: monkeypatch.setattr(
        "sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines))
    )


def test_the_labels_of_models_and_persons_train_a_classifier(
    labelled_home: Path, call: Call, say
) -> None:
    say('{"id": "a-60", "code": "health.nurses"}')
    call("label", "--desk", "d", "--read", "--by", "Ana")

    code, said, error = call("train-themes", "--desk", "d", "--error-rate", "0.2")

    version = current_version(labelled_home / "models", "d")
    assert (code, error, version is not None) == (0, "", True)
    assert (
        said.splitlines()[0]
        == "61 articles with 2 themes of level 1, 1 labelled by persons"
    )
    assert "labels per theme: 30 to 31\n" in said
    assert "right without the labels: " in said
    assert "sure with a score of at least 0.80" in said
    assert (
        load_classifier(labelled_home / "models", "d", version or "")[1].articles == 61
    )


@pytest.mark.slow  # trains a classifier
def test_a_dry_run_stores_no_classifier(labelled_home: Path, call: Call) -> None:
    said = json.loads(call("train-themes", "--desk", "d", "--dry-run", "--json")[1])
    assert (said["articles"], said["accuracy"], said["file"]) == (60, 1.0, None)
    assert current_version(labelled_home / "models", "d") is None


def test_without_labels_nothing_is_trained(home: Path, call: Call) -> None:
    code, _, error = call("train-themes", "--desk", "d")
    assert code == 1
    assert "too few to train on" in error


def test_without_scikit_learn_the_error_says_what_to_install(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)  # as where it is not installed
    code, _, error = call("train-themes", "--desk", "d")
    assert code == 1
    assert (
        "train-themes needs scikit-learn, which this image leaves out; build it with MODELS=1"
        in error
    )


def test_the_queue_has_the_least_certain_articles_first(
    labelled_home: Path, call: Call
) -> None:
    items = [
        json.loads(line)
        for line in call("label", "--desk", "d", "--limit", "3", "--json")[
            1
        ].splitlines()
    ]
    assert [(item["id"], item["score"], item["code"]) for item in items] == [
        ("a-60", pytest.approx(0.3), "health"),
        ("a-59", pytest.approx(0.31), "sport"),
        ("a-58", pytest.approx(0.32), "health"),
    ]
    assert items[0]["text"] == text_of("health", 30)


def test_labels_are_stored_with_their_person_and_the_former_theme(
    labelled_home: Path, call: Call, say
) -> None:
    before = read(labelled_home, EnrichedArticle, "a-60")[0]
    say(
        '{"id": "a-60", "code": "sport", "by": "Rui"}',
        '{"id": "a-59", "code": "sports"}',
        '{"id": "nothing", "code": "sport"}',
        '{"id": "a-58", "code": null}',
    )

    _, said, _ = call("label", "--desk", "d", "--read", "--by", "Ana")

    lines = [json.loads(line) for line in said.splitlines()]
    assert lines[0] == {
        "id": "a-60",
        "code": "sport",
        "previous": "health",
        "by": "Rui",
    }
    assert lines[1]["error"] == "no theme `sports` in the taxonomy; did you mean sport?"
    assert lines[2]["error"] == "no enriched article `nothing` in desk d"
    assert lines[3]["code"] is None
    [row] = read(labelled_home, EnrichedArticle, "a-60")
    assert (row.theme_path, row.theme_score, row.theme_reason) == (
        ("sport",),
        1.0,
        "labelled by Rui",
    )
    assert row.input_hash != before.input_hash
    assert read(labelled_home, EnrichedArticle, "a-58")[0].theme_path == ()
    [stored] = read(labelled_home, ThemeLabel, "a-60")
    assert (stored.labelled_by, stored.code, stored.previous) == (
        "Rui",
        "sport",
        "health",
    )
    assert abs((datetime.now(UTC) - stored.labelled_at).total_seconds()) < 60


def test_a_person_answers_at_the_prompt(labelled_home: Path, call: Call, say) -> None:
    say("sports", "sport", "", "s", "none", "q")
    _, said, _ = call("label", "--desk", "d", "--by", "Ana")
    assert "did you mean sport?" in said
    assert "3 labels stored" in said
    found = [
        [label.code for label in read(labelled_home, ThemeLabel, f"a-{n}")]
        for n in (60, 59, 58, 57, 56)
    ]
    assert found == [["sport"], ["sport"], [], [None], []]


def test_the_end_of_the_input_ends_the_questions(
    labelled_home: Path, call: Call, say
) -> None:
    say()
    code, said, _ = call("label", "--desk", "d")
    assert (code, "0 labels stored" in said) == (0, True)


def test_a_label_wins_over_the_enricher_when_the_article_is_enriched_again(
    labelled_home: Path, call: Call, say
) -> None:
    say('{"id": "a-1", "code": "health", "by": "Rui"}')
    call("label", "--desk", "d", "--read")
    with Lake.open(labelled_home / "catalog.sqlite", labelled_home / "data") as lake:
        enricher = LocalEnricher(load_taxonomy(labelled_home / "themes.yaml"))
        stage = stage_named("enriched_articles")
        for _ in range(2):
            enrich_batch(
                stage, lake, DESK, KEYS, lambda: NOW, enricher=enricher, re_enrich=True
            )
        rows = {row.article_id: row for row in lake.read(EnrichedArticle)}
        again = enrich_batch(
            stage, lake, DESK, KEYS, lambda: NOW, enricher=enricher, re_enrich=True
        )
    assert (rows["a-1"].theme_path, rows["a-1"].theme_reason) == (
        ("health",),
        "labelled by Rui",
    )
    assert rows["a-3"].theme_path == ()
    assert again == 0
