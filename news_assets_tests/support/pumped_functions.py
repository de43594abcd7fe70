"""The functions that read text from outside, each with texts that may take them long;
`main` measures them.

A new function is one line in FUNCTIONS.
"""

import itertools
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime

from news_assets.clients.search.index_texts import Highlighter, snippet
from news_assets.errors import SourceError
from news_assets.pipeline.articles.likeness import (
    Shingles,
    dedupe_stream,
    likeness,
    minhash,
    overlap,
)
from news_assets.pipeline.civic.composing import excerpt_about
from news_assets.pipeline.civic.mentions import mentions_of
from news_assets.pipeline.documents import document_kinds
from news_assets.pipeline.documents.document_kinds import kind_of
from news_assets.pipeline.documents.read import read_document
from news_assets.pipeline.enrich.local_enricher import keywords, summary
from news_assets.pipeline.enrich.model.evidence import SearchedText
from news_assets.pipeline.enrich.model.model_requests import depth_of, reason_not_sent
from news_assets.pipeline.page import markdown
from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.markdown import markdown_of_fragment
from news_assets.pipeline.page.readers import content_type_of, read_page
from news_assets.records.articles import RawArticle
from news_assets.records.desks import DepthRules, EnrichRules
from news_assets.records.reading import Page
from news_assets.sources import discovery, platforms, selector_proposal
from news_assets.sources.civic.meeting_prose import (
    ItemName,
    decisions_of,
    participation_of,
)
from news_assets.sources.civic.moments import clock_of_text, moment_of_text
from news_assets.sources.civic.vendor_meetings import ParseContext, location_of
from news_assets.sources.civic.vendors import read_saved_answers
from news_assets.sources.source_kinds import KINDS
from news_assets.sources.storable_entries import bounded, unique
from news_assets.text import (
    dates,
    fingerprint,
    html,
    limits,
    prose,
    urls,
    words,
)
from news_assets_tests.sources.page_builders import page_of, source_of
from news_assets_tests.store.examples import full
from news_assets_tests.support.pumping import FAR_OVER, FASTER_THAN_LINEAR

CHARS = 100_000
LIMIT_S = 1.0  # CPU for CHARS characters
PAGE_LIMIT_S = 4.0  # of a page of 30,000 elements, most of it in trafilatura; linear
GUARD_S = 30  # of one call; the process is killed then
URL = "https://www.example.org/noticias/1"
ZONE = "America/Sao_Paulo"

