"""The labelled articles of a desk, as examples to train on."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.labels import labels_in_force
from news_assets.pipeline.enrich.theme_vectors import ThemeVectors
from news_assets.pipeline.enrich.trained.classifier import NO_THEME
from news_assets.pipeline.enrich.trained.features import ThemeInput
from news_assets.pipeline.enrich.trained.training import Example
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle, ThemeLabel
from news_assets.taxonomy.taxonomy_files import Taxonomy

_READ_TOGETHER = 500  # articles, whose texts and vectors are in memory at once

_ThemeInputOf = Callable[[str, str, str | None], ThemeInput]


@dataclass(frozen=True, slots=True)
class Labels:
    """Codes of level 1 by article id, NO_THEME among them, and the model of the
    articles' vectors.

    `by_person` is the number of labels that persons gave.
    """

    codes: dict[str, str]
    by_person: int
    embedding_model: str


def labels_of(lake: Reader, desk: str, taxonomy: Taxonomy) -> Labels:
    """Return the labels of a desk: those of language models, replaced by those of
    persons.

    Articles without a vector, copies that took their original's theme, and codes that
    the taxonomy has no longer are left out. That no theme fits is learnt from persons
    only.

    Raises:
        NewsAssetsError: The desk has no vectors.
    """
    models = dict(
        lake.frame(
            ArticleEmbedding, None, ("article_id", "model"), desk=[desk], outcome=["ok"]
        ).iter_rows()
    )
    if not models:
        raise NewsAssetsError(
            f"desk {desk} has no embeddings to train on; run `article_embeddings` first"
        )
    [(model, _)] = Counter(models.values()).most_common(1)
    given = labels_in_force(lake.read(ThemeLabel, desk=[desk]))
    codes = _codes_of_models(lake, desk) | {
        key: label.code or NO_THEME for key, label in given.items()
    }
    usable: dict[str, str] = {}
    for article_id, code in sorted(codes.items()):
        if models.get(article_id) != model:
            continue
        if code == NO_THEME:
            usable[article_id] = NO_THEME
        elif code is not None and code in taxonomy.themes:
            usable[article_id] = taxonomy.path(code)[0]
    return Labels(usable, len(usable.keys() & given.keys()), model)


def _codes_of_models(lake: Reader, desk: str) -> dict[str, str | None]:
    """Return the themes that language models gave, by article id, without those of
    copies.
    """
    columns = ("article_id", "enricher", "theme_code", "reused_from")
    enriched = lake.frame(EnrichedArticle, None, columns, desk=[desk], outcome=["ok"])
    return {
        article_id: code
        for article_id, enricher, code, original in enriched.iter_rows()
        if enricher != "local" and original is None
    }


def examples_of(
    lake: Reader,
    labels: Labels,
    theme_input: _ThemeInputOf,
    vectors: ThemeVectors | None,
) -> list[Example]:
    """Return an example for each label whose article has a text and a vector.

    Without `vectors` the themes have no untrained scores.
    """
    ids = list(labels.codes)
    examples: list[Example] = []
    for start in range(0, len(ids), _READ_TOGETHER):
        part = ids[start : start + _READ_TOGETHER]
        examples += _examples(lake, part, labels, theme_input, vectors)
    return examples


def _examples(
    lake: Reader,
    ids: Sequence[str],
    labels: Labels,
    theme_input: _ThemeInputOf,
    vectors: ThemeVectors | None,
) -> Iterator[Example]:
    embeddings = lake.read(ArticleEmbedding, article_id=ids, outcome=["ok"])
    embedded = {row.article_id: row.vector for row in embeddings}
    languages = {
        row.article_id: row.language
        for row in lake.read(EnrichedArticle, article_id=ids)
    }
    for article in lake.read(RawArticle, article_id=ids, outcome=["ok"]):
        article_id, language = article.article_id, languages.get(article.article_id)
        found = theme_input(article.title or "", article.text or "", language)
        if not found.text or article_id not in embedded:
            continue
        untrained: dict[str, float] = {}
        if vectors is not None:
            untrained = vectors.scores(found.evidence, embedded[article_id])
        yield Example(
            article_id, found, embedded[article_id], labels.codes[article_id], untrained
        )
