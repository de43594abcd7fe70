"""The commands `train-themes` and `label`: a desk's classifier of themes, and a person's
corrections of them.
"""

import importlib.util
import math
import os
import pwd
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from news_assets.clients.factory import local_enricher, open_ports
from news_assets.clients.local_enrichers import (
    AboutClassifier,
    classifier_version,
    save_classifier,
)
from news_assets.commands.opening import check_names, desk_named, open_lake
from news_assets.commands.terminal import (
    Item,
    Json,
    Terminal,
    read_items,
    write_line,
    write_results,
)
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.enriched_rows import store_label
from news_assets.pipeline.enrich.theme_training import (
    MIN_LABELS_OF_THEME,
    data_hash,
    examples_of,
    labels_of,
    train,
)
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, ThemeLabel
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.taxonomy import Taxonomy, load_taxonomy, taxonomy_of
from news_assets.text.prose import prose

# --- train-themes ---------------------------------------------------------------------


_Desk = Annotated[str, typer.Option(help="key of the desk")]
_ErrorRate = Annotated[
    float,
    typer.Option(
        min=0.001,
        max=0.5,
        help="share of themes without a second opinion that may be wrong",
    ),
]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="show the scores, and store nothing")
]


def train_themes(
    desk: _Desk,
    error_rate: _ErrorRate = 0.05,
    dry_run: _DryRun = False,
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
        file = save_classifier(settings.models_dir, desk, classifier, about)
    if as_json:
        write_line(asdict(about) | {"file": str(file) if file else None})
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
    now = datetime.now(UTC)
    content = data_hash(examples)
    sure, error = found.sure(examples, error_rate)
    counts = Counter(example.code for example in examples)
    about = AboutClassifier(
        version=classifier_version(now, content),
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


# --- label ----------------------------------------------------------------------------

_NO_THEME = "none"
_COLUMNS = (
    "article_id",
    "theme_code",
    "theme_labels",
    "theme_score",
    "day",
    "reused_from",
    "enricher",
)
_SHOWN_CHARS = 400
_HELP = (
    f"a code; Enter if the theme is right; `{_NO_THEME}` if none fits; `?` for the codes; `s` to"
    " skip; `q` to end"
)


_Limit = Annotated[int, typer.Option(min=1, max=1000, help="how many articles")]
_By = Annotated[
    str | None,
    typer.Option(help="name of the person; default: the user of this machine"),
]
_Reads = Annotated[
    bool,
    typer.Option(
        "--read",
        help="store labels from standard input instead, a line {id, code, by} each",
    ),
]


def label_themes(
    desk: _Desk,
    limit: _Limit = 20,
    by: _By = None,
    as_json: Json = False,
    reads: _Reads = False,
) -> None:
    """Show the least certain articles one by one and store the themes that are entered;
    or print these articles, or read labels, as JSON lines.
    """
    check_names(desk, None)
    person = by or _user()
    of_file = desk_named(desk)
    setting = Settings.read().taxonomy
    taxonomy = taxonomy_of(of_file, setting) if of_file else load_taxonomy(setting)
    with open_lake() as lake:
        if reads:
            write_results(
                read_items("id", "code"),
                lambda item: _store(lake, desk, taxonomy, item, person),
                "storing labels",
            )
        elif as_json:
            for item in _queue(lake, desk, limit):
                write_line(item)
        else:
            _label_by_prompt(
                lake, desk, taxonomy, list(_queue(lake, desk, limit)), person
            )


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _queue(lake: Lake, desk: str, limit: int) -> Iterator[Item]:
    """Yield the articles without a label, those with the lowest scores first; copies
    are left out.
    """
    labelled = lake.frame(ThemeLabel, None, ("article_id",), desk=[desk])
    enriched = lake.frame(EnrichedArticle, None, _COLUMNS, desk=[desk], outcome=["ok"])
    rows = {}
    for row in enriched.iter_rows(named=True):
        if row["reused_from"] is None:
            rows[row["article_id"]] = row
    for known in labelled["article_id"]:
        rows.pop(known, None)
    chosen = sorted(rows.values(), key=_least_certain_first)[:limit]
    ids = [row["article_id"] for row in chosen]
    articles = {one.article_id: one for one in lake.read(RawArticle, article_id=ids)}
    for row in chosen:
        article = articles.get(row["article_id"])
        if article is not None:
            yield _question(row, article)


def _least_certain_first(row: Mapping[str, Any]) -> tuple[float, int, str]:
    return row["theme_score"], -row["day"].toordinal(), row["article_id"]


def _question(row: Mapping[str, Any], article: RawArticle) -> Item:
    """Return what a person sees of an article, and its theme, by JSON key."""
    return {
        "id": row["article_id"],
        "title": article.title,
        "text": prose(article.text or "")[:_SHOWN_CHARS],
        "url": article.url,
        "day": row["day"],
        "code": row["theme_code"],
        "theme": " > ".join(row["theme_labels"]),
        "score": row["theme_score"],
        "enricher": row["enricher"],
    }


def _store(lake: Lake, desk: str, taxonomy: Taxonomy, item: Item, person: str) -> Item:
    given = item["code"]
    if not isinstance(given, str | None):
        raise NewsAssetsError("code is neither a text nor null")
    code = None if given in (None, _NO_THEME) else str(given)
    by = str(item.get("by") or person)
    stored = lake.transact(
        lambda rows: store_label(
            rows, str(item["id"]), desk, code, by, taxonomy, datetime.now(UTC)
        )
    )
    return {
        "id": stored.article_id,
        "code": stored.code,
        "previous": stored.previous,
        "by": stored.labelled_by,
    }


def _label_by_prompt(
    lake: Lake, desk: str, taxonomy: Taxonomy, queue: list[Item], person: str
) -> None:
    terminal = Terminal()
    terminal.print_line(_HELP if queue else f"nothing to label in desk {desk}")
    stored = 0
    for number, item in enumerate(queue, start=1):
        title = item["title"] or "without a title"
        code = item["code"] or _NO_THEME
        place = f"{number}/{len(queue)}"
        terminal.print_line(f"\n{place}  {item['day']}  {title}", "bold")
        terminal.print_line(f"{item['text']}\n{item['url']}")
        terminal.print_line(f"theme: {code} {item['theme']} ({item['score']:.2f})")
        answer = _prompt(lake, desk, taxonomy, item, person)
        if answer == "q":
            break
        stored += answer != "s"
    terminal.print_line(
        f"{stored} labels stored; `news-assets train-themes --desk {desk}` learns from them"
    )


def _prompt(lake: Lake, desk: str, taxonomy: Taxonomy, item: Item, person: str) -> str:
    """Prompt until a label is stored or the person skips or ends; return the answer."""
    while True:
        try:
            given: str = typer.prompt(
                "theme", default=item["code"] or _NO_THEME, show_default=False
            ).strip()
        except typer.Abort:  # the end of the input
            return "q"
        if given in ("s", "q"):
            return given
        if given == "?":
            for code, theme in taxonomy.themes.items():
                Terminal().print_line(f"{'  ' * theme.level}{code}  {theme.label()}")
            continue
        try:
            _store(lake, desk, taxonomy, {**item, "code": given}, person)
        except NewsAssetsError as error:
            Terminal().print_line(str(error))
            continue
        return given
