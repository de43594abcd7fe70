"""How a source is requested, as a desk file states it, and every mistake in that."""

from datetime import date
from pathlib import Path

import pytest

from news_assets.desks.desk_files import load_desks
from news_assets.errors import DeskFileError
from news_assets.records.desks import Access, PageRule, VendorLimits
from news_assets_tests.desks.test_desk_files import GOOD, KINDS, mistakes, written

OPTIONS = """\
        headers:
          Accept-Language: pt-BR
        token_env: NEWS_TOKEN_CITY
        token_header: X-App-Token
        proxy: http://proxy.example:3128
        delay_s: 2.5
"""
WITH_OPTIONS = GOOD.replace("        every_minutes: 15\n", OPTIONS)
WITH_VENDORS = GOOD.replace(
    "agencies:\n", "vendors:\n  feed: {slots: 2, delay_s: 3, break_s: 30}\nagencies:\n"
)


def access_in(tmp_path: Path, text: str) -> list[Access]:
    (desk,) = load_desks([written(tmp_path, text)], KINDS)
    return [source.access for agency in desk.agencies for source in agency.sources]


def test_a_source_states_how_it_is_requested(tmp_path: Path) -> None:
    assert access_in(tmp_path, WITH_OPTIONS) == [
        Access(),
        Access(
            headers=(("Accept-Language", "pt-BR"),),
            token_env="NEWS_TOKEN_CITY",
            token_header="X-App-Token",
            token_url="https://example.org/on/feed.xml",
            proxy="http://proxy.example:3128",
            delay_s=2.5,
        ),
    ]


def test_the_limits_of_a_vendor_apply_to_every_source_of_the_kind(
    tmp_path: Path,
) -> None:
    limits = Access(
        vendor=VendorLimits(kind="feed", slots=2, delay_s=3.0, break_s=30.0)
    )
    assert access_in(tmp_path, WITH_VENDORS) == [limits, limits]
    assert access_in(tmp_path, WITH_VENDORS.replace("  feed: {", "  sitemap: {")) == [
        Access(),
        Access(),
    ]


def test_every_mistake_is_listed_with_its_line_and_the_fix(tmp_path: Path) -> None:
    options = """\
        headers:
          Authorization: Bearer abc
          X-Api-Key: "s3cr3t"
          Cookie: a=b
          User-Agent: me
          Host: example.org
          If-None-Match: x
          bad name: x
          X-Version: 2
          X-Lines: "a\\nb"
        token_env: Bearer abc
        token_header: Cookie
        proxy: socks5://proxy.example
        delay_s: 301
"""
    text = GOOD.replace("        every_minutes: 15\n", options).replace(
        "agencies:\n",
        "vendors:\n  legistar: {slots: 2}\n  feed:\n    slots: 0\n    slot: 1\n    break_s: -1\nagencies:\n",
    )
    secret = "is for a secret, which no desk file may contain; name an environment variable with `token_env`, and the "
    source = "agencies.on.sources.0"
    assert mistakes(tmp_path, text) == [
        "desk.yaml:6: vendors.legistar: `legistar` is not a kind of source; known: feed, sitemap",
        "desk.yaml:8: vendors.feed.slots: Input should be greater than or equal to 1; change `0`",
        "desk.yaml:9: vendors.feed.slot: unknown key; did you mean `slots`?",
        "desk.yaml:10: vendors.feed.break_s: Input should be greater than or equal to 0; change `-1`",
        f"desk.yaml:19: {source}.headers.Authorization: `Authorization` {secret}header with `token_header`",
        f"desk.yaml:20: {source}.headers.X-Api-Key: `X-Api-Key` {secret}header with `token_header`",
        f"desk.yaml:21: {source}.headers.Cookie: `Cookie` {secret}header with `token_header`",
        f"desk.yaml:22: {source}.headers.User-Agent: `User-Agent` is set for all sources; use NEWS_USER_AGENT",
        f"desk.yaml:23: {source}.headers.Host: `Host` is set by the HTTP client; remove it",
        f"desk.yaml:24: {source}.headers.If-None-Match: `If-None-Match` is set by the HTTP client; remove it",
        f"desk.yaml:25: {source}.headers.bad name: `bad name` is not the name of a header; use letters, digits and -",
        f"desk.yaml:26: {source}.headers.X-Version: not a header's value; write 1 to 1000 printable ASCII characters, "
        "in quotes",
        f"desk.yaml:27: {source}.headers.X-Lines: not a header's value; write 1 to 1000 printable ASCII characters, "
        "in quotes",
        f"desk.yaml:28: {source}.token_env: not the name of an environment variable; write the name here, never the "
        "token itself",
        f"desk.yaml:29: {source}.token_header: `Cookie` cannot carry a token; name another header",
        f"desk.yaml:30: {source}.proxy: `socks5://proxy.example` is not the address of an HTTP proxy; "
        "write http://host:port or https://host:port",
        f"desk.yaml:31: {source}.delay_s: Input should be less than or equal to 300; change `301`",
    ]


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        (
            "token_header: X-App-Token",
            "token_header: there is no token to send; add `token_env: NAME` or remove this",
        ),
        (
            "token_param: token",
            "token_param: there is no token to send; add `token_env: NAME` or remove this",
        ),
        (
            "token_env: NEWS_LOGINS",
            "token_env: `NEWS_LOGINS` is not a variable for tokens; give it a name that begins with NEWS_TOKEN_",
        ),
        (
            "headers: {Accept: a, accept: b}",
            "headers: `accept` is repeated; capital letters make no other header; keep one",
        ),
        (
            'proxy: "http://user:s3cr3t@proxy.example"',
            "proxy: `http://proxy.example` has a user or password; put them into NEWS_LOGINS and leave them out here",
        ),
    ],
)
def test_an_option_that_cannot_be_used_is_an_error(
    tmp_path: Path, options: str, mistake: str
) -> None:
    text = GOOD.replace("every_minutes: 15", options)
    assert mistakes(tmp_path, text) == [
        f"desk.yaml:12: agencies.on.sources.0.{mistake}"
    ]


