from contextlib import suppress
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from news_assets.desks.import_plan import plan_import
from news_assets.desks.import_rows import ImportRow, ImportRows, Refusal
from news_assets.desks.opml import build_opml, parse_opml
from news_assets.errors import NewsAssetsError
from news_assets.records.desks import Agency, Desk, Source

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)

READER = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<opml version="1.0">
  <body>
    <outline text="Cidades">
      <outline text="Interior" title="Interior">
        <outline type="rss" text="Gazeta da Serra" title="other" xmlUrl="https://example.org/rss?a=1&b=2"/>
      </outline>
      <outline title="C&acirc;mara &amp; Prefeitura" xmlURL="feed://example.net/rss" language="pt_br"/>
    </outline>
    <outline text="Weather" xmlUrl="https://example.com/w" category="/Boston/Weather,/Harvard"/>
    <outline text="A page" type="link" url="https://example.com/page"/>
    <outline text="Broken" xmlUrl="javascript:alert(1)"/>
  </body>
</opml>
"""


def test_outlines_become_rows_with_their_folder_as_type() -> None:
    assert parse_opml(READER) == ImportRows(
        (
            ImportRow(
                line=6,
                url="https://example.org/rss?a=1&b=2",
                name="Gazeta da Serra",
                type="Interior",
            ),
            ImportRow(
                line=8,
                url="http://example.net/rss",
                name="Câmara & Prefeitura",
                type="Cidades",
                language="pt-BR",
            ),
            ImportRow(
                line=10, url="https://example.com/w", name="Weather", type="Weather"
            ),
        ),
        (
            Refusal(11, "`A page` has no xmlUrl"),
            Refusal(12, "`javascript:alert(1)` is not a web address"),
        ),
    )


def test_a_truncated_document_is_read_to_its_end() -> None:
    found = parse_opml(READER[: READER.index('<outline text="A page"')])
    assert [row.name for row in found.rows] == [
        "Gazeta da Serra",
        "Câmara & Prefeitura",
        "Weather",
    ]
    assert [refusal.reason.partition(":")[0] for refusal in found.refused] == [
        "not well-formed"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<html><body>Log in</body></html>", "not OPML: it begins with <html>"),
        ("<rss version='2.0'/>", "not OPML: it begins with <rss>"),
        ("<", "not OPML|not XML"),
        (
            '<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml>&a;</opml>',
            "declares entities",
        ),
    ],
)
def test_any_other_document_is_named(text: str, reason: str) -> None:
    with pytest.raises(NewsAssetsError, match=reason):
        parse_opml(text)


@given(
    st.lists(
        st.sampled_from(
            [
                *"<>&;\"'= /!x",
                "opml",
                "outline",
                "text",
                "xmlUrl",
                "https://a.org/",
                "&#x0;",
            ]
        )
    )
)
def test_any_text_gives_rows_or_an_error(pieces: list[str]) -> None:
    with suppress(NewsAssetsError):
        parse_opml("<opml>" + "".join(pieces))


def agency(key: str, *kinds_and_paths: tuple[str, str], **given: object) -> Agency:
    sources = tuple(
        Source(
            source_id=f"d/{key}/{path}",
            desk="d",
            agency=key,
            kind=kind,
            url=f"https://{key}.example.org{path}",
            timezone="UTC",
            language="en",
        )
        for kind, path in kinds_and_paths
    )
    return Agency(
        key=key,
        name=f"The {key} & co",
        timezone="UTC",
        language="en",
        sources=sources,
        **given,
    )  # type: ignore[arg-type]


def desk(*agencies: Agency, key: str = "d") -> Desk:
    return Desk(
        key=key,
        timezone="UTC",
        language="en",
        first_day=date(2026, 1, 1),
        agencies=agencies,
    )


DESK = desk(
    agency("bee", ("feed", "/rss"), ("feed", "/more"), type="Daily"),
    agency("cat", ("json_feed", "/feed.json"), ("plone_listing", "/news")),
    agency("dog", ("feed", "/rss"), is_active=False, reason="closed"),
    agency("elk", ("sitemap", "/sitemap.xml")),
    agency("g", ("g1", "/rss/g1/mundo/"), ("g1", "/mundo/"), type="Daily"),
)


def test_the_feeds_of_active_agencies_are_written_in_folders_by_type() -> None:
    assert (
        build_opml([DESK], NOW).decode()
        == """\
<?xml version='1.0' encoding='utf-8'?>
<opml version="2.0">
  <head>
    <title>Sources of d</title>
    <dateCreated>Fri, 20 Nov 2026 15:00:00 +0000</dateCreated>
  </head>
  <body>
    <outline text="Daily">
      <outline type="rss" text="The bee &amp; co" title="The bee &amp; co" \
xmlUrl="https://bee.example.org/rss" language="en"/>
      <outline type="rss" text="The bee &amp; co" title="The bee &amp; co" \
xmlUrl="https://bee.example.org/more" language="en"/>
      <outline type="rss" text="The g &amp; co" title="The g &amp; co" \
xmlUrl="https://g.example.org/rss/g1/mundo/" language="en"/>
    </outline>
    <outline type="rss" text="The cat &amp; co" title="The cat &amp; co" \
xmlUrl="https://cat.example.org/feed.json" language="en"/>
  </body>
</opml>
"""
    )


def test_several_desks_have_a_folder_each() -> None:
    root = etree.fromstring(
        build_opml([DESK, desk(agency("bee", ("feed", "/rss")), key="e")], NOW)
    )
    assert [outline.get("text") for outline in root.iterfind("body/outline")] == [
        "d",
        "e",
    ]


def test_an_export_imports_as_the_same_agencies() -> None:
    found = parse_opml(build_opml([DESK], NOW).decode())
    additions = plan_import(found.rows, None, (), ("feed",))
    assert found.refused == additions.refused == ()
    assert {
        (
            one["name"],
            one.get("type"),
            tuple(source["url"] for source in one["sources"]),
        )
        for one in additions.agencies.values()
    } == {
        (
            "The bee & co",
            "Daily",
            ("https://bee.example.org/rss", "https://bee.example.org/more"),
        ),
        ("The g & co", "Daily", ("https://g.example.org/rss/g1/mundo/",)),
        ("The cat & co", None, ("https://cat.example.org/feed.json",)),
    }


@given(st.text())
def test_any_name_can_be_written_and_read(name: str) -> None:
    one = Agency(
        key="a",
        name=name,
        timezone="UTC",
        language="en",
        sources=DESK.agencies[0].sources,
        type=name,
    )
    found = parse_opml(build_opml([desk(one)], NOW).decode())
    assert [row.url for row in found.rows] == [
        "https://bee.example.org/rss",
        "https://bee.example.org/more",
    ]