TEXT = tuple(
    """a|a |é|\n|\t| |- |* |*a |**a |_a |_a_|`|``a |~~a |![|[|](|[a](|[a](b |\\|> |#|# a\n|<|<a |<b>|</|<!--|-->|&|&amp;
    |&#1;|"|'|(|)|{|}|.|. |a. |a, |a,|a@|@a|http://|https://a.b/|www.|---|- - |===\n|~~~\n|```\n|```\n~~~\n|a\n===\n||a|
    ||-|1|1/|01/01/2026 |12:00 |de |\u202e|\0|\ud800|\u0301|a\u0301|foto:|(foto |Por A |compartilhe |leia |1. """
    .replace("\n    ", "").split("|")
)  # fmt: skip
ADDRESSES = (
    "/amp", "/amp/", ".amp", "/..", "/.", "//", "/../a", "/index.html", ";jsessionid=1", "?", "&", "&amp;", "&a=b", "%",
    "%25", "%2e", "#", ":", "@", "a.", "é.", "\\", "http://", "https://www.google.com/url?q=", "/(S(a))", "*https://",
    "https://a.cdn.ampproject.org/c/s/", "xn--", "[", "\ud800", "\0", "\t", "/2026/01/01",
)  # fmt: skip
RICH = (
    "{",
    "}",
    "\\par ",
    "\\'e7",
    "\\u231 ",
    "\\b ",
    "{\\pict 0f",
    "0f",
    "\\bin9 ",
    "{\\*\\a ",
    "\\trowd\\cell ",
    "a ",
)
NUMBERED = (
    *TEXT,
    *(
        "Lei n",
        "Lei nº",
        "projeto de lei ",
        "ORD ",
        "Ord. ",
        "A 1-1-",
        "2026-",
        "1.234.",
        "1/26 ",
    ),
    *("council ", "Dec. ", "board 1 de maio ", "PL 1/2026, de 1 de maio "),
)
MARKUP = (
    *("<b>", "<p>", "<div>", "<a href=//a.b/c>d</a>", "<a href='//a.b/c'>", "<br>", "<table><tr><td>", "<h1>a b</h1>"),
    *("<p>a b c d e f g. </p>", "<ul><li>", "<blockquote>", "<time datetime=2026-01-01>", "<span class=dek>", "<q>"),
    *('<meta property="og:title" content="a b">', '<meta name=author content="a b">', "<link rel=canonical href=/x>"),
    *("<script>", '<script type="application/ld+json">{"@type":"Article","author":[', "<style>", "<svg>", "<!--", "<![CDATA["),
    *("publicado em 01/01/2026 ", "<p>publicado em 01/01/2026 10h00</p>", "<p>01/01/2026</p>", "<a ", "<a b=c ", "&#x202e;"),
    *("<img src=a>", "<iframe src=//youtube.com/embed/a>", "<title>a b</title>", "<base href=//a.b/>", "&lt;b&gt;"),
)  # fmt: skip
IN_FEED = (
    *("<category>a{n}</category>", "<category>a</category>", "<item>", "<item><link>http://a.b/{n}</link></item>", "<b>"),
    *("<description>", "<link>http://a.b/{n}</link>", "<author>a{n}</author>", "<a{n}:b>", "<a b{n}='c'/>", "&a{n};", "<!--"),
    *("<itunes:keywords>a{n},</itunes:keywords>", "<media:content url='http://a.b/{n}'/>", "<![CDATA[", "a{n},", "<?a ", " "),
    *("<title>a", "<guid>", "&#1;", "<content:encoded>&lt;b&gt;", "<dc:subject>a{n}</dc:subject>", "<enclosure/>", "]]>"),
)  # fmt: skip
LINES = tuple(
    f"{piece}{{n}} " for piece in ("a", "http://a.b/", "<a href=/x", "#a", "a,")
)


