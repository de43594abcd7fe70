"""The command `train-themes`: learn a desk's classifier of themes from the labels of models and persons."""

from dataclasses import asdict
from datetime import UTC, datetime

from news_assets.clients import theme_models
from news_assets.clients.factory import local_enricher, open_ports
from news_assets.clients.theme_models import AboutClassifier
from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names, desk_named, open_lake
from news_assets.pipeline.enrich.trained.examples import examples_of, labels_of
from news_assets.pipeline.enrich.trained.training import data_hash, train
from news_assets.settings import Settings
from news_assets.terminal import Terminal


def train_themes(desk: str, wanted_error_rate: float, *, dry_run: bool, as_json: bool) -> None:
    """Train, print the cross-validated scores, and put the classifier to use unless it is a dry run."""
    check_names(desk, None)
    settings = Settings.read()
    with open_ports(settings, ("sandbox", "embedder")) as ports, open_lake() as lake:
        enricher = local_enricher(settings, ports["sandbox"], ports["embedder"].open)
        if of_file := desk_named(desk):
            enricher = enricher.with_taxonomy_of(of_file)
        labels = labels_of(lake, desk, enricher.taxonomy)
        examples = examples_of(lake, labels, enricher.theme_input)
        classifier, found = train(examples, enricher.taxonomy, labels.embedding_model)
    now, content = datetime.now(UTC), data_hash(examples)
    sure, error = found.sure(examples, wanted_error_rate)
    about = AboutClassifier(
        version=theme_models.version_of(now, content),
        trained_at=now.isoformat(timespec="seconds"),
        data_hash=content,
        articles=len(examples),
        by_person=labels.by_person,
        themes=len(classifier.codes),
        accuracy=round(found.accuracy, 4),
        wanted_error_rate=wanted_error_rate,
        threshold=round(1 - wanted_error_rate, 4),
        sure=round(sure, 4),
        error=round(error, 4),
    )
    file = None if dry_run else theme_models.save(settings.models_dir, desk, classifier, about)
    if as_json:
        write_line(asdict(about) | {"file": file and str(file)})
        return
    for line in _lines(about):
        Terminal().print_line(line)
    Terminal().print_line(f"stored: {file}" if file else "dry run: nothing was stored")


def _lines(about: AboutClassifier) -> list[str]:
    return [
        f"{about.articles} articles with {about.themes} themes of level 1, {about.by_person} labelled by persons",
        f"right in cross-validation: {about.accuracy:.1%}",
        f"sure with a score of at least {about.threshold:.2f}: {about.sure:.1%}, of these wrong: {about.error:.1%}",
        f"calls of a model saved: {round(1000 * about.sure)} of 1000 articles",
    ]
