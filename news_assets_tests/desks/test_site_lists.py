"""Lists of sources from and for other programs."""

from contextlib import suppress
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from news_assets.desks.import_plan import ImportRow, ImportRows, Refusal, plan_import
from news_assets.desks.site_lists import build_opml, parse_opml, parse_source_file
from news_assets.errors import NewsAssetsError
from news_assets.records.desks import Agency, Desk, Source
from news_assets_tests.support.growth import grows_linearly

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


CSV = """\
Nome;URL;agency;kind;Idioma;time zone;notes

"Gazeta; da Serra";https://example.org/rss;gazeta;feed;pt_BR;America/Manaus;x
# a comment
"two
lines";example.net/feed
nothing;;;
broken;not an address
"""


def test_a_csv_is_read_by_column_name() -> None:
    assert parse_source_file(CSV.encode("cp1252")) == ImportRows(
        (
            ImportRow(
                line=3,
                url="https://example.org/rss",
                name="Gazeta; da Serra",
                agency="gazeta",
                kind="feed",
                language="pt-BR",
                timezone="America/Manaus",
            ),
            ImportRow(line=5, url="https://example.net/feed", name="two lines"),
        ),
        (Refusal(7, "no address"), Refusal(8, "`not an address` is not a web address")),
    )


def test_a_csv_may_state_the_pace() -> None:
    (row,) = parse_source_file(b"url,pace\nhttps://example.org/council,civic\n").rows
    assert row == ImportRow(line=2, url="https://example.org/council", pace="civic")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(delimiter: str) -> None:
    text = "name,feed_url\nGazeta,https://example.org/a?b=1\n".replace(",", delimiter)
    assert parse_source_file(text.encode()).rows == (
        ImportRow(line=2, url="https://example.org/a?b=1", name="Gazeta"),
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_csv_is_read_in_the_charsets_of_spreadsheets(encoding: str) -> None:
    body = "url,name\r\nhttps://example.org/,Câmara de Itápolis\r\n".encode(encoding)
    assert parse_source_file(body).rows == (
        ImportRow(line=2, url="https://example.org/", name="Câmara de Itápolis"),
    )


def test_a_plain_list_has_an_address_and_optional_name_a_line() -> None:
    text = "# mine\n\nhttps://example.org/rss\nwww.example.net/feed  Gazeta da Serra  # good\nnot one\n"
    assert parse_source_file(text.encode()) == ImportRows(
        (
            ImportRow(line=3, url="https://example.org/rss"),
            ImportRow(
                line=4, url="https://www.example.net/feed", name="Gazeta da Serra"
            ),
        ),
        (Refusal(5, "`not one` is not a web address"),),
    )


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no source in this file; give OPML"),
        (
            b"desk: x\nagencies:\n",
            r"no source in this file \(line 1: `desk: x` is not a web address\)",
        ),
        (b"url,name\n", "no source in this file"),
        (b"\x89PNG\r\n\x1a\n\x00", "no source in this file"),
        (
            b"<!doctype html><title>Log in</title>",
            "not OPML: it begins with <!doctype html",
        ),
        (b"<opml><body/></opml>", "no source in this file"),
    ],
)
def test_a_file_without_a_source_is_an_error(body: bytes, reason: str) -> None:
    with pytest.raises(NewsAssetsError, match=reason):
        parse_source_file(body)


def test_an_unreadable_csv_row_is_refused_alone() -> None:
    long = "x" * 140_000
    text = f"url,name\nhttps://example.org/a,{long}\nhttps://example.org/b,B\n"
    found = parse_source_file(text.encode())
    assert [row.url for row in found.rows] == ["https://example.org/b"]
    assert [refusal.line for refusal in found.refused] == [2]


@given(
    st.binary()
    | st.binary().map(b"url,name\n".__add__)
    | st.binary().map(b"<opml ".__add__)
)
def test_any_bytes_give_rows_or_an_error(body: bytes) -> None:
    with suppress(NewsAssetsError):
        parse_source_file(body)


@pytest.mark.parametrize(
    "text",
    [
        "x" + " " * 1_000_000 + "x",
        "<opml><outline " + " ".join(f'a{n}="1"' for n in range(100_000)) + "/></opml>",
        "<opml><body>" + "<outline>" * 100_000,
        '<!DOCTYPE o [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><opml><body><outline xmlUrl="&b;"/></body></opml>',
        'url,name\nx,"' + '"",' * 500_000,
    ],
    ids=["blanks", "attributes", "depth", "entities", "quotes"],
)
def test_a_bomb_is_refused(text: str) -> None:
    with pytest.raises(
        NewsAssetsError, match=r"no source in this file|declares entities"
    ):
        parse_source_file(text.encode())


def test_a_folder_with_many_attributes_is_read_in_linear_time() -> None:
    def folder(size: int) -> bytes:
        attributes = " ".join(f'a{n}="1"' for n in range(size * 100))
        feeds = "".join(
            f'<outline xmlUrl="https://example.org/{n}"/>' for n in range(size)
        )
        return f"<opml><outline text='x' {attributes}>{feeds}</outline></opml>".encode()

    found = parse_source_file(folder(50))
    assert (len(found.rows), len(found.refused)) == (50, 1)
    assert grows_linearly(parse_source_file, folder)
