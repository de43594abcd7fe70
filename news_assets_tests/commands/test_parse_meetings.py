"""`news-assets parse-meetings`, in a process of its own."""

import json
from pathlib import Path
from typing import Any

from news_assets_tests.commands.test_texts import results
from news_assets_tests.sources.civic.test_legistar import BASE, EVENT, ITEMS

CLIENT = {"kind": "legistar", "url": f"{BASE}/events", "timezone": "America/Chicago"}


def test_a_line_in_gives_the_meetings_of_an_answer_or_folder_out(
    tmp_path: Path,
) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/1.json").write_text(json.dumps([EVENT]))
    (tmp_path / "saved/2.json").write_text(json.dumps(ITEMS[:1]))
    (tmp_path / "page.html").write_text("<html>Welcome</html>")
    whole, passed, other, unknown, wrong_zone, wrong_now, missing = results(
        "parse-meetings",
        CLIENT
        | {
            "id": 1,
            "path": str(tmp_path / "saved"),
            "now": "2026-03-10T12:00:00-05:00",
        },
        CLIENT | {"id": 2, "path": str(tmp_path / "saved/1.json"), "now": "2026-03-20"},
        CLIENT | {"id": 3, "path": str(tmp_path / "page.html")},
        CLIENT | {"id": 4, "path": str(tmp_path / "saved"), "kind": "legistr"},
        CLIENT | {"id": 5, "path": str(tmp_path / "saved"), "timezone": "Chicago"},
        CLIENT | {"id": 6, "path": str(tmp_path / "saved"), "now": "soon"},
        CLIENT | {"id": 7, "path": str(tmp_path / "none")},
    )
    assert whole == {"id": 1, "problems": [], "meetings": [expected()]}
    assert passed["meetings"][0]["status"] == "passed"
    assert (other["meetings"], other["problems"][0][:44]) == (
        [],
        f"{BASE}/events: no"[:44],
    )
    assert unknown["error"].startswith("unknown kind 'legistr'; known: boarddocs")
    assert (
        wrong_zone["error"]
        == "unknown time zone 'Chicago'; take an IANA name such as America/Chicago"
    )
    assert wrong_now["error"] == "now 'soon' is not a time in ISO 8601"
    assert "No such file" in missing["error"]


def expected() -> dict[str, Any]:
    return {
        "meeting_id": "springfield/legistar/71",
        "body": "Parks Board",
        "title": "Parks Board",
        "starts_at": "2026-03-19T13:00:00-05:00",
        "ends_at": None,
        "all_day": False,
        "status": "confirmed",
        "location": {
            "name": "City Hall",
            "address": "1 Main St, Springfield, IL 62701",
        },
        "agenda_url": "https://legistar.granicus.com/springfield/71_A.pdf",
        "packet_url": None,
        "minutes_url": None,
        "links": [
            {
                "title": "Agenda",
                "href": "https://legistar.granicus.com/springfield/71_A.pdf",
            }
        ],
        "items": [
            {
                "sequence": 1,
                "number": "2.A",
                "title": "Ordinance on trees",
                "matter_file": "26-0585",
                "matter_id": "900",
                "attachments": [
                    {"name": "Draft", "url": "https://a.example.org/draft.pdf"},
                    {
                        "name": "Map",
                        "url": "https://springfield.legistar1.com/springfield/attachments/map%201.pdf",
                    },
                ],
            }
        ],
    }
