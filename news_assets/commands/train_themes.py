"""The command `train-themes`: learn a desk's classifier of themes from the labels of
models and persons.
"""

import importlib.util
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from news_assets.clients import theme_models
from news_assets.clients.factory import local_enricher, open_ports
from news_assets.clients.theme_models import AboutClassifier
from news_assets.commands.jsonlines import write_line
from news_assets.commands.opening import check_names, desk_named, open_lake
from news_assets.commands.options import Json
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.theme_training import (
    MIN_LABELS_OF_THEME,
    data_hash,
    examples_of,
    labels_of,
    train,
)
from news_assets.settings import Settings
from news_assets.terminal import Terminal


def train_themes(
    desk: Annotated[str, typer.Option(help="key of the desk")],
    error_rate: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=0.5,
            help="share of themes without a second opinion that may be wrong",
        ),
    ] = 0.05,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show the scores, and store nothing")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train, print the cross-validated scores, and put the classifier to use unless it
    is a dry run.

    Raises:
        NewsAssetsError: scikit-learn is not installed, or there are too few labels.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise NewsAssetsError(
            "train-themes needs scikit-learn, which this image leaves out; build it with MODELS=1"
        )
    check_names(desk, None)
    settings = Settings.read()
    classifier, about = _trained(settings, desk, error_rate)
    file = None
    if not dry_run:
        file = theme_models.save(settings.models_dir, desk, classifier, about)
    if as_json:
        write_line(asdict(about) | {"file": file and str(file)})
        return
    for line in _lines(about):
        Terminal().print_line(line)
    Terminal().print_line(f"stored: {file}" if file else "dry run: nothing was stored")


def _trained(
    settings: Settings, desk: str, error_rate: float
) -> tuple[Any, AboutClassifier]:
    """Return the classifier of a desk and its cross-validated scores."""
    with open_ports(settings, ("sandbox", "embedder")) as ports, open_lake() as lake:
        enricher = local_enricher(settings, ports["sandbox"], ports["embedder"].open)
        if of_file := desk_named(desk):
            enricher = enricher.with_taxonomy_of(of_file)
        labels = labels_of(lake, desk, enricher.taxonomy)
        is_same_model = ports["embedder"].open().model == labels.embedding_model
        vectors = enricher.vectors() if is_same_model else None
        examples = examples_of(lake, labels, enricher.theme_input, vectors)
        classifier, found = train(examples, enricher.taxonomy, labels.embedding_model)
    now, content = datetime.now(UTC), data_hash(examples)
    sure, error = found.sure(examples, error_rate)
    counts = Counter(example.code for example in examples)
    about = AboutClassifier(
        version=theme_models.version_of(now, content),
        trained_at=now.isoformat(timespec="seconds"),
        data_hash=content,
        articles=len(examples),
        by_person=labels.by_person,
        themes=len(set(labels.codes.values())),
        accuracy=round(found.accuracy, 4),
        untrained_accuracy=round(found.untrained_accuracy, 4),
        labels_per_theme=dict(counts.most_common()),
        wanted_error_rate=error_rate,
        threshold=round(1 - error_rate, 4),
        sure=round(sure, 4),
        error=round(error, 4),
    )
    return classifier, about


def _lines(about: AboutClassifier) -> list[str]:
    return [
        (
            f"{about.articles} articles with {about.themes} themes of level 1,"
            f" {about.by_person} labelled by persons"
        ),
        _labels_line(about.labels_per_theme),
        f"right in cross-validation: {about.accuracy:.1%}",
        _gain_line(about),
        (
            f"sure with a score of at least {about.threshold:.2f}: {about.sure:.1%}, of these"
            f" wrong: {about.error:.1%}"
        ),
        f"calls of a model saved: {round(1000 * about.sure)} of 1000 articles",
    ]


def _labels_line(counts: Mapping[str, int]) -> str:
    few = sorted(
        code or "none" for code, count in counts.items() if count < MIN_LABELS_OF_THEME
    )
    line = f"labels per theme: {min(counts.values())} to {max(counts.values())}"
    if few:
        line += f"; fewer than {MIN_LABELS_OF_THEME} for {', '.join(few)}"
    return line


def _gain_line(about: AboutClassifier) -> str:
    """Say whether the gain is worth it: beyond two standard errors of the share of
    right themes.
    """
    untrained = about.untrained_accuracy or 0.0
    gain = about.accuracy - untrained
    error = math.sqrt(about.accuracy * (1 - about.accuracy) / about.articles)
    line = (
        f"right without the labels: {untrained:.1%}, a gain of {100 * gain:+.1f} points"
    )
    if gain > 2 * error:
        return f"{line}: worth using"
    advice = "label more articles first, or write `themes: vectors` under `enrich` in the desk file"
    return f"{line}, which may be chance: {advice}"
