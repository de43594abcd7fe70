"""The sentences of a briefing, and its forms."""

from datetime import UTC, date, datetime

from news_assets.pipeline.alerts.mail_text import articles_text
from news_assets.pipeline.stories.briefing import (
    BriefedStory,
    Briefing,
    Quote,
    Source,
    briefing_markdown,
    message_of,
    quotes_of,
)

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
BRIDGE = (
    "The city council of Porto Belo approved on Tuesday a bridge over the river Sul for"
    " 40 million reais. Work on the foundations is to begin in March next year."
)
SAME = (
    "A bridge over the river Sul for 40 million reais was approved on Tuesday by the city"
    " council of Porto Belo."
)
ELSE = (
    "Fishermen of the southern shore protested against the pillars, which they fear will"
    " close the harbour entrance to larger boats."
)


def source(
    agency: str, text: str, language: str = "en", title: str = "Bridge"
) -> Source:
    return Source(
        article_id=f"{agency}-1",
        desk="d",
        agency=agency,
        title=title,
        url=f"https://{agency}.example/1",
        published_at=AT,
        language=language,
        text=text,
    )


def quoted(*sources: Source) -> list[tuple[str, str]]:
    return [(one.agency, one.sentence) for one in quotes_of(sources, str.upper)]


def test_sentences_are_verbatim_and_have_their_source() -> None:
    (first, *_) = quotes_of([source("a", BRIDGE)], str.upper)

    assert first.sentence in BRIDGE
    assert first == Quote(
        sentence=first.sentence,
        article_id="a-1",
        desk="d",
        agency="a",
        publisher="A",
        title="Bridge",
        url="https://a.example/1",
        published_at=AT,
        language="en",
    )


def test_another_publisher_is_quoted_only_for_what_is_new() -> None:
    found = quoted(source("a", BRIDGE), source("b", SAME), source("c", ELSE))

    assert {agency for agency, _ in found} == {"a", "c"}
    assert found[-1] == ("c", ELSE)


def test_a_story_has_three_sentences_at_most() -> None:
    topics = ("fishermen boats", "teachers schools", "farmers cattle", "nurses wards")
    others = [
        source(str(n), f"Many {words} in the south were not asked about it at all.")
        for n, words in enumerate(topics)
    ]

    assert len(quoted(source("a", BRIDGE), *others)) == 3


def test_articles_in_another_language_are_left_out() -> None:
    portuguese = "Pescadores da margem sul protestaram contra os pilares da ponte nova."

    assert {
        agency
        for agency, _ in quoted(source("a", BRIDGE), source("b", portuguese, "pt"))
    } == {"a"}


def briefing(*quotes: Quote) -> Briefing:
    day = date(2026, 11, 20)
    story = BriefedStory(
        story_id="s", title="A *bridge*", publisher_count=2, article_count=3, quotes=quotes
    )  # fmt: skip
    return Briefing(first_day=day, last_day=day, query="", stories=[story])


def test_markdown_has_a_heading_for_each_story_and_a_link_for_each_sentence() -> None:
    (quote,) = quotes_of([source("a", SAME)], str.upper)

    assert briefing_markdown(briefing(quote)) == (
        "# 2026-11-20\n\n## A \\*bridge\\*\n\n"
        f"{SAME} [A: Bridge](<https://a.example/1>)\n"
    )


def test_no_text_of_an_article_is_markup() -> None:
    hostile = Quote(
        sentence="See [here](http://evil.example) <script>",
        article_id="a-1",
        desk="d",
        agency="a",
        publisher="A](x)",
        title="# T\n- x",
        url="https://a.example/1> [x](y)",
        published_at=AT,
        language="en",
    )

    last = briefing_markdown(briefing(hostile)).splitlines()[-1]

    assert last == (
        "See \\[here\\](http://evil.example) \\<script> "
        "[A\\](x): # T - x](<https://a.example/1%3E[x](y)>)"
    )


def test_a_message_has_the_sentences_as_summaries_of_their_articles() -> None:
    quotes = quotes_of([source("a", BRIDGE), source("c", ELSE)], str.upper)

    subject, text, payload = message_of(briefing(*quotes))

    assert subject == "Briefing 2026-11-20"
    assert payload["type"] == "briefing"
    assert [one["summary"] for one in payload["articles"]] == [
        quote.sentence for quote in quotes
    ]
    assert text == articles_text(payload["articles"])
    assert "https://c.example/1" in text
