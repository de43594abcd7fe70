"""Meetings read from saved answers, compared with what the tests of other scrapers
assert about them.

    python -m news_assets_tests.quality.meetings

Asserted are starts, statuses, links, titles and locations of City Scrapers' own tests.
Only saved answers of the vendors that are read here count; left out, and listed with
the reason, are rows that another scraper had already made and values that stand in no
answer but in the scraper. The second table counts the meetings and items of whole
answers. Exits 1 if a share is below its floor or one hour is wrong; floors are raised
and never lowered.
"""

import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from news_assets.records.meetings import Meeting, MeetingListing
from news_assets.sources.civic.vendor_meetings import ParseContext
from news_assets.sources.civic.vendors import read_saved_answers
from news_assets_tests.quality.extraction import CORPUS

ASSERTED = CORPUS / "civic_city_scrapers" / "dev"
PLATFORMS = CORPUS / "civic_platforms" / "dev"
FLOORS = {"start": 1.0, "status": 0.95, "links": 0.95, "title": 0.9, "location": 0.9}
_TARGET = re.compile(
    r"^(?P<base>.+?)\['(?P<field>start|status|links|title|location)'\](?P<rest>.*)$"
)
_EAST, _CENTRAL, _WEST = "America/New_York", "America/Chicago", "America/Los_Angeles"
_SCRAPERS_ROWS = "rows of python-legistar-scraper, not an answer"
_CONSTANT = "a constant of the scraper"


@dataclass(frozen=True)
class Case:
    """One saved answer: how it is read, the assertions about it, and the asserted
    values that stand nowhere in it.
    """

    kind: str
    timezone: str
    answer: str
    bases: tuple[str, ...]
    url: str = ""
    left_out: dict[str, str] = field(default_factory=dict)


_SAN_DIEGO = {"location": _CONSTANT}


def _san_diego(
    body: str, name: str, view: int, item: str = "parsed_items"
) -> tuple[str, Case]:
    url = f"https://sandiego.granicus.com/ViewPublisher.php?view_id={view}"
    answer = f"ca/san_diego_city_{body}_archived.html.gz"
    return "city-scrapers-ca/san_diego_city", Case(
        "granicus", _WEST, answer, (f"{item}_{name}_archived[0]",), url, _SAN_DIEGO
    )


def _creve_coeur(name: str) -> tuple[str, Case]:
    left_out = {"start": "half a day early: the scraper reads 06:00 PM as 06:00"}
    in_the_morning = name == "economic_development"
    case = Case(
        "iqm2",
        _CENTRAL,
        f"stl/cc_{name}.html.gz",
        ("item",),
        "",
        {} if in_the_morning else left_out,
    )
    return f"city-scrapers-stl/cc_{name}", case


