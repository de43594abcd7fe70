"""Rows that are made from articles: enrichments, embeddings, stories (the articles about one
event); rows of failures; and what the published data set holds of an article.
"""

from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Annotated

from news_assets.records.articles import RawArticle
from news_assets.records.content import (
    Agency_,
    ArticleId,
    Day_,
    Desk_,
    Reason,
    RowOutcome,
    stays_when_withdrawn,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichedArticle:
    """The enrichment of one article."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    input_hash: Annotated[
        str,
        "SHA-256 of title, text, enricher, model, prompt version and taxonomy version",
    ]
    content_hash: Annotated[
        str, "content_hash of the article that it was made from"
    ] = ""
    is_provisional: Annotated[bool, "a language model is to replace the row"] = False
    theme_code: Annotated[
        str | None, "code of the most specific theme; none if no theme fits well enough"
    ]
    theme_path: Annotated[tuple[str, ...], "codes of the theme, from level 1 down"]
    theme_labels: Annotated[tuple[str, ...], "labels of the theme, from level 1 down"]
    theme_score: Annotated[
        float,
        "probability of being right of the theme, or of the best one where none is given, 0 to 1; 0"
        " for a language model's, which states none",
    ]
    theme_reason: Annotated[
        str | None,
        "why there is no theme: weak or divided evidence, or a language without words",
    ] = None
    summary: Annotated[
        str | None,
        "summary of one or two sentences; a language model's of an agenda item has up to six",
    ]
    keywords: Annotated[tuple[str, ...], "key terms, most significant first"]
    language: Annotated[str | None, "BCP 47 code, detected from the text"]
    word_count: Annotated[int, "length of the text in words"]
    reading_minutes: Annotated[int, "reading time in minutes"]
    readability: Annotated[
        float | None, "Flesch reading ease, 0 to 100, adapted to the language"
    ]
    enricher: Annotated[str, "name of the enricher"]
    model: Annotated[str, "model or version of the enricher"]
    prompt_version: Annotated[str, "version of the prompt or the rules"]
    taxonomy_version: Annotated[str, "version of the taxonomy"]
    reused_from: Annotated[
        str | None, "article_id whose result the row has: the original of a copy"
    ]
    enriched_at: Annotated[datetime, "time of the enrichment"]
    outcome: RowOutcome
    reason: Reason
    summary_spans: Annotated[
        tuple[str, ...],
        "for each sentence of a model's summary the part of the text that supports it, as"
        " `start-end` in characters; empty if none does",
    ] = ()
    key_points: Annotated[
        tuple[str, ...], "what a reader has to know, one sentence each"
    ] = ()
    key_point_spans: Annotated[
        tuple[str, ...], "the same as summary_spans for each key point"
    ] = ()
    sentiment: Annotated[
        str | None, "tone of the text: positive, neutral or negative"
    ] = None
    sentiment_score: Annotated[
        float | None, "from -1, wholly negative, to 1, wholly positive"
    ] = None
    article_type: Annotated[
        str | None,
        "news, service, notice, speech, interview, opinion, analysis, feature or other",
    ] = None
    entities: Annotated[
        tuple[str, ...],
        "names of persons, bodies, places and works, most salient first",
    ] = ()
    entities_json: Annotated[
        str | None,
        "the same as JSON: name, kind, count, salience and the spans in the text of each",
    ] = None
    entity_ids: Annotated[
        tuple[str, ...],
        "ids of the same names in their order: kind and words, as `person/ana-lima`",
    ] = ()
    unsure_reason: Annotated[
        str | None,
        "what a person should look at in a language model's answer; none if nothing is in doubt",
    ] = None
    local_reason: Annotated[
        str | None,
        "why the local enricher made the row although NEWS_ENRICHER names a model; none if it"
        " did not",
    ] = None
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedEnrichment:
    """The result of one enricher for one input; failures are not cached.

    An article has several, of its earlier texts and other enrichers too. All of them
    quote it.
    """

    input_hash: Annotated[
        str,
        "SHA-256 of title, text, enricher, model, prompt version and taxonomy version",
    ]
    enricher: Annotated[str, "name of the enricher"]
    model: Annotated[str, "model or version of the enricher"]
    result_json: Annotated[str, "the result (`Enrichment`) as JSON"]
    created_at: Annotated[datetime, "time when the result was created"]
    article_id: Annotated[
        str | None,
        "id of the article that it was made for; none in rows of earlier versions of the program",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMerge:
    """Two names of the same person, body or place, as an operator says."""

    name_id: Annotated[str, "id of the name, as in `entity_ids`"]
    same_as: Annotated[str, "id of the name whose page has its articles"]
    merged_by: Annotated[str, "name given at the log-in; API for the bare token"]
    merged_at: Annotated[datetime, "time when it was said"]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeLabel:
    """The theme that a person gave an article. The newest of an article is in force,
    also for later enrichments.
    """

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    labelled_at: Annotated[datetime, "time of the label"]
    labelled_by: Annotated[str, "name of the person"]
    code: Annotated[str | None, "code of the theme; none if no theme fits"]
    theme_path: Annotated[tuple[str, ...], "codes of the theme, from level 1 down"]
    theme_labels: Annotated[tuple[str, ...], "labels of the theme, from level 1 down"]
    previous: Annotated[str | None, "code that the article had before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleEmbedding:
    """The embedding of one article."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    input_hash: Annotated[str, "SHA-256 of the embedded text and the model"]
    content_hash: Annotated[
        str, "content_hash of the article that it was made from"
    ] = ""
    model: Annotated[str, "name of the embedding model"]
    dim: Annotated[int, "dimensions of the vector"]
    vector: Annotated[tuple[float, ...], "unit vector; empty if the outcome is not ok"]
    token_count: Annotated[int, "tokens of the text before the cut"]
    is_cut: Annotated[bool, "the text was cut at the model's limit"]
    embedded_at: Annotated[datetime, "time of the embedding"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found the entry"]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """Receipt of a document that the search index stored or rejected."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    document_hash: Annotated[
        str, "SHA-256 of the states of the rows that the document was made from"
    ]
    has_vector: Annotated[bool, "the document has a vector"]
    indexed_at: Annotated[datetime, "time when the document was indexed"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Work of a stage for one article that is held back: it failed, may have ended its
    process, was given up, or waits for a language model. The row is deleted when the
    stage succeeds.

    `version` is the state of the input: `entry_hash`, `content_hash` or
    `document_hash`. A failure does not hold back an input that has changed since.
    """

    stage: Annotated[
        str, "name of the stage's table: raw_articles, enriched_articles, ..."
    ]
    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    version: Annotated[
        str, "state of the input that failed; a changed input is processed at once"
    ]
    reason: Annotated[str, "reason of the last failure"]
    attempts: Annotated[int, "number of attempts"]
    first_failed_at: Annotated[datetime, "time of the first failure"]
    last_failed_at: Annotated[datetime, "time of the last failure"]
    next_try_at: Annotated[
        datetime | None, "time of the next attempt; none if it was given up"
    ]
    trace_id: Annotated[str, "id of the poll that found the entry"]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A row of an article that a commit stored. Rows are stored in the transaction of
    the change, in commit order.

    A row that is stored again in the same state is a change again, with the same
    `version`.
    """

    commit_id: Annotated[int, "number of the commit that stored the row"]
    sequence: Annotated[int, "position among the changes of the commit, from 0"]
    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    change: Annotated[
        str,
        "what was done to the article: stored, enriched, embedded, indexed or withdrawn",
    ]
    version: Annotated[
        str, "state of the stored row: its content_hash, input_hash or document_hash"
    ]
    committed_at: Annotated[datetime, "time of the commit's transaction"]


_StoryId = Annotated[
    str, "id of the story, which never changes: day and hash of its first article"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMember:
    """The story that an article is in, and what it is compared with others by."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    story_id: _StoryId
    first_seen_at: Annotated[datetime, "time of the poll that first listed the article"]
    content_hash: Annotated[str, "content_hash of the article that it was made from"]
    model: Annotated[str, "name of the model of the vector"]
    score: Annotated[
        float, "probability of belonging to the story when it joined; 1 if it began it"
    ]
    nearest_id: Annotated[
        str | None,
        "article_id of the article that it is nearest to; none if it began it",
    ]
    is_copy: Annotated[bool, "it is a copy of another article of the story"]
    language: Annotated[str, "primary language of the text; empty if it is not known"]
    vector: Annotated[bytes, "the unit vector in eight bits a dimension"]
    features: Annotated[
        bytes,
        "codes of its words, names and numbers, and of those that find candidates",
    ]
    placed_at: Annotated[datetime, "time when its story was found"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CivicMention:
    """What an article of news names of councils and laws. Which matter or meeting that is
    depends on the agendas that are stored.
    """

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    kind: Annotated[
        str,
        "number (of a matter or law), address (of an agenda, a meeting or a document) or meeting"
        " (a body and a day)",
    ]
    named: Annotated[
        str,
        "the number in one form, as ORD 2026-14 or LEI 14133/2021, the address, or the day that the"
        " passage may mean",
    ]
    passage: Annotated[str, "the sentence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The articles about one event, across publishers, desks and languages.

    `article_id` is the most central one, so the row is made again when that is
    withdrawn.
    """

    story_id: _StoryId
    article_id: Annotated[str, "the article that is nearest to all others"]
    title: Annotated[str | None, "its headline"]
    day: Annotated[date, "day of the story's first article"]
    last_day: Annotated[date, "day of its last article"]
    first_seen_at: Annotated[datetime, "time when its first article was first seen"]
    last_seen_at: Annotated[datetime, "time when its last article was first seen"]
    article_count: Annotated[int, "number of its articles"]
    publisher_count: Annotated[
        int, "number of publishers with an article that is no copy of another's"
    ]
    publishers: Annotated[
        tuple[str, ...], "`desk/agency` of each publisher, in order of first sight"
    ]
    languages: Annotated[tuple[str, ...], "languages of its articles"]
    is_closed: Annotated[bool, "no article has joined it for a week"]
    updated_at: Annotated[datetime, "time of the last change of the row"]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class StoryChange:
    """What became of a story, beside articles that joined it."""

    change_id: Annotated[str, "hash of the kind, the stories and the article"]
    story_id: _StoryId
    kind: Annotated[
        str,
        "merged (it is part of other_id now), split (other_id was part of it), moved (article_id"
        " went to other_id), closed or reopened",
    ]
    other_id: Annotated[str | None, "the other story"]
    article_id: Annotated[str | None, "the article that caused it"]
    day: Annotated[date, "day of that article, or the day after which it is closed"]
    score: Annotated[float | None, "probability that the decision rests on"]
    reason: Annotated[str, "why, in a sentence"]
    changed_at: Annotated[datetime, "time when it was found"]
