"""Files of classifiers, and their use by the local enricher."""

import os
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL
from news_assets.clients.local_enrichers import (
    PACKAGED_VECTORS,
    AboutClassifier,
    LocalEnrichers,
    current_version,
    load_classifier,
    save_classifier,
    vectors_file,
    vectors_of,
)
from news_assets.errors import EmbedError, EnrichError
from news_assets.pipeline.enrich.theme_training import train
from news_assets.pipeline.enrich.theme_vectors import NO_THEME, VERSION, ThemeClassifier
from news_assets.records.desks import Desk, EnrichRules
from news_assets.records.reading import Embedded
from news_assets.taxonomy import BUILT_IN, CIVIC_TOPICS, load_taxonomy
from news_assets_tests.support.council_room import desk_of
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.theme_examples import (
    EMBEDDING_MODEL,
    examples,
    taxonomy,
    taxonomy_file,
    text_of,
)

ABOUT = AboutClassifier(
    version="v1",
    trained_at="2026-11-22T12:00:00+00:00",
    data_hash="00",
    articles=60,
    by_person=3,
    themes=2,
    accuracy=1.0,
    wanted_error_rate=0.05,
    threshold=0.95,
    sure=0.5,
    error=0.01,
)


@dataclass
class OneVector:
    """Embeds every text alike: by default like an article on sport."""

    vector: tuple[float, float] = (0.0, 1.0)
    model: str = EMBEDDING_MODEL
    dim: int = 2

    def embed(self, texts: list[str]) -> list[Embedded]:
        return [Embedded(self.vector, 1, False) for _ in texts]

    def embed_query(self, query: str) -> Embedded:
        return self.embed([query])[0]


@dataclass
class ByTheme(OneVector):
    """Embeds texts on sport one way, all others another way."""

    calls: int = 0

    def embed(self, texts: list[str]) -> list[Embedded]:
        self.calls += 1
        of_sport = [
            any(word in text for word in ("Sport", "match", "striker"))
            for text in texts
        ]
        return [
            Embedded((0.0, 1.0) if sport else (1.0, 0.0), 1, False)
            for sport in of_sport
        ]


@pytest.fixture
def classifier(tmp_path: Path) -> ThemeClassifier:
    themes = taxonomy(tmp_path)
    return train(examples(themes), themes, EMBEDDING_MODEL)[0]


WORDS = EnrichRules(themes="words")


def desk(key: str, **given: Any) -> Desk:
    return Desk(
        key=key,
        timezone="UTC",
        language="en",
        first_day=date(2026, 1, 1),
        agencies=(),
        **given,
    )


def enricher(folder: Path, vector: tuple[float, float] = (0.0, 1.0)) -> LocalEnrichers:
    return LocalEnrichers(
        taxonomy_file(folder), InlineSandbox(), folder, lambda: OneVector(vector)
    )


def test_a_stored_classifier_is_read_as_it_was(
    tmp_path: Path, classifier: ThemeClassifier
) -> None:
    assert current_version(tmp_path, "d") is None
    save_classifier(tmp_path, "d", classifier, ABOUT)
    found, about = load_classifier(tmp_path, "d", "v1")
    read = examples(taxonomy(tmp_path))[0]
    assert current_version(tmp_path, "d") == "v1"
    assert about == ABOUT
    assert found.probabilities(read.found, read.vector, {}) == classifier.probabilities(
        read.found, read.vector, {}
    )


def test_the_enricher_of_a_desk_uses_its_newest_classifier(
    tmp_path: Path, classifier: ThemeClassifier
) -> None:
    local = enricher(tmp_path)
    assert local.for_desk(desk("d", enrich=WORDS)) is local

    save_classifier(tmp_path, "d", classifier, ABOUT)
    first = local.for_desk(desk("d"))
    found = first.enrich("", text_of("sport", 2), "en")
    assert (found.theme_path, found.theme_labels, found.theme_reason) == (
        ("sport",),
        ("Sport",),
        None,
    )
    assert found.theme_score > 0.5
    assert local.for_desk(desk("d")) is first
    assert local.for_desk(desk("d", enrich=WORDS)) is local
    assert local.for_desk(desk("other", enrich=WORDS)) is local

    save_classifier(tmp_path, "d", classifier, replace(ABOUT, version="v2"))
    assert [first.model, local.for_desk(desk("d")).model] == [
        f"{local.model}+v1",
        f"{local.model}+v2",
    ]