CASES: tuple[tuple[str, Case], ...] = (
    ("city-scrapers-tulsa/tulok_bocc", Case(
        "civicclerk", _CENTRAL, "tulsa/tulok_bocc.json", ("item",), "https://tulsacook.api.civicclerk.com/v1/Events",
        {"location.name": _CONSTANT})),
    ("city-scrapers-atl/atl_clayton_co_boc", Case(
        "primegov", _EAST, "atl/atl_clayton_co_boc_meetings.json", ("parsed_items[0]",))),
    ("city-scrapers-ca/ccta", Case("primegov", _WEST, "ca/ccta.html.gz", ("parsed_items[0]",))),
    ("city-scrapers-san-diego/sandie_citychula", Case(
        "escribe", _WEST, "san-diego/sandie_citychula.json", ("parsed_items[0]",))),
    ("city-scrapers-fresno/clovis_planning", Case(
        "municode", _WEST, "fresno/clovis_planning.html.gz", ("parsed_items[0]",))),
    ("city-scrapers-atl/atl_norcross", Case("iqm2", _EAST, "atl/atl_norcross.html.gz", ("parsed_items[0]",))),
    *(_creve_coeur(name) for name in (
        "venable_park", "arts", "planning", "building_code", "personnel_appeals", "police_safety",
        "economic_development", "stormwater")),
    ("city-scrapers-tulsa/tulok_citycouncil", Case(
        "granicus", _CENTRAL, "tulsa/tulok_citycouncil.html.gz", ("meeting",),
        "https://tulsa-ok.granicus.com/ViewPublisher.php?view_id=4", {"location": _CONSTANT})),
    _san_diego("fire_com", "fire", 28), _san_diego("audit_com", "audit", 24), _san_diego("budget_com", "budget", 16),
    _san_diego("chart_com", "charter", 25), _san_diego("gov_com", "government", 13, "parsed_item"),
    _san_diego("land_com", "land", 12), _san_diego("nrc_com", "nrc", 14),
    _san_diego("publicsafety_com", "publicsafety", 15), _san_diego("rules_com", "rules", 11),
    *(("city-scrapers-ca/san_diego_city", Case(
        "onbase", _WEST, f"ca/san_diego_city_{body}upcoming.html.gz", (f"parsed_items_{body}upcoming[0]",),
        f"https://sandiego.hylandcloud.com/211agendaonline{site}/", _SAN_DIEGO))
        for body, site in (("", "council"), ("committee_", "comm"))),
    ("city-scrapers-ca/walnut_creek", Case(
        "granicus", _WEST, "ca/walnut_creek_110.html.gz", ("parsed_items[110]",),
        "https://walnutcreek.granicus.com/AgendaViewer.php?view_id=12&clip_id=4496",
        {"location": _CONSTANT, "links": "of the listing, which is not saved"})),
    ("city-scrapers-ca/walnut_creek", Case(
        "granicus", _WEST, "ca/walnut_creek_1170.html.gz", ("parsed_items[1170]",),
        "https://walnutcreek.granicus.com/AgendaViewer.php?view_id=12&clip_id=4494",
        {"location": _CONSTANT, "links": "of the listing, which is not saved"})),
    ("city-scrapers-ca/lawa", Case(
        "granicus", _WEST, "ca/lawa_0.html.gz", ("parsed_items[0]",),
        "http://lawa.granicus.com/AgendaViewer.php?view_id=4&clip_id=838",
        {"location": _CONSTANT, "links": "of the listing, which is not saved"})),
    ("city-scrapers-ca/lawa", Case(
        "granicus", _WEST, "ca/lawa_3.html.gz", ("parsed_items[3]",),
        "http://lawa.granicus.com/AgendaViewer.php?view_id=4&clip_id=825",
        {"location": _CONSTANT, "links": "of the listing, which is not saved"})),
    ("city-scrapers-charnc/charnc_meck_boc", Case(
        "legistar", _EAST, "charnc/charnc_meck_boc_legistar.json", ("parsed_items[1]", "parsed_items[4]"),
        "https://webapi.legistar.com/v1/mecklenburg/events",
        {"parsed_items[1].title": "of another calendar", "parsed_items[1].location": "of another calendar"})),
    ("city-scrapers-charnc/charnc_charlotte_city", Case(
        "legistar_html", _EAST, "charnc/charnc_charlotte_city_legistar_business.html.gz",
        ("item=City Council Business Meeting",), "", {"location.address": _CONSTANT})),
    ("city-scrapers-charnc/charnc_charlotte_city", Case(
        "legistar_html", _EAST, "charnc/charnc_charlotte_city_legistar_zoning.html.gz",
        ("item=City Council Zoning Meeting",), "", {"location.address": _CONSTANT})),
    ("city-scrapers/chi_low_income_housing_trust_fund", Case(
        "icalendar", _CENTRAL, "chi/chi_low_income_housing_trust_fund.ics", ("parsed_items[0]",), "",
        {"location": _CONSTANT})),
    ("city-scrapers-minn/minn_st_paul_ps", Case(
        "icalendar", _CENTRAL, "minn/minn_st_paul_ps_ical.ics", ("item",), "",
        {"links": "of another page", "location": _CONSTANT})),
)  # fmt: skip

# --- assertions -----------------------------------------------------------------------


def asserted(case_id: str, wanted: str) -> dict[str, Any]:
    """Return the values asserted of one meeting; of several under one name, those with
    the title behind `=`.
    """
    name, _, title = wanted.partition("=")
    groups: list[dict[str, Any]] = [{}]
    for one in EXPECTED[case_id]["asserts"]:
        match = _TARGET.match(one["target"])
        if match and match["base"] == name and not match["rest"] and one["op"] == "==":
            if match["field"] in groups[-1]:
                groups.append({})
            groups[-1][match["field"]] = one["value"]
        elif match is None and one["target"].startswith(f"{name}['location']["):
            groups[-1].setdefault("location", {})[one["target"].split("'")[3]] = one[
                "value"
            ]
    return next(
        (group for group in groups if not title or group.get("title") == title), {}
    )


