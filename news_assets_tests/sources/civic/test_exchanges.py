import base64
import json

from news_assets.sources.civic.vendor_readers import read_answers
from news_assets_tests.sources.civic.answers import reading
from news_assets_tests.sources.civic.test_legistar import BASE, EVENT, ITEMS

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
        [meeting] = read_answers("legistar", answers, BASE, reading()).meetings
        assert (meeting.title, len(meeting.items), meeting.is_partial) == (
            "Parks Board",
            2,
            False,
        )


def test_exchanges_are_read_by_their_own_addresses_and_documents_are_left_out() -> None:
    encoded = base64.b64encode(json.dumps([EVENT | {"EventId": 72}]).encode()).decode()
    found = read_answers(
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
        reading(),
    )
    assert [meeting.vendor_id for meeting in found.meetings] == ["71", "72"]
    assert found.problems == ()


def test_an_answer_that_cannot_be_read_is_a_problem_and_not_the_end() -> None:
    answers = [
        ("a.html", b"<html>Welcome</html>"),
        ("b.json", json.dumps([EVENT]).encode()),
    ]
    found = read_answers("legistar", answers, BASE, reading())
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
    [meeting] = read_answers(
        "civicclerk", answers, "https://s.api.civicclerk.com/v1/Events", reading()
    ).meetings
    assert (meeting.title, [item.title for item in meeting.items]) == (
        "Board",
        ["Lease"],
    )
