from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.enrich.theme_training import FOLDS, data_hash, folds_of, train
from news_assets_tests.support.theme_examples import (
    EMBEDDING_MODEL,
    examples,
    taxonomy,
    text_of,
    vector_of,
)


def test_it_learns_the_themes_that_the_taxonomy_has_no_words_for(
    tmp_path: Path,
) -> None:
    themes = taxonomy(tmp_path)
    classifier, found = train(examples(themes), themes, EMBEDDING_MODEL)
    unseen = LocalEnricher(themes).theme_input("", text_of("sport", 99), "en")

    probabilities = classifier.probabilities(unseen, vector_of("sport", 99), {})

    assert found.accuracy == 1.0
    assert max(probabilities, key=lambda code: probabilities[code]) == "sport"
    assert sum(probabilities.values()) == pytest.approx(1)


def test_scores_are_calibrated_on_examples_that_were_not_trained_on(
    tmp_path: Path,
) -> None:
    themes = taxonomy(tmp_path)
    given = examples(themes, 200)
    wrong = [
        replace(one, code="sport" if one.code == "health" else "health")
        for one in given[:60:2]
    ]
    noisy = wrong + [
        one
        for one in given
        if one.article_id not in {each.article_id for each in wrong}
    ]

    _, found = train(noisy, themes, EMBEDDING_MODEL)

    assert sum(found.scores) / len(found.scores) == pytest.approx(
        found.accuracy, abs=0.1
    )
    share, error = found.sure(noisy, 0.0001)
    assert (share, error) == (0.0, 0.0)


def test_each_theme_is_spread_over_all_folds_the_same_at_every_call(
    tmp_path: Path,
) -> None:
    given = examples(taxonomy(tmp_path))
    folds = folds_of(given)
    counts = [
        sum(
            f == fold and one.code == "sport"
            for f, one in zip(folds, given, strict=True)
        )
        for fold in range(FOLDS)
    ]
    assert counts == [6] * FOLDS
    assert folds_of(given) == folds


def test_a_theme_with_one_example_is_learnt(tmp_path: Path) -> None:
    themes = taxonomy(tmp_path)
    given = examples(themes)
    classifier, found = train(
        [*given[:-1], replace(given[-1], code="health.nurses")], themes, EMBEDDING_MODEL
    )
    assert classifier.codes == ("health", "health.nurses", "sport")
    assert 0.9 < found.accuracy < 1


@pytest.mark.parametrize("count", [0, 49])
def test_too_few_examples_are_refused(tmp_path: Path, count: int) -> None:
    themes = taxonomy(tmp_path)
    with pytest.raises(
        NewsAssetsError,
        match=f"^{count} labelled articles with .* are too few to train on; label",
    ):
        train(examples(themes, count), themes, EMBEDDING_MODEL)


def test_examples_of_one_theme_are_refused(tmp_path: Path) -> None:
    themes = taxonomy(tmp_path)
    with pytest.raises(NewsAssetsError, match="with 1 themes are too few"):
        train(
            [one for one in examples(themes, 120) if one.code == "sport"],
            themes,
            EMBEDDING_MODEL,
        )


def test_the_hash_of_the_data_is_that_of_the_labels_and_texts_in_any_order(
    tmp_path: Path,
) -> None:
    given = examples(taxonomy(tmp_path), 4)
    assert data_hash(given) == data_hash(given[::-1])
    assert data_hash(given) != data_hash([replace(given[0], code="sport"), *given[1:]])
