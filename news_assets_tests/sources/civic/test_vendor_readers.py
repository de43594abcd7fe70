"""What holds for every vendor."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.meetings import Meeting
from news_assets.sources.civic.vendor_limits import CIVIC_LIMITS
from news_assets.sources.civic.vendor_readers import CIVIC_KINDS, vendor_of
from news_assets_tests.sources.civic.answers import listing

KINDS = sorted(CIVIC_KINDS)
URL = "https://springfield.example.org/v1/springfield?view_id=4"


def test_every_kind_has_readers_and_limits() -> None:
    assert CIVIC_KINDS.keys() == CIVIC_LIMITS.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "body",
    [
        "<html><body><h1>Welcome</h1><p>News</p></body></html>",
        '{"error": 1}',
        "gone",
        "%PDF-1.7",
    ],
)
def test_another_answer_is_an_error_and_not_a_vendor_without_meetings(
    kind: str, body: str
) -> None:
    with pytest.raises(ListingChangedError, match="not a"):
        listing(kind, body, "https://springfield.example.org/")


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_document_is_an_error(kind: str) -> None:
    with pytest.raises(SourceError, match="an empty document"):
        listing(kind, " \n ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_says_nothing_about_meetings(kind: str) -> None:
    refused = listing(kind, "<html>no</html>", URL, 503)
    assert (refused.state, refused.meetings, len(refused.problems)) == (
        "blocked",
        (),
        1,
    )
    assert listing(kind, "<html>no</html>", URL, 404).state == "unknown_client"


@pytest.mark.parametrize("kind", KINDS)
def test_a_bot_check_with_status_200_is_a_refusal(kind: str) -> None:
    body = '<html><title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/h/b/x.js"></script></html>'
    assert listing(kind, body).state == "blocked"


@pytest.mark.parametrize("kind", KINDS)
def test_requests_stay_on_the_sources_host(kind: str) -> None:
    vendor, today = CIVIC_KINDS[kind], date(2026, 3, 10)
    meeting = Meeting(vendor_id="7", agenda_id="8")
    requests = [
        *vendor.upcoming(URL, today),
        *(vendor.days(URL, today, today) if vendor.days else ()),
        *(vendor.items(URL, meeting) if vendor.items else ()),
        *(
            [vendor.signal(URL, datetime(2026, 3, 10, tzinfo=UTC))]
            if vendor.signal
            else ()
        ),
    ]
    assert requests
    assert {request.url.split("/")[2] for request in requests} == {
        "springfield.example.org"
    }


def test_an_unknown_kind_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(
        SourceError, match="unknown kind 'legistr'; known: boarddocs, civicclerk, "
    ):
        vendor_of("legistr")


def test_every_kind_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/civic.md").read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f"\n| `{kind}` | " not in page] == []
