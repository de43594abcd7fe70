"""`queue`, `meeting`, `text` and the exports of meetings, called as the command line
calls them.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import icalendar
import pytest

from news_assets.pipeline.failures import failure_of_work
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call
from news_assets_tests.support.council import Council, served
from news_assets_tests.support.small_desk import entry
from news_assets_tests.support.stored_meeting import (
    DAY,
    DESK_FILE,
    ITEM,
    MEETING,
    REPORT,
    ROLL_CALL,
    SEEN,
)


@pytest.fixture
def run(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line over a lake with one meeting and a cancelled one whose hour
    is unknown.
    """
    (home / "cities.yaml").write_text(DESK_FILE)
    monkeypatch.setenv("NEWS_DESKS", str(home / "cities.yaml"))
    monkeypatch.setenv("COLUMNS", "120")
    cancelled = replace(
        MEETING,
        meeting_id="springfieldIL-primegov-8",
        title="Parks Board",
        body="Parks Board",
        day=DAY + timedelta(days=1),
        starts_at=None,
        is_all_day=True,
        status="cancelled",
        participation_json="[]",
    )
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        rows = [MEETING, cancelled], [ITEM, ROLL_CALL], [REPORT]
        lake.transact(lambda found: [found.upsert(of_type) for of_type in rows])
    return call


def test_a_meeting_shows_its_agenda_with_topics_documents_and_how_to_take_part(
    run: Call,
) -> None:
    code, out, _ = run("meeting", MEETING.meeting_id)
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == "Regular Meeting"
    assert (
        lines[1]
        == "2026-12-01 18:30 CST · confirmed · cities/springfieldIL · City Council"
    )
    assert "email: clerk@springfield.gov (comment)" in lines
    assert "topics: Housing 1, Zoning 1" in lines
    assert lines.index(
        next(line for line in lines if "Roll call" in line)
    ) < lines.index(next(line for line in lines if "2.A" in line))
    assert any(
        "ok      Staff report (pdf, 3 pages) aaaaaaaaaaaa" in line for line in lines
    )
    assert "waiting Map" in lines
    assert "recommends" not in out
    assert (
        "Staff recommends approval." in run("meeting", MEETING.meeting_id, "--text")[1]
    )


def test_a_meeting_as_json_has_everything_that_is_stored(run: Call) -> None:
    found = json.loads(run("meeting", MEETING.meeting_id, "--json")[1])
    assert found["topics"] == {"housing": 1, "zoning": 1}
    assert found["participation"][0]["value"] == "clerk@springfield.gov"
    assert [item["title"] for item in found["items"]] == [ROLL_CALL.title, ITEM.title]
    assert found["items"][1]["documents"][0]["pages"] == 3


def test_an_unknown_meeting_is_an_error_that_says_where_ids_are(run: Call) -> None:
    code, _, said = run("meeting", "nowhere-7")
    assert code == 1
    assert "no meeting `nowhere-7`; `news-assets export meetings` lists them" in said


def test_the_text_of_a_document_goes_to_a_file(run: Call, tmp_path: Path) -> None:
    assert run("text", "aaaaaaaaaaaa", "--output", str(tmp_path / "report.md"))[0] == 0
    assert (
        tmp_path / "report.md"
    ).read_text() == "# Staff report\n\nStaff recommends approval.\n"
    assert [path.name for path in tmp_path.glob("report.md*")] == ["report.md"]


def test_the_text_of_a_meeting_is_its_agenda_with_its_documents(run: Call) -> None:
    assert run("text", MEETING.meeting_id)[1] == (
        "# Regular Meeting\n\n## 1 Roll call\n\n## 2.A Ordinance rezoning 5 acres for affordable housing\n\n"
        "### Staff report\n\n# Staff report\n\nStaff recommends approval.\n"
    )


def test_a_text_that_does_not_exist_leaves_an_existing_file(
    run: Call, tmp_path: Path
) -> None:
    (tmp_path / "kept.md").write_text("kept")
    code, _, said = run("text", "ffffffffffff", "--output", str(tmp_path / "kept.md"))
    assert (code, (tmp_path / "kept.md").read_text()) == (1, "kept")
    assert "no document, article or meeting `ffffffffffff`" in said