def test_a_desk_that_wants_a_classifier_and_has_none_is_refused(tmp_path: Path) -> None:
    trained = desk("d", enrich=EnrichRules(themes="trained"))
    with pytest.raises(
        EnrichError,
        match="desk d: it has no classifier of themes; run `news-assets train-themes",
    ):
        enricher(tmp_path).for_desk(trained)


def test_no_theme_is_learnt_from_labels(tmp_path: Path) -> None:
    themes = taxonomy(tmp_path)
    given = [
        replace(one, code=NO_THEME) if one.code == "sport" else one
        for one in examples(themes)
    ]
    save_classifier(tmp_path, "d", train(given, themes, EMBEDDING_MODEL)[0], ABOUT)
    found = enricher(tmp_path).for_desk(desk("d")).enrich("", text_of("sport", 2), "en")
    assert (found.theme_path, found.theme_reason) == (
        (),
        "no theme fits: articles like this one were labelled so",
    )


def test_vectors_give_a_theme_to_a_text_without_words_of_the_taxonomy(
    tmp_path: Path,
) -> None:
    local = LocalEnrichers(taxonomy_file(tmp_path), InlineSandbox(), tmp_path, ByTheme)
    found = local.for_desk(desk("d")).enrich("", "A striker and his coach.", "en")
    assert found.theme_path == ("sport",)
    assert found.theme_score > 0.5


def test_vectors_of_themes_are_made_once_and_again_if_the_file_is_spoilt(
    tmp_path: Path,
) -> None:
    themes, embedder = taxonomy(tmp_path), ByTheme()
    first = vectors_of(tmp_path, themes, embedder)
    [file] = (tmp_path / "theme_vectors").iterdir()
    assert (
        vectors_of(tmp_path, themes, embedder).directions.tolist()
        == first.directions.tolist()
    )
    assert embedder.calls == 1
    file.write_bytes(b"PK")
    vectors_of(tmp_path, themes, embedder)
    assert embedder.calls == 2


def test_the_package_has_the_vectors_of_its_taxonomies_as_they_are() -> None:
    """After a change of a taxonomy run `python -m news_assets_tests.theme_vectors`."""
    names = {
        vectors_file(load_taxonomy(file), BUILT_IN_MODEL, 384)
        for file in (BUILT_IN, CIVIC_TOPICS)
    }
    assert {file.name for file in PACKAGED_VECTORS.iterdir()} == names


def test_vectors_of_the_package_are_used_without_embedding(tmp_path: Path) -> None:
    embedder = ByTheme(model=BUILT_IN_MODEL, dim=384)
    vectors = vectors_of(tmp_path, load_taxonomy(BUILT_IN), embedder)
    assert (embedder.calls, vectors.directions.shape[1]) == (0, 384)


def test_without_an_embedding_model_themes_are_found_by_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> OneVector:
        raise EmbedError("no model `x`")

    local = LocalEnrichers(taxonomy_file(tmp_path), InlineSandbox(), tmp_path, missing)
    assert local.for_desk(desk("d")) is local
    assert "themes are found by words only: no model `x`" in caplog.text


def test_levels_below_the_first_are_found_by_words(
    tmp_path: Path, classifier: ThemeClassifier
) -> None:
    save_classifier(tmp_path, "d", classifier, ABOUT)
    text = "The doctor, the ward and the clinic: nursing staff of the night shift, and a nurse"
    found = (
        enricher(tmp_path, (1.0, 0.0))
        .for_desk(desk("d"))
        .enrich("Hospital nurses", text, "en")
    )
    assert found.theme_path == ("health", "health.nurses")


def test_a_text_without_words_keeps_the_answer_of_the_local_enricher(
    tmp_path: Path, classifier: ThemeClassifier
) -> None:
    save_classifier(tmp_path, "d", classifier, ABOUT)
    assert enricher(tmp_path).for_desk(desk("d")).enrich("", "", "en").theme_path == ()