@pytest.mark.parametrize(
    "options",
    [
        'headers: {X-Version: "s3cr3t\\n"}',
        "headers: {X-Version: [s3cr3t]}",
        'headers: {X-Api-Key: "s3cr3t"}',
        'proxy: "http://user:s3cr3t@proxy.example"',
        'proxy: "ftp://user:s3cr3t@proxy.example"',
        "token_env: s3cr3t.value",
    ],
)
def test_a_secret_in_the_wrong_place_is_not_repeated_in_the_error(
    tmp_path: Path, options: str
) -> None:
    with pytest.raises(DeskFileError) as caught:
        load_desks(
            [written(tmp_path, GOOD.replace("every_minutes: 15", options))], KINDS
        )
    assert "s3cr3t" not in str(caught.value)


PAGES = """\
    pages:
      - content: .story
        remove: .ad, nav > a
      - since: 2026-03-01
        date: time.published
"""


def test_an_agency_states_how_its_pages_are_read(tmp_path: Path) -> None:
    (desk,) = load_desks(
        [written(tmp_path, GOOD.replace("    name: Obs", f"{PAGES}    name: Obs"))],
        KINDS,
    )

    assert [agency.page_rules for agency in desk.agencies if agency.page_rules] == [
        (
            PageRule(content=".story", remove=".ad, nav > a"),
            PageRule(since=date(2026, 3, 1), date="time.published"),
        )
    ]


@pytest.mark.parametrize(
    ("rules", "mistake"),
    [
        ("[{since: 2026-03-01}]", "no selector; add `content`, `remove` or `date`"),
        ("[{content: 'div >'}]", "`div >` is not a CSS selector"),
        ("[{contents: div}]", "unknown key; did you mean `content`?"),
        ("[{content: p}, {date: time}]", "two rules have no `since`; join them"),
        (
            "[{since: 2026-03-01, content: p}, {since: 2026-03-01, date: time}]",
            "two rules have `since: 2026-03-01`",
        ),
    ],
)
def test_a_wrong_rule_for_pages_is_said_with_its_line(
    tmp_path: Path, rules: str, mistake: str
) -> None:
    (found,) = mistakes(
        tmp_path, GOOD.replace("    name: Obs", f"    pages: {rules}\n    name: Obs")
    )

    assert mistake in found
    assert found.startswith("desk.yaml:")