# --- exports --------------------------------------------------------------------------


def test_a_calendar_has_the_local_hours_the_status_and_the_ids_of_meetings(
    run: Call, tmp_path: Path
) -> None:
    assert (
        run(
            "export",
            "meetings",
            "--format",
            "ical",
            "--output",
            str(tmp_path / "council.ics"),
        )[0]
        == 0
    )
    calendar = icalendar.Calendar.from_ical((tmp_path / "council.ics").read_bytes())
    council, parks = calendar.walk("VEVENT")
    assert council["UID"] == MEETING.meeting_id
    assert council.decoded("DTSTART").isoformat() == "2026-12-01T18:30:00-06:00"
    assert (council["SUMMARY"], council["STATUS"]) == (
        "City Council: Regular Meeting",
        "CONFIRMED",
    )
    assert "2.A Ordinance rezoning" in council["DESCRIPTION"]
    assert "Roll call" not in council["DESCRIPTION"]
    assert (parks.decoded("DTSTART"), parks["STATUS"]) == (
        DAY + timedelta(days=1),
        "CANCELLED",
    )
    assert [zone["TZID"] for zone in calendar.walk("VTIMEZONE")] == ["America/Chicago"]


def test_events_of_open_civic_data_have_an_agenda_and_stable_ids(run: Call) -> None:
    out = run("export", "meetings", "--format", "ocd", "--body", "council")[1]
    [event] = [json.loads(line) for line in out.splitlines()]
    again = json.loads(
        run("export", "meetings", "--format", "ocd", "--body", "council")[1]
    )
    assert event["_id"] == again["_id"]
    assert event["_id"].startswith("ocd-event/")
    assert event["start_date"] == "2026-12-01T18:30:00-06:00"
    assert (event["timezone"], event["status"], event["all_day"]) == (
        "America/Chicago",
        "confirmed",
        False,
    )
    assert event["participants"] == [
        {"note": "host", "name": "City Council", "entity_type": "organization"}
    ]
    item = event["agenda"][1]
    assert (item["order"], item["related_entities"][0]["name"]) == ("2.A", "26-101")
    assert item["media"][0]["links"][0]["url"] == "https://springfield.gov/report.pdf"


def test_an_export_takes_the_meetings_whose_items_a_search_finds(run: Call) -> None:
    out = run("export", "meetings", "--format", "ocd", "--search", "bus")[1]
    assert [json.loads(line)["extras"]["meeting_id"] for line in out.splitlines()] == [
        MEETING.meeting_id
    ]
    assert run("export", "meetings", "--format", "ocd", "--search", "zzzz")[0] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("export", "polls", "--format", "ical"),
        ("export", "meetings", "--body", "council"),
        ("export", "meetings", "--search", "trees", "--format", "csv"),
    ],
)
def test_formats_and_filters_of_meetings_belong_together(
    run: Call, words: tuple[str, ...]
) -> None:
    code, _, said = run(*words)
    assert code == 2
    assert "export meetings --format ical" in said


def test_no_selected_meeting_is_an_error_and_writes_no_file(
    run: Call, tmp_path: Path
) -> None:
    code, _, said = run(
        "export",
        "meetings",
        "--format",
        "ical",
        "--body",
        "zoo",
        "--output",
        str(tmp_path / "no.ics"),
    )
    assert (code, (tmp_path / "no.ics").exists()) == (1, False)
    assert "no such meetings" in said


# --- one agency -----------------------------------------------------------------------