def test_a_classifier_of_another_taxonomy_is_not_used(
    tmp_path: Path, classifier: ThemeClassifier, caplog: pytest.LogCaptureFixture
) -> None:
    save_classifier(tmp_path, "d", replace(classifier, taxonomy_version="other"), ABOUT)
    local = enricher(tmp_path)
    assert local.for_desk(desk("d")).model == f"{local.model}+{VERSION}"
    assert (
        "desk d: its classifier is of another taxonomy and is not used; run `news-assets train-themes"
        in caplog.text
    )


def test_a_classifier_for_vectors_of_another_model_is_refused(
    tmp_path: Path, classifier: ThemeClassifier
) -> None:
    save_classifier(tmp_path, "d", replace(classifier, embedding_model="other"), ABOUT)
    with pytest.raises(
        EnrichError,
        match="trained on vectors of other, but the model is two dimensions: set NEWS_EMB",
    ):
        enricher(tmp_path).for_desk(desk("d"))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:300])


def _pickled(file: Path) -> None:
    np.savez(file, text=np.array([{"a": 1}], dtype=object))


def _narrowed(file: Path) -> None:
    with np.load(file) as arrays:
        found = dict(arrays)
    np.savez(file, **(found | {"weights": found["weights"][:-1]}))


@pytest.mark.parametrize("spoil", [_cut, _pickled, _narrowed, Path.unlink])
def test_a_spoilt_file_is_one_clear_line(
    tmp_path: Path, classifier: ThemeClassifier, spoil: object
) -> None:
    file = save_classifier(tmp_path, "d", classifier, ABOUT)
    spoil(file)  # type: ignore[operator]
    with pytest.raises(
        EnrichError,
        match=r"v1\.npz: is not a classifier of themes .*; run `news-assets train",
    ) as found:
        enricher(tmp_path).for_desk(desk("d"))
    assert "\n" not in str(found.value)


def test_the_version_in_use_is_a_name_and_no_path(
    tmp_path: Path, classifier: ThemeClassifier
) -> None:
    save_classifier(tmp_path, "d", classifier, ABOUT)
    (tmp_path / "themes/d/current").write_text("../v1")
    with pytest.raises(EnrichError, match="current: names no version"):
        enricher(tmp_path).for_desk(desk("d"))


def test_a_desk_with_meetings_has_the_civic_topics_and_other_desks_the_themes_of_news(
    tmp_path: Path,
) -> None:
    enricher = LocalEnrichers(
        None, InlineSandbox(), tmp_path, lambda: OneVector((0.0, 1.0))
    )
    city = desk_of("https://webapi.legistar.com/v1/springfield")
    title, text = (
        "Rezoning of 12 Oak Street",
        "The zoning map amendment lets the owner build apartments on the parcel.",
    )

    assert enricher.with_taxonomy_of(desk("news")) is enricher
    of_city = enricher.with_taxonomy_of(city)
    assert of_city.enrich(title, text, "en").theme_labels == ("Zoning",)
    assert enricher.with_taxonomy_of(city) is of_city
    assert enricher.with_taxonomy_of(replace(city, taxonomy=BUILT_IN)) is enricher
    assert enricher.with_taxonomy_of(desk("news", taxonomy=CIVIC_TOPICS)) is of_city


def test_another_content_of_a_desks_taxonomy_is_used_at_once(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    enricher = LocalEnrichers(
        None, InlineSandbox(), tmp_path, lambda: OneVector((0.0, 1.0))
    )
    labels = []
    for number, label in enumerate(("Buses", "Trams")):
        file.write_text(
            f"themes: [{{code: a, label: {label}, keywords: [bus]}}, {{code: b, label: B, keywords: [x]}}]"
        )
        os.utime(file, (number, number))
        labels.append(
            enricher.for_desk(desk("d", taxonomy=file))
            .enrich("Bus", "The bus is a bus.", "en")
            .theme_labels
        )
    assert labels == [("Buses",), ("Trams",)]