def numbered(piece: str, chars: int) -> str:
    """Return the piece repeated; `{n}` in it is a number that differs each time."""
    if "{n}" not in piece:
        return piece * (chars // len(piece))
    return "".join(piece.replace("{n}", str(n)) for n in range(chars // len(piece)))


def page(body: str) -> Page:
    return page_of(body.encode("utf-8", "replace"), URL)


def listing(kind: str, start: str, end: str = "") -> Callable[[str], object]:
    def parse(text: str) -> None:
        with suppress(SourceError):
            KINDS[kind].parse(page(start + text + end), source_of(kind, URL))

    return parse


def meetings(
    kind: str, start: str, end: str = "", url: str = URL
) -> Callable[[str], object]:
    context = ParseContext(timezone=ZONE, now=datetime(2026, 1, 1, tzinfo=UTC))
    return lambda text: read_saved_answers(
        kind, [("a", f"{start}{text}{end}".encode("utf-8", "replace"))], url, context
    )


def _decisions(text: str) -> object:
    name = ItemName(
        item_id="1", number="1", title="A contract for buses", matter_file="26-1"
    )
    return decisions_of(text, [name])


def _excerpt(text: str) -> object:
    return excerpt_about(text, "A contract for buses", "26-1")


def json_text(text: str) -> str:
    return json.dumps(text)[1:-1]


ITEM = "<rss version='2.0'><channel><title>a</title><item><link>http://a.b/1</link><title>b</title>"
END = "</item></channel></rss>"
ARTICLE = "<!DOCTYPE html><html><head><title>a b c</title></head><body><article><h1>a b c</h1>"


def _item(text: str) -> RawArticle:
    return full(RawArticle, title=text, category=text, section=text, text=text)


FUNCTIONS: tuple[tuple[str, Callable[[str], object], Iterable[str]], ...] = (
    ("reason_not_sent", lambda text: reason_not_sent(text, text, EnrichRules(skip_titles=("a b",))), TEXT),
    ("depth_of", lambda text: depth_of(_item(text), DepthRules(brief=("a b",))), (*TEXT, "$1,", "$ 1k")),
    ("SearchedText", lambda text: SearchedText(text).find(f"a b c {text[:500]}"), TEXT),
    ("canonical_url", urls.canonical_url, ADDRESSES),
    ("canonical_url path", lambda text: urls.canonical_url("http://a.b/c" + text), (*ADDRESSES, *TEXT)),
    ("canonical_url query", lambda text: urls.canonical_url("https://www.google.com/url?" + text), ADDRESSES),
    ("web_url", lambda text: urls.web_url("/a" + text, URL), ADDRESSES),
    ("is_same_site", lambda text: urls.is_same_site("http://" + text + ".com.br", URL), ADDRESSES),
    ("day_in_address", lambda text: dates.day_in_address("http://a.b" + text), (*ADDRESSES, "/2026", "-20260101")),
    ("parse_date", lambda text: dates.parse_date(text, ZONE), TEXT),
    ("parse_date short", lambda text: dates.parse_date(text[: dates.MAX_CHARS], ZONE), TEXT),
    ("html.decode", lambda text: html.decode(b"\xff" + text.encode("utf-8", "replace")), (*TEXT, "<meta charset = ")),
    ("plain_text", html.plain_text, (*TEXT, *MARKUP)),
    ("sanitize", lambda text: html.sanitize(text, URL), (*TEXT, *MARKUP)),
    ("language_of", prose.language_of, TEXT),
    ("language_tag", prose.language_tag, TEXT),
    ("strip_markdown", prose.strip_markdown, TEXT),
    ("prose", prose.prose, TEXT),
    ("paragraphs", prose.paragraphs, TEXT),
    ("sentences", prose.sentences, TEXT),
    ("mentions_of", lambda text: mentions_of(None, text, (), date(2026, 1, 1)), NUMBERED),
    ("words", words.words, TEXT),
    ("words_of_texts", lambda text: words.words_of_texts([text]), TEXT),
    ("word_spans", words.word_spans, TEXT),
    ("fold", words.fold, TEXT),
    ("stem", lambda text: words.stem(text, "pt"), ("a", "é", "coes", "a\u0301")),
    ("without_accents", dates.without_accents, TEXT),
    ("normal_words", fingerprint.normal_words, TEXT),
    ("shingles", lambda text: fingerprint.shingles(text.split()), TEXT),
    ("article_id", lambda text: fingerprint.article_id("a", date(2026, 1, 1), text, "0" * 64), TEXT),
    ("near-duplicates", lambda text: [*dedupe_stream([{"id": "1", "text": text}, {"id": "2", "text": text}])], TEXT),
    ("minhash", minhash, TEXT),
    ("likeness", lambda text: alike(text, text + " a b c d e f g"), TEXT),
    ("line", limits.line, TEXT),
    ("identifier", limits.identifier, TEXT),
    ("clean_text", limits.clean_text, TEXT),
    ("summary", lambda text: summary("a", text, "pt"), TEXT),
    ("keywords", lambda text: keywords("a", text, "pt"), TEXT),
    ("keywords of a long title", lambda text: keywords(text, "a", "pt"), TEXT),
    ("snippet", lambda text: snippet(text, Highlighter(("a",), lambda *_: True).spans(text, "pt")), TEXT),
    ("markdown_of_fragment", markdown_of_fragment, (*TEXT, *MARKUP)),
    ("lines of a document", markdown.lines_of, (*TEXT, "a\ufffe\n", "a" * 50 + "\n", "a\xad")),
    ("marked", lambda text: markdown.marked((one, "~~" if one == "a" else "") for one in text), TEXT),
    ("skip_by_name", document_kinds.skip_by_name, (*TEXT, "public ", "letters of ", "how to ")),
    ("skip_by_text", lambda text: document_kinds.skip_by_text([text]), (*TEXT, "From:", " \n", "Subject: \n")),
    ("kind_of", lambda text: kind_of(text.encode("utf-8", "replace")), MARKUP),
    ("read_html", lambda text: read_document(text.encode("utf-8", "replace"), "text/html"), MARKUP[:30]),
    ("read_rtf", lambda text: read_document(b"{\\rtf1 " + text.encode("utf-8", "replace")), RICH),
    ("content_type_of", lambda text: content_type_of(page(text)), (*MARKUP, " ", "<!--a--> ", "<?xml ")),
    ("read_page", lambda text: read_page(page(text), ZONE), MARKUP),
    ("extract body", lambda text: extract(page(ARTICLE + text), ZONE), (*MARKUP, *LINES)),
    ("extract text", lambda text: extract(page(f"{ARTICLE}<p>{'a b c. ' * 99}{text}</p>"), ZONE), ("a ", "&amp;", "1/", ". ")),
    ("extract links", lambda text: extract(page(f"{ARTICLE}<p>{'a b c. ' * 99}{text}</p>"), ZONE),
     ("<a href=//c.d/{n}>a b c</a>", "<a href=//c.d/e>a b c</a>", "<a href=//c.d/e>no</a>")),
    ("extract titles", lambda text: extract(page(ARTICLE + text), ZONE),
     ('<h1>a b c{n}</h1><meta property="og:title" content="a b c{n}">', "<h1>a b c{n}</h1>")),
    ("extract author", lambda text: extract(page(f'<meta name=author content="{text}">{ARTICLE}<p>a'), ZONE), TEXT),
    ("extract JSON-LD", lambda text: extract(page(f'<script type="application/ld+json">{text}</script>{ARTICLE}'), ZONE),
     (*TEXT, '{{"@type":"Article"}},', '{{"@graph":[', '"headline":"', ",}}", "//", "//<![CDATA[", "]]>", "// ")),
    ("extract author of JSON-LD", lambda text: extract(page(
        f'<script type="application/ld+json">{{"@type":"Article","author":"{json_text(text)}"}}</script>{ARTICLE}'), ZONE), TEXT),
    ("feed", listing("feed", ITEM, END), (*IN_FEED, *TEXT)),
    ("feed keywords", listing("feed", f"{ITEM}<keywords>", f"</keywords>{END}"), ("a{n},",)),
    ("feed description", listing("feed", f"{ITEM}<description><![CDATA[", f"]]></description>{END}"), (*MARKUP, *TEXT)),
    ("feed prologue", listing("feed", ""), ("<!--", "<!---->", "<?", " ", "<!DOCTYPE ", "<rss", "<")),
    ("g1 description", listing("g1", f"{ITEM}<description><![CDATA[", f"]]></description>{END}"), (*MARKUP, *TEXT)),
    ("g1 page", listing("g1", "<html><div class=feed-post><a href=/1>a</a>"), MARKUP),
    ("json_feed", lambda text: listing("json_feed", '{"version":"1","items":[{"url":"http://a.b","content_html":"',
                                       '"}]}')(json_text(text)), (*MARKUP, *TEXT)),
    ("json_feed items", listing("json_feed", '{"version":"1","items":[{"url":"http://a.b"}', "]}"),
     (',{"url":"http://a.b/{n}"}', ',{"url":"http://a.b/1","id":"{n}"}', ',{"tags":["a{n}"]}', ",1", ",[")),
    ("json_feed tags", listing("json_feed", '{"version":"1","items":[{"url":"http://a.b","tags":["a"', "]}]}"), (',"a{n}"',)),
    ("plone_listing", listing("plone_listing", "<html><body><div id=content-core>"),
     (*MARKUP, "<article class=tileItem><a class=summary href=/{n}>a</a>", "<div class=item><h2><a href=/{n}>a</a></h2></div>")),
    ("ebc", listing("ebc", "<html><body>"), ("<h3 class=heading><a href=/{n}>a</a></h3>", "<a href=?page={n}>a</a>", *MARKUP)),
    ("html_listing", listing("html_listing", "<html><body><ul class=news>"),
     ("<li><h3><a href=/{n}>a</a></h3><p class=date>1/1/2026</p></li>", "<a href=?page={n}>a</a>", "<div class=pager>", *MARKUP)),
    ("proposed selectors", lambda text: selector_proposal.propose(page("<html><body>" + text), "America/Sao_Paulo"),
     ("<li class=a{n}><h3><a href=/{n}>a headline of some words</a></h3><p class=date>1/1/2026</p></li>",
      "<div class=a><a href=/{n}>a headline of some words</a>", "<p class=a>1/1/2026</p>", "<a rel=next href=/>", *MARKUP)),
    ("sitemap", listing("sitemap", "<urlset>", "</urlset>"),
     ("<url><loc>http://a.b/{n}</loc></url>", "<url>", "<loc>", "&", "<a ", "<url><loc>&</loc>", "<![CDATA[", "<!--", "<a{n}>")),
    ("sitemap of lines", listing("sitemap", "http://a.b/\n"), ("http://a.b/{n}\n", "a\n", " ")),
    ("robots.txt", listing("sitemap", "User-agent: *\n"), ("Sitemap: http://a.b/{n}\n", "allow:\n", " ", "sitemap ")),
    ("wordpress", lambda text: listing("wordpress", '[{"link":"http://a.b","title":{"rendered":"', '"}}]')(json_text(text)), TEXT),
    ("bounded", lambda text: bounded_entry(text), TEXT),
    ("unique", lambda text: unique(text.split()), ("a{n} ",)),
    ("platform_of", lambda text: platforms.platform_of(page("<html>" + text)), (*MARKUP, "class='", "content=")),
    ("protection_of_page", lambda text: platforms.protection_of_page(text.encode("utf-8", "replace")), TEXT),
    ("linked_feeds", lambda text: discovery.facts_of(page("<html>" + text)).feeds,
     ("<a href=/feed/{n}>a</a>", "<link rel=alternate type=application/rss+xml href=/{n}>", *MARKUP)),
    ("clock_of_text", clock_of_text, (*TEXT, "12:00 - ", "after ", "12:00 pm")),
    ("moment_of_text", moment_of_text, (*TEXT, "mar 1, 2026 ", "1/1/2026 ", "2026-01-01T12:00 ")),
    ("location_of", location_of, (*TEXT, "1 A St, ", "a - 1 ", "Room 1 ")),
    ("participation_of", participation_of,
     (*TEXT, "a@b.c ", "555-555-5555 ", "zoom.us/", "meeting id ", "passcode ", "hybrid ", "in person or ", "comments by ", "to make comments ",
      "held virtually ", "1 ", "a.", "comments ")),
    ("decisions_of", _decisions, (*TEXT, "1. A contract\n", "26-1 ", "RESULT: PASS\n", "Motion carried. ", "Item 1 ")),
    ("excerpt_about", _excerpt, (*TEXT, "contract\n\n", "\n\n", "word contract ")),
    ("boarddocs", meetings("boarddocs", '[{"unique":"a"}', "]"), (',{"unique":"{n}","name":"a","numberdate":"20260101"}', ",{}", ",[")),
    ("boarddocs committees", meetings("boarddocs", "<html><a committeeid=AB9A2R259AF0>a</a>"),
     ("<a committeeid=AB9A2R25{n}>a</a>", "<select id=committees><option value=AB9A2R25{n}>a", "<b committeeid=a>", *MARKUP)),
    ("boarddocs agenda", meetings("boarddocs", "<div class=print-meeting-description>1 pm</div><div class='item agendaorder'>"),
     ("<div class='item agendaorder'><dl><dt>Subject<dd>1. a", "<dt>Subject<dd>", "<a href=/files/{n}>a</a>",
      "<div class=print-meeting-description>", "<div class='item agendaorder'>", *MARKUP)),
    ("civicengage", meetings("civicengage", "<h1>Archive Center</h1>", url="https://a.b/Archive.aspx?AMID=1"),
     ("<a href=Archive.aspx?ADID={n}>a agenda 1/1/2026</a>", "<a href=Archive.aspx?ADID={n}>a - - agenda ", "<a href=Archive.aspx?ADID=1{n}>1/1/2026 - ",
      "<select name=lngArchiveMasterID><option value={n}>agenda", *MARKUP)),
    ("civicengage title", meetings("civicengage", "Archive Center<a href=Archive.aspx?ADID=1>", "</a>", "https://a.b/Archive.aspx?AMID=1"),
     (*TEXT, "mar 1, 2026 ", " - - ", "agenda ", "notice of ")),
    ("civicweb", meetings("civicweb", '[{"Id":1,"MeetingDate":"2026-01-01"}', "]"), (',{"Id":{n},"MeetingDate":"2026-01-01"}', ",[", ",{}")),
    ("civicweb name", lambda text: meetings("civicweb", '[{"Id":1,"MeetingDate":"2026-01-01","Name":"', '"}]')(json_text(text)),
     (*TEXT, "***a***", "*** ", " - Mar 1 2026", " - ")),
    ("civicweb agenda", lambda text: meetings(
        "civicweb", '{"Documents":[{"Id":1,"DocumentType":1,"Html":"<a name=AgendaItem1></a><table><tr><td>1.<td>a', '"}]}',
        "https://a.b/Services/MeetingsService.svc/meetings/1/meetingDocuments")(json_text(text)),
     ("<a name=AgendaItem{n}></a><table><tr><td>1.</td><td>a</td></tr></table>", "<a name=AgendaHeading{n}></a><tr><td>1.<td>a",
      "<a href=/document/{n}>a - Pdf</a>", "<tr><td>1.</td><td>a</td></tr>", "<table><tr><td>", "<a name=AgendaItem1>", *MARKUP)),
    ("onbase", meetings("onbase", "<table><tr><td>a", url="https://a.b/AgendaOnline/Meetings/Search"),
     ("<tr><td>a<td>a<td>1/1/2026<td><a href=/Meetings/ViewMeeting?id={n}>Agenda</a>", "<a href=/Meetings/ViewMeeting?id=1>a</a>",
      "<a href=/Meetings/ViewMeeting?id={n} title='View Agenda for a on 1/1/2026'>", "<tr><td>", *MARKUP)),
    ("onbase results", meetings("onbase", "<script>new SearchResults({\"Meetings\":[{}", "]})", "https://a.b/Meetings/Search"),
     (',{"ID":{n},"Name":"a","Time":"2026-01-01T12:00:00"}', ",[", ',{"a":')),
    ("onbase agenda", meetings("onbase", "<table><tr><td>1.<td><a href='javascript:loadAgendaItem(1,false)'>a</a>", url="https://a.b/Documents/ViewAgenda?meetingId=1"),
     ("<table><tr><td>1.</td><td><a href='javascript:loadAgendaItem({n},false)'>a</a></td></tr></table>",
      "<a href='javascript:loadAgendaItem(1,true)'>a</a>", "<table><tr><td><a onclick='loadAgendaItem(1)'>a", *MARKUP)),
    ("onbase screen reader", meetings("onbase", "<div class=accessible-item>1. a</div>", url="https://a.b/Meetings/ViewMeetingAgenda?meetingId=1"),
     ("<div class=accessible-section><h2>a</h2>", "<div class=accessible-item><a onclick='loadAgendaItem({n})'>1. a</a></div>",
      "<div class=accessible-item>", "<div class=accessible-section>", *MARKUP)),
    ("exchanges", meetings("legistar", '{"url":"http://a.b","status":200,"text":"[]"}\n'),
     ('{"url":"http://a.b/{n}","status":200,"text":"[]"}\n', "{\n", "\n", '{"a":[')),
    ("legistar", meetings("legistar", '[{"EventId":1,"EventDate":"2026-01-01"}', "]"),
     (',{"EventId":{n},"EventDate":"2026-01-01"}', ',{"EventItemId":{n},"EventItemEventId":1}', ",[", ",1")),
    ("legistar text", lambda text: meetings("legistar", '[{"EventId":1,"EventDate":"2026-01-01","EventTime":"', '"}]')(json_text(text)), TEXT),
    ("legistar comment", lambda text: meetings("legistar", '[{"EventId":1,"EventDate":"2026-01-01","EventComment":"', '"}]')(json_text(text)),
     (*TEXT, "meeting ", "cancel ", "meetings of ")),
    ("legistar xml", meetings("legistar", '<ArrayOfGranicusEvent xmlns="LegistarWebAPI.Models">', "</ArrayOfGranicusEvent>"),
     ("<a><EventId>{n}</EventId></a>", "<a>", "&", "<!--", "<a{n}>")),
    ("legistar_html", meetings("legistar_html", "<table class=rgMasterTable><tr><th class=rgHeader>Name</th><th class=rgHeader>Meeting Date</th></tr>"),
     ("<tr class=rgRow><td>a</td><td>1/1/2026</td></tr>", "<table class=rgMasterTable>", "<tr class=rgRow>", "<td>", *MARKUP)),
    ("legistar_html detail", meetings("legistar_html", "<p id=_lblDate>1/1/2026<p id=_lblTime>1 pm<table class=rgMasterTable><tr><th class=rgHeader>Title</th></tr>"),
     ("<tr class=rgRow><td><a href=/{n}>a</a></td></tr>", *MARKUP)),
    ("primegov", meetings("primegov", '[{"id":1}', "]"), (',{"id":{n},"dateTime":"2026-01-01"}', ",[", ',{"documentList":[{}]}')),
    ("primegov page", meetings("primegov", "<html><div class=agenda-item>a</div>"),
     ("<div class=agenda-item><a href=/{n}.pdf>a</a></div>", "<div class=agenda-item>", *MARKUP)),
    ("civicclerk", meetings("civicclerk", '{"value":[{"eventName":"a"}', "]}"), (',{"id":{n},"eventName":"a"}', ",[", ",1")),
    ("civicclerk items", meetings("civicclerk", '{"items":[{"id":1}', "]}"), (',{"id":{n},"agendaObjectItemName":"a"}', ',{"childItems":[')),
    ("escribe", lambda text: meetings("escribe", '{"d":[{"MeetingName":"a","Description":"', '"}]}')(json_text(text)), (*TEXT, "<br/>a")),
    ("escribe page", meetings("escribe", "<html><div class=AgendaItemContainer>"),
     ("<div class=AgendaItemContainer><p class=AgendaItemTitle>a", "<div class=AgendaItemContainer>a</div>", "<div>", *MARKUP)),
    ("granicus", meetings("granicus", "<html><p>granicus<table>"),
     ("<tr class=a><td>a</td><td>1/1/2026</td><td><a href=?clip_id={n}>a</a></td></tr>", "<tr><td>", "<tr class=a><td>a<td>", *MARKUP)),
    ("granicus agenda", meetings("granicus", "<html>agenda", url="https://a.granicus.com/AgendaViewer.php?clip_id=1"),
     ("<table><tr><td>1.</td><td>a</td></tr></table>", "<a href=/MetaViewer.php?a={n}>a</a>", "<br>a", "<tr><td>1.", *MARKUP)),
    ("granicus feed", meetings("granicus", "<?xml version='1.0'?><rss>"), ("<item><title>a - Jan 1, 2026</title></item>", "<item>", "&")),
    ("civicplus", meetings("civicplus", "<html>AgendaCenter<table>"),
     ("<tr class=catAgendaRow><td><h4><a href=/ViewFile/Agenda/_01012026-{n}>a", "<tr class=catAgendaRow>", "<h2>a", *MARKUP)),
    ("iqm2", meetings("iqm2", "<html>iqm2"),
     ("<div class=MeetingRow><a href=Detail_Meeting.aspx?ID={n} title='a'>1/1/2026</a></div>", "<div class=MeetingRow>", *MARKUP)),
    ("iqm2 detail", meetings("iqm2", "<p class=MeetingHeading><i id=_lblMeetingDate>1/1/2026</i><table id=MeetingDetail>"),
     ("<tr><td class=Num>1<td>a</tr>", "<tr><td><td class=Num>1<td><a href=FileOpen.aspx?ID={n}>a</a></tr>", "<td class=Num>", *MARKUP)),
    ("novusagenda", meetings("novusagenda", "<table class=rgMasterTable>"),
     ("<tr class=rgRow><td>1/1/26<td>a<td><a href=?MeetingID={n}>a</a></tr>", "<a href=CoverSheet.aspx?ItemID={n}>a</a>", *MARKUP)),
    ("municode pages", meetings("municode", "<table class=mcm>"),
     ("<tr><td class=meeting>a 1/1/2026<td class=agenda><a href=/{n}>a</a></tr>", "<table class=mcm>", "<tr>", *MARKUP)),
    ("municode agenda", meetings("municode", "<section class=agenda-section>"),
     ("<section class=agenda-section><ul class=agenda-items><li>a", "<ul class=agenda-items><li>1. a</li></ul>", *MARKUP)),
    ("pdf_links", meetings("pdf_links", "<html><a href=/a.pdf>1/1/2026</a>"),
     ("<a href=/a-{n}.pdf>1/1/2026</a>", "<li><a href=/a.pdf>a</a>", "<h2>a</h2><a href=/a.pdf>1/1/2026</a>", "<p>", *MARKUP)),
    ("icalendar", meetings("icalendar", "BEGIN:VCALENDAR\r\n", "END:VCALENDAR\r\n"),
     ("BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART:20260101T120000\r\nEND:VEVENT\r\n", "BEGIN:VEVENT\r\n", "A:b\r\n", " ", "BEGIN:VTIMEZONE\r\n",
      "BEGIN:VEVENT\r\nUID:{n}\r\nDTSTART:20260101T120000\r\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31\r\nEND:VEVENT\r\n")),
    ("icalendar text", lambda text: meetings("icalendar", "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20260101\r\nDESCRIPTION:",
                                             "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")(text.replace("\n", " ")), TEXT),
    ("name_of", discovery.name_of, (*TEXT, " rss", " - ", " feed")),
)  # fmt: skip


def bounded_entry(text: str) -> object:
    from news_assets.records.reading import ListedEntry

    return bounded(
        ListedEntry(
            entry_id=text,
            url=URL,
            title=text,
            summary=text,
            authors=(text,),
            categories=(text,),
        )
    )


def alike(text: str, other: str) -> object:
    one, two = Shingles.of(text), Shingles.of(other)
    return one and two and likeness(overlap(one, two))


def rows(names: Iterable[str]) -> Iterator[tuple[str, Callable[[str], object], str]]:
    chosen = [row for row in FUNCTIONS if not names or row[0] in names]
    yield from itertools.chain.from_iterable(
        ((name, work, piece) for piece in pieces) for name, work, pieces in chosen
    )


def cpu_s(work: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    work(text)
    return time.process_time() - started


def main() -> int:
    slow = 0
    for name, work, piece in rows(sys.argv[1:]):
        if not piece:
            continue
        # the last such line names what was killed
        print(f"RUNS {name} with {piece!r}", flush=True)
        soft = int(time.process_time()) + GUARD_S
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))
        work(numbered(piece, CHARS // 50))  # loads what it needs
        took = cpu_s(work, numbered(piece, CHARS))
        limit_s = LIMIT_S
        if name.startswith(("extract", "read_page")):
            limit_s = PAGE_LIMIT_S
        if took <= limit_s:
            continue
        quarter = cpu_s(work, numbered(piece, CHARS // 4))
        if took > FAR_OVER * limit_s or took > FASTER_THAN_LINEAR * quarter:
            print(
                f"SLOW {name} with {piece!r}: {took:.1f} s, {quarter:.2f} s for a quarter",
                flush=True,
            )
            slow += 1
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