def answer_of(path: Path) -> bytes:
    return (
        gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
    )


def read_case(case_id: str, case: Case) -> MeetingListing:
    expected = EXPECTED[case_id]
    zone = ZoneInfo(case.timezone)
    now = datetime.fromisoformat(expected.get("frozen_time") or "2026-01-01").replace(
        tzinfo=zone
    )
    path = ASSERTED / "files" / case.answer
    url = case.url or expected["url"]
    return read_saved_answers(
        case.kind,
        [(path.name, answer_of(path))],
        url,
        ParseContext(timezone=case.timezone, now=now),
    )


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def local(meeting: Meeting) -> str:
    return meeting.starts_at.strftime("%Y-%m-%dT%H:%M:%S") if meeting.starts_at else ""


def same_href(one: str, other: str) -> bool:
    return re.sub(r"^https?:", "", one).replace(":443/", "/") == re.sub(
        r"^https?:", "", other
    ).replace(":443/", "/")


# field, asserted value, whether it was read, what was read instead
Verdict = tuple[str, str, bool, str]


def verdicts(
    values: dict[str, Any], meeting: Meeting, case: Case, base: str
) -> list[Verdict]:
    """Return the verdict on each asserted value that is not left out."""
    own = {
        "start": local(meeting),
        "status": meeting.status,
        "title": plain(meeting.title),
    }
    found: list[Verdict] = []
    for name in set(values) - {
        key for key in values if {key, f"{base}.{key}"} & case.left_out.keys()
    }:
        value = values[name]
        if name == "links":
            found += links_verdicts(value, [link.href for link in meeting.links])
        elif name == "location":
            parts = [part for part in value if f"location.{part}" not in case.left_out]
            read = {part: getattr(meeting.location, part) for part in parts}
            found += [
                (name, value[part], plain(read[part]) == plain(value[part]), read[part])
                for part in parts
            ]
        else:
            asserted_value = (
                plain(value)
                if name == "title"
                else value.lower()
                if name == "status"
                else value
            )
            found.append((name, value, own[name] == asserted_value, own[name]))
    return found


def links_verdicts(links: list[dict[str, str]], hrefs: list[str]) -> list[Verdict]:
    if not links:
        return [("links", "none", not hrefs, str(hrefs))]
    return [
        (
            "links",
            link["href"],
            any(same_href(href, link["href"]) for href in hrefs),
            str(hrefs),
        )
        for link in links
    ]


def chosen(
    values: dict[str, Any], listing: MeetingListing, case: Case, base: str
) -> Meeting:
    """Return the meeting that agrees best, which is the asserted one if it was read at
    all.
    """
    return max(
        listing.meetings or (Meeting(vendor_id="none"),),
        key=lambda meeting: (
            local(meeting)[:10] == str(values.get("start"))[:10],
            sum(is_read for *_, is_read, _ in verdicts(values, meeting, case, base)),
        ),
    )


def wrong_hour(values: dict[str, Any], meeting: Meeting, case: Case) -> bool:
    """Return whether an hour was read on the asserted day, and another one is asserted."""
    if meeting.all_day or "start" in case.left_out or "start" not in values:
        return False
    return (
        local(meeting)[:10] == values["start"][:10]
        and local(meeting) != values["start"]
    )


def score() -> tuple[Counter[str], Counter[str], list[str]]:
    """Return how many values were asserted and read, by field, and a line for each
    wrong hour.
    """
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    wrong_hours: list[str] = []
    for case_id, case in CASES:
        listing = read_case(case_id, case)
        for base in case.bases:
            values = asserted(case_id, base)
            meeting = chosen(values, listing, case, base)
            if wrong_hour(values, meeting, case):
                wrong_hours.append(
                    f"{case_id} {base}: {local(meeting)} in place of {values['start']}"
                )
            for name, value, is_read, instead in verdicts(values, meeting, case, base):
                total[name] += 1
                right[name] += is_read
                if not is_read:
                    print(
                        f"MISSED {case_id} {base} {name}: {value!r}, read {instead[:300]!r}"
                    )
    return total, right, wrong_hours


