"""What the published data set holds of an article."""

from dataclasses import dataclass, fields

from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle

# in every issue, whatever fields are chosen
ALWAYS = ("article_id", "desk", "agency", "day")
# None of them is the text: it is the publisher's.
USUAL = (
    "title",
    "canonical_url",
    "published_at",
    "first_seen_at",
    "authors",
    "section",
    "tags",
    "language",
    "word_count",
    "duplicate_of",
    "theme_code",
    "theme_labels",
    "keywords",
    "summary",
)
# bytes, which are no values for readers
_LEFT_OUT = {"lead_minhash"}


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """Where the data set is published, and what it holds.

    `place` is a folder or `s3://...`, empty for none. `licence` is an identifier, empty
    where none is stated. Changes are listed for `keep_days` days, 0 for ever.
    """

    place: str
    fields: tuple[str, ...] = USUAL
    licence: str = ""
    keep_days: int = 30


def publishable_fields() -> dict[str, type]:
    """Return the record of each column that may be published; of a name that several
    have, it is the first.
    """
    found: dict[str, type] = {}
    for record in (RawArticle, EnrichedArticle, ArticleEmbedding):
        for field in fields(record):
            if field.name not in _LEFT_OUT:
                found.setdefault(field.name, record)
    return found
