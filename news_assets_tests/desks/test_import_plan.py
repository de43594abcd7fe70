"""What a list of sources adds to a desk file."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.desks.import_plan import (
    Additions,
    ImportRow,
    Refusal,
    plan_import,
    same_source_key,
    web_address,
)
from news_assets.desks.yaml_nodes import one_line, quoted
from news_assets.records.desks import Agency, Desk, Source
from news_assets_tests.support.growth import grows_linearly

KINDS = ("feed", "sitemap")


def desk(key: str, url: str, *, is_active: bool = True) -> Desk:
    source = Source(
        source_id=f"{key}/bee/1",
        desk=key,
        agency="bee",
        kind="feed",
        url=url,
        timezone="UTC",
        language="en",
    )
    agency = Agency(
        key="bee",
        name="The Bee",
        timezone="UTC",
        language="en",
        sources=(source,),
        is_active=is_active,
    )
    return Desk(
        key=key,
        timezone="UTC",
        language="en",
        first_day=date(2026, 1, 1),
        agencies=(agency,),
    )


def feed(url: str, **more: str) -> dict[str, str]:
    return {"kind": "feed", "url": url} | more


def test_rows_of_one_name_and_host_become_one_agency() -> None:
    rows = [
        ImportRow(
            line=1, url="https://example.org/a", name="Gazeta da Serra", type="Interior"
        ),
        ImportRow(
            line=2,
            url="https://www.example.org/b",
            name="Gazeta da Serra",
            language="pt",
        ),
        ImportRow(line=3, url="https://example.net/a", name="Gazeta da Serra"),
        ImportRow(line=4, url="https://example.com/feed.xml"),
        ImportRow(line=5, url="https://example.com/sports/rss", kind="sitemap"),
    ]
    assert plan_import(rows, None, (), KINDS) == Additions(
        {
            "gazeta-da-serra": {
                "name": "Gazeta da Serra",
                "type": "Interior",
                "sources": [
                    feed("https://example.org/a"),
                    feed("https://www.example.org/b", language="pt"),
                ],
            },
            "gazeta-da-serra-2": {
                "name": "Gazeta da Serra",
                "sources": [feed("https://example.net/a")],
            },
            "example-com": {
                "name": "example.com",
                "sources": [feed("https://example.com/feed.xml")],
            },
            "example-com-sports": {
                "name": "example.com/sports",
                "sources": [
                    {"kind": "sitemap", "url": "https://example.com/sports/rss"}
                ],
            },
        },
        {},
        (),
    )


def test_an_existing_agency_gets_the_new_source() -> None:
    there = desk("mine", "https://bee.example.org/rss")
    rows = [
        ImportRow(
            line=1,
            url="https://example.org/a",
            agency="bee",
            timezone="UTC",
            language="pt",
        ),
        ImportRow(line=2, url="https://bee.example.org/more", name="The Bee"),
        ImportRow(line=3, url="https://other.example.org/", name="The Bee"),
    ]
    assert plan_import(rows, there, (), KINDS) == Additions(
        {
            "the-bee": {
                "name": "The Bee",
                "sources": [feed("https://other.example.org/")],
            }
        },
        {
            "bee": [
                feed("https://example.org/a", language="pt"),
                feed("https://bee.example.org/more"),
            ]
        },
        (),
    )


def test_a_known_source_is_refused_with_its_place() -> None:
    rows = [
        ImportRow(line=1, url="http://www.example.org/rss/"),
        ImportRow(line=2, url="https://example.net/feed"),
        ImportRow(line=3, url="http://example.net/feed/"),
        ImportRow(line=4, url="https://old.example.org/rss"),
    ]
    known = (
        desk("g1", "https://example.org/rss"),
        desk("old", "https://old.example.org/rss", is_active=False),
    )
    additions = plan_import(rows, None, known, KINDS)
    assert additions.source_count == 1
    assert additions.refused == (
        Refusal(1, "http://www.example.org/rss/: already in desk g1, agency bee"),
        Refusal(3, "http://example.net/feed/: already on line 2"),
        Refusal(
            4,
            "https://old.example.org/rss: already in desk old, agency bee (not active)",
        ),
    )


def test_an_invalid_row_is_refused_with_every_reason() -> None:
    rows = [
        ImportRow(
            line=7,
            url="https://example.org/a",
            kind="feeds",
            timezone="America/Sao_Paolo",
        )
    ]
    assert plan_import(rows, None, (), KINDS) == Additions(
        {},
        {},
        (
            Refusal(7, "kind: `feeds` is not a kind of source; known: feed, sitemap"),
            Refusal(
                7,
                "timezone: `America/Sao_Paolo` is not a time zone; did you mean `America/Sao_Paulo`?",
            ),
        ),
    )


def test_a_name_without_latin_letters_gets_its_key_from_the_host() -> None:
    rows = [
        ImportRow(line=1, url="https://www.nhk.example/rss", name="日本放送"),
        ImportRow(line=2, url="https://x.org", name="!"),
    ]
    assert list(plan_import(rows, None, (), KINDS).agencies) == ["nhk-example", "x-org"]


def test_a_pace_is_kept_and_an_unknown_one_refused() -> None:
    rows = [
        ImportRow(line=1, url="https://example.org/a", name="Council", pace="civic"),
        ImportRow(line=2, url="https://example.org/b", name="Council", pace="weekly"),
    ]
    assert plan_import(rows, None, (), KINDS) == Additions(
        {
            "council": {
                "name": "Council",
                "sources": [feed("https://example.org/a", pace="civic")],
            }
        },
        {},
        (
            Refusal(
                2, "pace: `weekly` is not a pace; write adaptive or civic or signals"
            ),
        ),
    )


def test_a_long_list_takes_linear_time() -> None:
    def rows(count: int) -> list[ImportRow]:
        return [
            ImportRow(line=n, url=f"https://h{n}.example/feed", name="News")
            for n in range(count)
        ]

    def keys(of: list[ImportRow]) -> list[str]:
        return list(plan_import(of, None, (), KINDS).agencies)

    assert grows_linearly(keys, rows)
    assert keys(rows(4_000))[::3_999] == ["news", "news-4000"]
    assert keys(rows(2)) == ["news", "news-2"]


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    rows = [
        ImportRow(line=1, url="https://user:word@example.org/rss"),
        ImportRow(line=2, url="https://u:word@bee.org/"),
    ]
    assert plan_import(rows, desk("mine", "https://bee.org/"), (), KINDS).refused == (
        Refusal(
            1,
            "url: `https://example.org/rss` has a user or password; put them into NEWS_LOGINS and leave them out here",
        ),
        Refusal(2, "https://bee.org/: already in desk mine, agency bee"),
    )


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (" https://example.org/rss ", "https://example.org/rss"),
        ("feed://example.org/rss", "http://example.org/rss"),
        ("feed:https://example.org/rss", "https://example.org/rss"),
        ("feed://https://example.org/rss", "https://example.org/rss"),
        ("www.gov.br/mec/pt-br/noticias", "https://www.gov.br/mec/pt-br/noticias"),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("https://example.org/two words", None),
        ("https://", None),
        ("MEC", None),
        ("", None),
    ],
)
def test_a_written_address_is_normalised(written: str, address: str | None) -> None:
    assert web_address(written) == address


@pytest.mark.parametrize(
    "spelling",
    [
        "http://example.org/news/rss",
        "https://www.example.org/news/rss/",
        "HTTPS://Example.ORG:443/news/rss?utm_source=list",
        "https://example.org/news/./rss#top",
    ],
)
def test_spellings_of_one_source_have_one_key(spelling: str) -> None:
    assert same_source_key(spelling) == same_source_key("https://example.org/news/rss")


@pytest.mark.parametrize(
    "other", ["https://example.org/news", "https://example.org/news/rss?page=2"]
)
def test_other_sources_have_other_keys(other: str) -> None:
    assert same_source_key(other) != same_source_key("https://example.org/news/rss")


@given(st.text())
def test_any_text_is_accepted(text: str) -> None:
    same_source_key(text)
    address = web_address(text)
    assert address is None or address.lower().startswith(("http://", "https://"))


@given(st.text())
def test_a_name_is_one_line(text: str) -> None:
    name = one_line(text)
    assert name is None or (name.isprintable() and name.strip() == name != "")


def test_quoted_text_is_one_short_line() -> None:
    assert quoted(" two\nlines ") == "`two lines`"
    assert quoted("x" * 2_000_000) == f"`{'x' * 100}…`"
