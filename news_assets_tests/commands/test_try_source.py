"""`try-source`, called as the command line calls it, against sites on loopback."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.cli import main
from news_assets.desks.desk_files import load_desks
from news_assets_tests.clients.web.conftest import Site, answer
from news_assets_tests.sources.page_builders import html
from news_assets_tests.sources.site_builders import alternate, home, rss, search_answer

Run = Callable[..., tuple[int, str, list[str]]]

DESK = """\
desk: mine
timezone: America/Sao_Paulo
language: pt
first_day: 2026-01-01
agencies:
  mec:
    name: Ministério
    sources:
      - kind: plone_listing
        url: {site}/mec/noticias
"""
# tests may run half an hour later
RECENT = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3, minutes=10)


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    opened.put("/", answer(home(alternate("/feed/"), title="Diário da Serra").encode()))
    opened.put("/feed/", answer(rss(opened.url, RECENT).encode()))
    opened.put(
        "/old.xml", answer(rss(opened.url, RECENT - timedelta(days=30)).encode())
    )
    yield opened
    opened.close()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    site: Site,
) -> Run:
    (tmp_path / "mine.yaml").write_text(DESK.format(site=site.url))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEWS_HOME", "home")
    monkeypatch.setenv("NEWS_DESKS", "mine.yaml")
    monkeypatch.setenv("NEWS_HOST_DELAY_S", "0")
    monkeypatch.setenv("NEWS_ALLOW_PRIVATE_HOSTS", "127.0.0.0/8")

    def called(*arguments: str, stdin: str = "") -> tuple[int, str, list[str]]:
        monkeypatch.setattr(sys, "argv", ["news-assets", "try-source", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        with pytest.raises(SystemExit) as left:
            main()
        sys.stdout.flush()
        said = capfd.readouterr()
        return int(left.value.code or 0), said.out, said.err.splitlines()

    return called


def block(site: Site, language: str = "    language: pt\n") -> str:
    return (
        f"  diario-da-serra:\n    name: Diário da Serra\n{language}    sources:\n"
        f"      - kind: feed\n        url: {site.url}/feed/\n"
    )


def test_a_home_page_gives_the_block_and_its_reasons(run: Run, site: Site) -> None:
    code, out, err = run(site.url)
    assert (code, out) == (0, block(site))
    assert err == [
        f"{site.url}  Diário da Serra",
        f"  + feed  {site.url}/feed/  (link rel=alternate)",
        "          4 entries, newest 3 days old, 100% dated, 100% titled, 0% with full text, language pt",
        f"  - -     {site.url}  (the address itself)",
        '          refused: not a listing: an HTML page of no known kind, titled "Diário da Serra"',
        "  2 requests",
        "",
        "paste it below `agencies:` of a desk file; or put the address in a file: "
        "news-assets import FILE --into DESK.yaml",
    ]


def test_the_block_can_be_appended_to_a_desk_file(
    run: Run, site: Site, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(path.read_text() + run(site.url, "--desk", "mine")[1])
    (desk,) = load_desks([str(path)], ("feed", "plone_listing"))
    assert [source.url for source in desk.sources] == [
        f"{site.url}/feed/",
        f"{site.url}/mec/noticias",
    ]
    code, out, err = run(site.url)
    assert (code, out, err[-1]) == (
        1,
        "",
        f"news-assets: nothing to propose for {site.url}",
    )
    assert "          refused: already in desk mine, agency diario-da-serra" in err


def test_the_language_of_the_desk_is_not_repeated(run: Run, site: Site) -> None:
    assert run(site.url, "--desk", "mine")[1] == block(site, language="")


def test_a_listing_on_a_new_platform_gets_its_new_kind(run: Run, site: Site) -> None:
    page = html(
        "x", head='<meta name="generator" content="Plone 6 - https://plone.org">'
    )
    site.put("/mec/noticias", answer(page.encode()))
    query = "portal_type=News%20Item&sort_on=effective&sort_order=descending&fullobjects=1&b_size=25"
    site.put(
        f"/++api++/mec/noticias/@search?{query}",
        answer(search_answer(site.url, RECENT).encode()),
    )
    code, out, err = run(f"{site.url}/mec/noticias")
    assert (code, out.splitlines()[0], out.splitlines()[-2:]) == (
        0,
        "  mec:",
        ["      - kind: plone_search", f"        url: {site.url}/mec/noticias"],
    )
    assert (
        err[-1]
        == "in desk mine, agency mec: replace its source of kind plone_listing with this one"
    )


def test_each_candidate_is_a_json_line(run: Run, site: Site) -> None:
    code, out, err = run(site.url, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, [])
    assert [
        (one["kind"], one["is_accepted"], one["entries"], one["block"]) for one in lines
    ] == [
        ("feed", True, 4, block(site)),
        (None, False, 0, None),
    ]
    assert (lines[0]["newest_at"], lines[0]["language"]) == (RECENT.isoformat(), "pt")


def test_several_addresses_are_independent(run: Run, site: Site) -> None:
    given = f"{site.url}/old.xml\nnonsense\n\n{site.url}/feed/\n"
    code, out, err = run(stdin=given)
    assert (code, out) == (0, block(site))
    assert [line for line in err if not line.startswith("   ")][:5] == [
        f"{site.url}/old.xml",
        f"  - feed  {site.url}/old.xml  (the address itself)",
        "  1 request",
        "nonsense",
        "  not a web address",
    ]
    code, out, err = run("-", "--json", stdin=given)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, [])
    assert [one.get("refusals", one.get("error")) for one in lines] == [
        ["newest entry 33 days old, more than 7"],
        "not a web address",
        [],
    ]


def test_the_login_of_an_address_is_neither_shown_nor_proposed(
    run: Run, site: Site
) -> None:
    code, out, err = run(f"{site.url}/feed/".replace("://", "://user:word@"))
    assert (code, out) == (0, block(site))
    assert "word" not in "".join(err)


def test_language_and_age_are_options(run: Run, site: Site) -> None:
    assert run(f"{site.url}/old.xml", "--max-age-days", "60")[0] == 0
    code, _, err = run(f"{site.url}/feed/", "--language", "en")
    assert (code, err[3]) == (1, "          refused: language pt is not en")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("nonsense",), 2, "`nonsense` is not a web address; see news-assets --help"),
        (
            ("https://example.org", "--language", "português"),
            2,
            "`português` is not a language code",
        ),
        (
            ("https://example.org", "--max-age-days", "0"),
            2,
            "'--max-age-days': Input should be greater than or equal to 1",
        ),
        (
            ("https://example.org", "--desk", "other"),
            1,
            "news-assets: no desk `other`; known: mine",
        ),
    ],
)
def test_bad_usage_is_one_line_without_requests(
    run: Run, site: Site, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    found = run(*arguments)
    assert (found[0], found[1], len(found[2])) == (code, "", 1)
    assert complaint in found[2][0]
    assert site.paths == []


def test_a_failed_request_is_reported(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEWS_ALLOW_PRIVATE_HOSTS", "")
    code, out, err = run(site.url)
    refused = "refused: 127.0.0.1 is 127.0.0.1, not a public address"
    assert (code, out) == (1, "")
    assert err == [
        site.url,
        f"  {refused}",
        f"news-assets: nothing to propose for {site.url}",
    ]
    code, out, err = run(site.url, "--json")
    assert (code, json.loads(out)) == (1, {"address": site.url, "error": refused})


# --- civic vendors --------------------------------------------------------------------


def meetings_of_portal(site: Site, *titles: str) -> None:
    """Serve a page of a city that uses a portal on its own host, and the portal's
    meetings of the next days.
    """
    at = datetime.now(UTC).replace(hour=18, minute=0, second=0, microsecond=0)
    rows = [
        {
            "id": number,
            "title": title,
            "dateTime": f"{at + timedelta(days=number):%Y-%m-%dT%H:%M:%S}",
        }
        for number, title in enumerate(titles, start=1)
    ]
    site.put(
        "/council",
        answer(
            home(
                "<script src='/api/v2/PublicPortal/list'></script>", title="Springfield"
            ).encode()
        ),
    )
    site.put(
        "/api/v2/PublicPortal/ListUpcomingMeetings", answer(json.dumps(rows).encode())
    )


def test_the_vendor_of_a_citys_page_is_found_and_its_meetings_are_counted(
    run: Run, site: Site
) -> None:
    meetings_of_portal(site, "City Council", "Planning Commission")
    code, block, said = run(f"{site.url}/council")
    assert code == 0
    assert f"      - kind: primegov\n        url: {site.url}/\n" in block
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    assert any(line.strip() == f"2 meetings, the next on {tomorrow}" for line in said)
    assert any("the key of its city, such as paloaltoCA" in line for line in said)


def test_a_vendor_without_meetings_is_refused_with_the_reason(
    run: Run, site: Site
) -> None:
    meetings_of_portal(site)
    code, block, said = run(f"{site.url}/council", "--json")
    found = [json.loads(line) for line in block.splitlines()]
    [portal] = [one for one in found if one["kind"] == "primegov"]
    assert (code, portal["is_accepted"], portal["refusals"]) == (
        1,
        False,
        ["no meetings"],
    )
    assert said


def test_a_vendor_whose_first_page_names_only_categories_is_asked_for_the_first_of_them(
    run: Run, site: Site
) -> None:
    coming = datetime.now(UTC).date() + timedelta(days=3)
    site.put(
        "/Archive.aspx",
        answer(
            b"<select name=lngArchiveMasterID><option value=30>Agendas</option></select>"
        ),
    )
    link = f'<h1>Archive Center</h1><a href="Archive.aspx?ADID=8">Council Agenda - {coming:%B %d, %Y}</a>'
    site.put("/Archive.aspx?AMID=30", answer(link.encode()))
    code, block, said = run(f"{site.url}/Archive.aspx")
    assert (
        code,
        f"      - kind: civicengage\n        url: {site.url}/Archive.aspx\n" in block,
    ) == (0, True)
    assert any(line.strip() == f"1 meetings, the next on {coming}" for line in said)


def test_an_address_of_a_vendor_is_asked_for_its_meetings_alone(
    run: Run, site: Site
) -> None:
    code, _, said = run(f"{site.url}/AgendaCenter/City-Council-3")
    assert code == 1
    assert any(
        "civicplus" in line and f"{site.url}/AgendaCenter" in line for line in said
    )
    assert any("1 request" in line for line in said)