def test_one_city_is_polled_its_queue_shown_and_processed(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    council = Council()
    day = datetime.now(UTC).date() + timedelta(days=7)
    council.meet(1, day)
    council.put(1, 12, "Contract for night buses", EventItemMatterFile="26-0012")
    with served(council) as base:
        url = f"{base}/v1/springfield"
        desk = DESK_FILE.replace("kind: primegov", "kind: legistar").replace(
            "https://springfield.primegov.com/", url
        )
        desk += "vendors: {legistar: {slots: 1, delay_s: 0}}\n"
        (tmp_path / "cities.yaml").write_text(desk)
        settings = {
            "DESKS": str(tmp_path / "cities.yaml"),
            "ALLOW_PRIVATE_HOSTS": "127.0.0.1",
            "HOST_DELAY_S": "0",
            "WORK": "fetch",
        }
        for name, value in settings.items():
            monkeypatch.setenv(f"NEWS_{name}", value)

        assert call("poll", "springfieldIL")[0] == 0
        [waiting] = call("queue", "--agency", "springfieldIL", "--json")[1].splitlines()
        assert (
            json.loads(waiting)["day"],
            call("queue", "--agency", "springfieldIL")[0],
        ) == (str(day), 0)
        assert call("process", "springfieldIL")[1] == "documents: 0\nraw_articles: 1\n"
        [waiting] = call("queue", "--agency", "springfieldIL", "--json")[1].splitlines()
        assert json.loads(waiting)["stage"] == "enriched_articles"
        listings = council.requests["/v1/springfield/events/1/eventitems"]
        assert call("poll", "springfieldIL", "--full")[0] == 0

    assert council.requests["/v1/springfield/persons"] == 2
    assert council.requests["/v1/springfield/events/1/eventitems"] == listings + 1
    code, _, said = call("poll", "springfeldIL")
    assert (
        code,
        "no desk file has the agency `springfeldIL`; there are: springfieldIL" in said,
    ) == (1, True)


# --- the queue ------------------------------------------------------------------------


@pytest.fixture
def waiting(run: Call, home: Path) -> Call:
    """Call the command line over a lake with entries of today, of next week, and of
    next week after a failure.
    """
    today, soon = datetime.now(UTC).date(), datetime.now(UTC).date() + timedelta(days=7)
    days = {"today": today, "soon": soon, "tried": soon + timedelta(days=1)}
    entries = [
        entry(number, "springfieldIL", day, desk="cities", article_id=name)
        for number, (name, day) in enumerate(days.items(), start=11)
    ]
    work = {"agency": "springfieldIL", "version": "one", "trace_id": "t"}
    failures = [
        replace(
            failure_of_work(
                {**work, "article_id": name, "day": day},
                "raw_articles",
                "cities",
                "timeout",
                SEEN,
            ),
            attempts=attempts,
            next_try_at=next_try_at,
        )
        for name, day, attempts, next_try_at in (
            ("tried", days["tried"], 2, SEEN),
            ("parked", soon, 3, None),
        )
    ]
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        lake.transact(lambda rows: [rows.upsert(entries), rows.upsert(failures)])
    return run


def test_the_queue_has_the_next_meetings_first_and_retries_behind(
    waiting: Call,
) -> None:
    code, out, _ = waiting("queue", "--desk", "cities", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(row["priority"], row["attempts"]) for row in found] == [
        (3000, 0),
        (2857, 3),
        (2838, 2),
    ]
    assert {(row["stage"], row["why"], row["rows"]) for row in found} == {
        ("raw_articles", "missing", 1)
    }


def test_the_queue_says_what_is_parked(waiting: Call) -> None:
    code, out, _ = waiting("queue")
    assert code == 0
    assert out.index("3000") < out.index("2838")
    assert (
        "1 parked: `news-assets failures list` shows why, `failures retry` releases them"
        in out
    )
    assert "2 more; --limit shows more of them" in waiting("queue", "--limit", "1")[1]


def test_an_empty_queue_and_an_unknown_desk_are_said(run: Call) -> None:
    assert "nothing waits" in run("queue")[1]
    code, _, said = run("queue", "--desk", "towns")
    assert (code, "no desk `towns`" in said) == (1, True)


@pytest.mark.parametrize(
    ("named", "found"), [("parks board", "Parks Board"), ("COUNCIL", "City Council")]
)
def test_search_and_export_take_the_name_of_a_body_or_a_part_of_it(
    run: Call, named: str, found: str
) -> None:
    line = run("export", "meetings", "--format", "ocd", "--body", named)[1]
    assert [one["name"] for one in json.loads(line)["participants"]] == [found]
    assert run("search", "bus", "--mode", "keyword", "--body", named)[0] == 0


def test_a_search_says_which_bodies_a_part_of_a_name_selects(run: Call) -> None:
    said = run("search", "bus", "--mode", "keyword", "--body", "o")[2]
    assert (
        "--body o: it has to select one body, and selects: City Council; Parks Board"
        in said
    )
