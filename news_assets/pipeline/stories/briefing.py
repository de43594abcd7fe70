"""The briefing: sentences of the articles of each story, verbatim, each with its source; as
Markdown, and as the articles of a message. Pure.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final

from news_assets.pipeline.alerts.mail_text import articles_text
from news_assets.text.defuse import markdown_text
from news_assets.text.prose import sentences
from news_assets.text.words import stem, stopwords, words

BRIEFING: Final = "briefing"  # the topic of its messages
_SENTENCES: Final = 3  # of a story
_OWN: Final = 2  # of its first article; of the others one
_NEW_SHARE: Final = 0.5  # of a sentence's words, which none before it has
# of an address within angle brackets
_ADDRESS: Final = str.maketrans({"<": "%3C", ">": "%3E", "\\": "%5C"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An article that a briefing may quote; its text is Markdown."""

    article_id: str
    desk: str
    agency: str
    title: str
    url: str
    published_at: datetime
    language: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A sentence of an article, verbatim, with its source."""

    sentence: Annotated[str, "the sentence"]
    article_id: Annotated[str, "id of the article"]
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    publisher: Annotated[str, "name of the agency"]
    title: Annotated[str, "headline of the article"]
    url: Annotated[str, "address of the article"]
    published_at: Annotated[
        datetime, "time of publication, or of first sight where it states none"
    ]
    language: Annotated[str, "primary language of the article; empty if unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefedStory:
    """A story in a briefing."""

    story_id: Annotated[str, "id of the story"]
    title: Annotated[str, "headline of its most central article"]
    publisher_count: Annotated[int, "number of its independent publishers"]
    article_count: Annotated[int, "number of its articles"]
    quotes: Annotated[Sequence[Quote], "what its articles say, of three at most"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What was published in some days, or about a query in them."""

    first_day: Annotated[date, "first day"]
    last_day: Annotated[date, "last day"]
    query: Annotated[str, "words that the articles have; empty for all"]
    stories: Annotated[
        Sequence[BriefedStory], "those of the most publishers and the newest first"
    ]

    @property
    def title(self) -> str:
        """The days, and the query."""
        days = f"{self.first_day}"
        if self.last_day != self.first_day:
            days = f"{self.first_day} – {self.last_day}"
        return f"{days}: {self.query}" if self.query else days


# --- sentences ------------------------------------------------------------------------


def quotes_of(sources: Iterable[Source], name_of: Callable[[str], str]) -> list[Quote]:
    """Return what the articles of a story say: of each what sums it up, if it adds to
    those before.

    The first article gives up to two sentences and the others one. Those in another
    language than the first are left out. `name_of` gives the name of an agency.
    """
    known = set[str]()
    quotes: list[Quote] = []
    language: str | None = None
    for source in sources:
        if language is None:
            language = source.language
        if source.language != language or len(quotes) >= _SENTENCES:
            continue
        for sentence in _best_sentences(source)[: 1 if quotes else _OWN]:
            stems = _stems(sentence, language)
            if len(stems - known) >= _NEW_SHARE * len(stems):
                known |= stems
                quotes.append(_quote(source, sentence, name_of(source.agency)))
    return quotes


def _best_sentences(source: Source) -> list[str]:
    from news_assets.pipeline.enrich.local_enricher import summary

    return sentences(summary(source.title, source.text, source.language or None) or "")


def _stems(sentence: str, language: str) -> set[str]:
    stop = stopwords(language)
    return {stem(word, language) for word in words(sentence) if word not in stop}


def _quote(source: Source, sentence: str, publisher: str) -> Quote:
    return Quote(
        sentence=sentence,
        article_id=source.article_id,
        desk=source.desk,
        agency=source.agency,
        publisher=publisher,
        title=source.title,
        url=source.url,
        published_at=source.published_at,
        language=source.language,
    )


# --- forms ----------------------------------------------------------------------------


def briefing_markdown(briefing: Briefing) -> str:
    """Return the briefing as Markdown: a heading for each story, and its sentences, each
    with a link to its article.
    """
    blocks = [f"# {markdown_text(briefing.title)}"]
    for story in briefing.stories:
        blocks.append(f"## {markdown_text(story.title)}")
        blocks += [_line(quote) for quote in story.quotes]
    return "\n\n".join(blocks) + "\n"


def _line(quote: Quote) -> str:
    source = markdown_text(f"{quote.publisher}: {quote.title}")
    address = "".join(quote.url.split()).translate(_ADDRESS)
    return f"{markdown_text(quote.sentence)} [{source}](<{address}>)"


def message_of(briefing: Briefing) -> tuple[str, str, dict[str, Any]]:
    """Return subject, text and payload of a message: each sentence is the summary of its
    article.
    """
    articles = []
    for story in briefing.stories:
        for quote in story.quotes:
            article = asdict(quote)
            article["summary"] = article.pop("sentence")
            article["published_at"] = quote.published_at.isoformat()
            article["story_id"] = story.story_id
            articles.append(article)
    payload = {"type": BRIEFING, "title": briefing.title, "articles": articles}
    subject = f"Briefing {briefing.title}"
    return subject, articles_text(articles), payload