def print_left_out() -> None:
    """Print what does not count, and why."""
    for case_id, case in CASES:
        for name, reason in case.left_out.items():
            print(f"left out: {case_id}: {name}: {reason}")
    scored = {case_id for case_id, _ in CASES}
    for case_id, expected in EXPECTED.items():
        files = [
            ASSERTED / "files" / Path(name).relative_to("files")
            for name in expected["fixtures"]
        ]
        rows = [
            path
            for path in files
            if path.suffix == ".json"
            and path.exists()
            and b'"Meeting Date"' in path.read_bytes()
        ]
        if case_id not in scored and rows:
            print(f"left out: {case_id}: {_SCRAPERS_ROWS}")


# --- whole answers --------------------------------------------------------------------


def whole_answers() -> Iterator[tuple[str, str, str, int]]:
    """Yield file, kind, address, and the meetings or items in it, counted in the bytes
    without the readers.
    """
    folder = PLATFORMS / "civicconnector"
    for name, mark in (
        ("legistar_events.json", b'"EventId"'),
        ("legistar_eventitems.json", b'"EventItemId"'),
    ):
        path = folder / name
        yield (
            str(path),
            "legistar",
            "https://webapi.legistar.com/v1/client/events",
            path.read_bytes().count(mark),
        )
    for path in sorted(PLATFORMS.glob("civicconnector/civicclerk_events*.json")):
        yield (
            str(path),
            "civicclerk",
            "https://c.api.civicclerk.com/v1/Events",
            path.read_bytes().count(b'"eventName"'),
        )
    for path in sorted(PLATFORMS.glob("legistar_api/*.json")):
        yield (
            str(path),
            "legistar",
            "https://webapi.legistar.com/v1/c/events",
            path.read_bytes().count(b'"EventId"'),
        )
    for path in sorted(PLATFORMS.glob("legistar_html/*/events.html.gz")):
        count = len(
            re.findall(rb"<tr class=.rg(?:Alt)?Row.[^>]*gridCalendar", answer_of(path))
        )
        yield str(path), "legistar_html", "https://c.legistar.com/Calendar.aspx", count
    for path in sorted(
        [*PLATFORMS.glob("civicplus/*.gz"), *PLATFORMS.glob("http/*.gz")]
    ):
        body = answer_of(path).replace(rb"\"", b'"').replace(rb"\u0022", b'"')
        numbers = {int(one) for one in re.findall(rb'name="_\d{8}-(\d+)', body)}
        yield (
            str(path),
            "civicplus",
            "https://c.civicplus.com/AgendaCenter/Search/",
            len(numbers),
        )


def score_whole() -> list[str]:
    """Print meetings and items of each answer; return a line for each that was not read
    whole.
    """
    low: list[str] = []
    for name, kind, url, count in whole_answers():
        path = Path(name)
        context = ParseContext(
            timezone=_CENTRAL, now=datetime(2026, 1, 1, tzinfo=ZoneInfo(_CENTRAL))
        )
        listing = read_saved_answers(kind, [(path.name, answer_of(path))], url, context)
        whole = [meeting for meeting in listing.meetings if not meeting.is_partial]
        items = sum(len(meeting.items) for meeting in listing.meetings)
        found = len(whole) + items
        print(
            f"{path.relative_to(PLATFORMS)!s:75} {kind:14} {len(whole):4} meetings {items:4} items of {count}"
        )
        undated = sum(meeting.starts_at is None for meeting in whole)
        if found < count or undated:
            low.append(f"{name}: {found} of {count}, {undated} without a date")
    return low


EXPECTED: dict[str, Any] = defaultdict(dict)


def main() -> int:
    if not ASSERTED.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    for line in (ASSERTED / "expectations.jsonl").read_text().splitlines():
        one = json.loads(line)
        EXPECTED[one["id"]] = one
    total, right, low = score()
    print_left_out()
    for name, floor in FLOORS.items():
        share = right[name] / max(total[name], 1)
        print(
            f"{name:10} {right[name]:3} of {total[name]:3}   {share:.3f}   floor {floor}"
        )
        if share < floor:
            low.append(f"{name} {share:.3f}")
    low += score_whole()
    for line in low:
        print(f"BELOW FLOOR: {line}")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
