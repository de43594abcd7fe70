"""What holds for every vendor."""

import base64
import json
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.meetings import Meeting
from news_assets.sources.civic import CIVIC_LIMITS
from news_assets.sources.civic.vendors import (
    CIVIC_KINDS,
    read_saved_answers,
    vendor_of,
)
from news_assets_tests.sources.civic.answers import context, listing
from news_assets_tests.sources.civic.test_legistar import BASE, EVENT, ITEMS

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


# --- saved answers --------------------------------------------------------------------

Answer = tuple[str, bytes]


def line(
    url: str, body: object, method: str = "GET", status: int = 200, key: str = "text"
) -> str:
    text = body if isinstance(body, str) else json.dumps(body)
    return json.dumps(
        {"method": method, "url": url, "status": status, "headers": {}, key: text}
    )


def exchanges(*lines: str) -> Answer:
    return "a.jsonl", "\n".join(lines).encode()


def test_items_of_another_answer_complete_a_listed_meeting() -> None:
    for order in (1, -1):
        answers = [
            ("events.json", json.dumps([EVENT]).encode()),
            ("items.json", json.dumps(ITEMS).encode()),
        ][::order]
        [meeting] = read_saved_answers("legistar", answers, BASE, context()).meetings
        assert (meeting.title, len(meeting.items), meeting.is_partial) == (
            "Parks Board",
            2,
            False,
        )


def test_exchanges_are_read_by_their_own_addresses_and_documents_are_left_out() -> None:
    encoded = base64.b64encode(json.dumps([EVENT | {"EventId": 72}]).encode()).decode()
    found = read_saved_answers(
        "legistar",
        [
            exchanges(
                line(f"{BASE}/events", [EVENT]),
                line(f"{BASE}/events", "", method="HEAD"),
                line(f"{BASE}/events", "<a href=x>moved</a>", status=302),
                line(
                    "https://files.example.org/a.pdf",
                    base64.b64encode(b"%PDF-1.7").decode(),
                    key="base64",
                ),
                line(f"{BASE}/events", encoded, key="base64"),
            )
        ],
        "https://other.example.org/",
        context(),
    )
    assert [meeting.vendor_id for meeting in found.meetings] == ["71", "72"]
    assert found.problems == ()


def test_an_answer_that_cannot_be_read_is_a_problem_and_not_the_end() -> None:
    answers = [
        ("a.html", b"<html>Welcome</html>"),
        ("b.json", json.dumps([EVENT]).encode()),
    ]
    found = read_saved_answers("legistar", answers, BASE, context())
    assert len(found.meetings) == 1
    assert found.state == "ok"
    assert found.problems[0].startswith(f"{BASE}: not a page of Legistar")


def test_an_agenda_goes_to_the_meeting_that_names_it() -> None:
    event = {
        "id": 21,
        "eventName": "Board",
        "startDateTime": "2026-03-19T09:30:00Z",
        "agendaId": 300,
    }
    agenda = {"id": 300, "items": [{"id": 1, "agendaObjectItemName": "Lease"}]}
    answers = [
        (name, json.dumps(body).encode())
        for name, body in (("1", agenda), ("2", {"value": [event]}))
    ]
    [meeting] = read_saved_answers(
        "civicclerk", answers, "https://s.api.civicclerk.com/v1/Events", context()
    ).meetings
    assert (meeting.title, [item.title for item in meeting.items]) == (
        "Board",
        ["Lease"],
    )
