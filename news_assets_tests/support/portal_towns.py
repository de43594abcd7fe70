"""A town's meetings as CivicWeb, BoardDocs, OnBase and the Archive Center publish them,
over HTTP on loopback.

Shapes are those of public answers of each vendor. What is published is the same for
all: a meeting of the City Council on 10 March 2026 at 18:00 in Springfield, Illinois,
of which two items share a report; one of 24 February; one of the Parks Board, and a
cancelled one of the Planning Commission. In the second phase the agenda of the council
has one more item, its report is another document, and the Parks Board meets a day
later.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from news_assets_tests.support.pdfs import pdf_of
from news_assets_tests.support.vendor_town import Answers

PARKS = "Budget of the parks"
BUSES, DEPOT, SWEEPING = (
    "Contract for the night buses",
    "Lease of the old depot",
    "Sweeping of Elm Street",
)
REPORT = "The contract for the night buses costs four million dollars a year and runs until 2030."
NEW_REPORT = "The contract for the night buses now costs five million dollars a year and runs until 2032."
MAP = "A map of the old depot, whose lease brings ninety thousand dollars a year."
HEAD = (
    "Written comments are due by noon on March 9. Send them to clerk@springfield.gov."
)


@dataclass(frozen=True)
class Item:
    """An item of an agenda; files are (number, name), of which the number changes with
    the document.
    """

    number: str
    title: str
    file: str = ""
    files: Sequence[tuple[int, str]] = ()


def agenda(phase: int) -> list[Item]:
    """Return the items of the council's meeting of 10 March."""
    report = (50 + phase, "Report")
    items = [
        Item("1.", "Roll Call"),
        Item("2.", BUSES, "RES 2026-014", [report]),
        Item("3.", DEPOT, files=[report, (60, "Map")]),
    ]
    return items if phase == 1 else [*items, Item("4.", SWEEPING)]


def parks_day(phase: int) -> int:
    """Return the day of March on which the Parks Board meets."""
    return 12 if phase == 1 else 13


MINUTES = pdf_of(f"Minutes\nFebruary 24, 2026\n1. {PARKS}\nRESULT: ADOPTED [5 TO 0]")
FILES = {51: pdf_of(REPORT), 52: pdf_of(NEW_REPORT), 60: pdf_of(MAP)}


def _page(*parts: str) -> str:
    return f"<!DOCTYPE html><html><head><title>Portal</title></head><body>{''.join(parts)}</body></html>"


# --- CivicWeb -------------------------------------------------------------------------

_SERVICE = "/services/meetingsservice.svc/meetings"


def _civicweb(phase: int) -> Answers:
    rows = [
        _civicweb_row(
            1, "City Council - Mar 10 2026", "2026-03-10 18:00", is_published=True
        ),
        _civicweb_row(
            2, "City Council - 24 Feb 2026", "2026-02-24 18:00", is_published=True
        ),
        _civicweb_row(
            3,
            f"Parks Board - Mar {parks_day(phase)} 2026",
            f"2026-03-{parks_day(phase)} 17:30",
        ),
        _civicweb_row(
            4, "***CANCELLED*** Planning Commission - Mar 17 2026", "2026-03-17 19:00"
        ),
    ]
    council = [
        _civicweb_document(700, 1, _civicweb_agenda(agenda(phase))),
        _civicweb_document(701, 4, ""),
        _civicweb_document(702, 12, ""),
    ]
    past = {
        "Documents": [_civicweb_document(801, 4, ""), _civicweb_document(802, 10, "")]
    }
    files = {
        f"/document/{900 + number}/file.pdf": body for number, body in FILES.items()
    }
    return {
        _SERVICE: json.dumps(rows),
        f"{_SERVICE}/1/meetingdocuments": json.dumps(council),
        f"{_SERVICE}/2/meetingdocuments": json.dumps(past),
        "/document/701/city council.pdf": pdf_of("\n".join(_lines(agenda(phase)))),
        "/document/801/city council.pdf": pdf_of(
            "City Council\nFebruary 24, 2026 at 6:00 PM\n1. Budget of the parks"
        ),
        "/document/802/city council.pdf": MINUTES,
        **files,
    }


def _civicweb_row(
    number: int, name: str, at: str, *, is_published: bool = False
) -> dict[str, object]:
    hour = int(at[11:13])
    return {
        "ExternalCalendar": False,
        "Id": number,
        "MeetingDate": at[:10],
        "MeetingDateTime": at,
        "MeetingLocation": "Council Chambers, City Hall",
        "MeetingTime": f"{hour - 12:02}:{at[14:]} PM",
        "Name": name,
        "Published": is_published,
        "TypeId": 20,
        "VideoIcon": "<em class='video-event'></em>" if number == 2 else "",
    }


def _civicweb_document(number: int, kind: int, html: str) -> dict[str, object]:
    return {
        "AgendaCover": "",
        "DocumentType": kind,
        "Html": html,
        "Id": number,
        "IsPublic": bool(html),
        "MeetingId": 1 if number < 800 else 2,
        "Name": "City Council",
        "PublicReleaseDelayDateString": "",
        "Type": 2 if kind in (10, 12) else 1,
    }


def _civicweb_agenda(items: Sequence[Item]) -> str:
    rows = [_civicweb_line("AgendaHeading", 300, ("5.", "<b>NEW BUSINESS</b>"), "")]
    for number, item in enumerate(items, start=301):
        links = "".join(
            f'<p><a href="/document/{900 + file}/file.pdf?handle=0AF{file}" title="ItemAttachment{900 + file}">'
            f"<span>{name} - Pdf</span></a></p>"
            for file, name in item.files
        )
        title = f"<span>{item.file} {item.title}</span>".replace("> ", ">")
        rows.append(
            _civicweb_line("AgendaItem", number, ("", f"5.{item.number}", title), links)
        )
    return _page(f"<p>Tuesday, March 10, 2026 at 6:00 PM</p><p>{HEAD}</p>", *rows)


def _civicweb_line(kind: str, number: int, cells: Sequence[str], links: str) -> str:
    filled = "".join(f"<td><p>{cell or '&nbsp;'}</p></td>" for cell in cells[:-1])
    return (
        f'<p><a target="AgendaAttachment" name="{kind}{number}"></a>&nbsp;</p><table role="presentation"><tr>{filled}'
        f"<td><p>{cells[-1]}</p><p>&nbsp;</p>{links}</td><td><p>3 - 86</p></td></tr></table>"
    )


# --- BoardDocs ------------------------------------------------------------------------

_NSF = "/il/springfield/board.nsf"
_BOARD, _PARKS = "AB9A2R259AF0", "CD3E4F567890"


def _boarddocs(phase: int) -> Answers:
    menu = "".join(
        f'<a class="dropdown-item committee-trigger" committeeid="{key}" aria-label="{name}">{name}</a>'
        for key, name in ((_BOARD, "City Council"), (_PARKS, "Parks Board"))
    )
    board = [
        _boarddocs_row("DQCANCELLED", "CANCELLED - Planning Commission", "20260317"),
        _boarddocs_row("DQCOUNCIL", "City Council Regular Meeting", "20260310"),
        _boarddocs_row("DQPAST", "City Council Regular Meeting", "20260224"),
        {},
    ]
    parks = [_boarddocs_row("DQPARKS", "Parks Board", f"202603{parks_day(phase)}"), {}]
    lists = f"{_NSF}/bd-getmeetingslist?open&committee={{}}".lower()
    agendas = f"{_NSF}/print-agendadetailed?open&id={{}}".lower()
    files = {
        f"{_NSF}/files/f{number}/$file/document.pdf": body
        for number, body in FILES.items()
    }
    return {
        f"{_NSF}/public": _page(menu),
        lists.format(f"{_BOARD}&body=city council".lower()): json.dumps(board),
        lists.format(f"{_PARKS}&body=parks board".lower()): json.dumps(parks),
        agendas.format("dqcouncil"): _boarddocs_agenda("March 10", agenda(phase)),
        agendas.format("dqpast"): _boarddocs_agenda("February 24", [Item("1.", PARKS)]),
        agendas.format("dqparks"): _page(
            _boarddocs_head(f"March {parks_day(phase)}", "Parks Board", "5:30 PM")
        ),
        **files,
    }


def _boarddocs_row(unique: str, name: str, day: str) -> dict[str, str]:
    return {
        "unique": unique,
        "name": name,
        "current": "0",
        "preliveoak": "",
        "numberdate": day,
        "unid": f"{unique}58D",
    }


def _boarddocs_head(day: str, name: str, hour: str) -> str:
    return (
        f'<div id="print-top-meeting-info"><div class="print-meeting-date">{day}, 2026</div>'
        f'<div class="print-meeting-name">{name}</div><div class="print-meeting-description">CITY HALL<br>'
        f"300 S. 7TH ST.<br>SPRINGFIELD, IL 62701<br>{hour}<br>{HEAD}</div></div>"
    )


def _boarddocs_agenda(day: str, items: Sequence[Item]) -> str:
    parts = [
        _boarddocs_head(f"Tuesday, {day}", "City Council Regular Meeting", "6:00PM")
    ]
    parts.append(
        '<div role="heading" aria-level="1" style="font-weight: bold;">C. ACTION ITEMS</div>'
    )
    for item in items:
        links = "".join(
            f'<div class="public-file print-file" unique="F{file}"><a href="/il/springfield/Board.nsf/files/F{file}/'
            f'$file/document.pdf">{name} (109 KB)</a></div>'
            for file, name in item.files
        )
        rows = (
            (
                "Subject",
                f"{item.number} {item.file}{': ' if item.file else ''}{item.title}",
            ),
            ("Category", "C. ACTION ITEMS"),
            ("Type", "Action"),
        )
        facts = "".join(
            f'<dl class="row"><dt class="col leftcol">{name}</dt><dd class="col rightcol">{value}</dd></dl>'
            for name, value in rows
        )
        parts.append(
            f'<div tabindex="0" class="container item agendaorder">{facts}<div class="itembody"><p>Staff agrees.'
            f'</p></div><div class="print-files"><div>File Attachments</div>{links}</div></div>'
        )
    return _page(*parts)


# --- OnBase ---------------------------------------------------------------------------

_ONBASE = "/onbaseagendaonline"


def _onbase(phase: int) -> Answers:
    council, planning = "City Council", "CANCELLED Planning Commission Meeting"
    meetings = [
        _onbase_row(
            1,
            f"{council} - March 10, 2026",
            council,
            "2026-03-10T18:00:00-05:00",
            "Council_1",
        ),
        _onbase_row(
            2,
            council,
            council,
            "2026-02-24T18:00:00-06:00",
            "Council_2",
            "Council_2_Minutes",
        ),
        _onbase_row(
            3,
            "Parks Board",
            "Parks Board",
            f"2026-03-{parks_day(phase)}T17:30:00-05:00",
        ),
        _onbase_row(4, planning, "Planning Commission", "2026-03-17T19:00:00-05:00"),
    ]
    results = {
        "MeetingTypes": [{"ID": "104", "Name": "City Council"}],
        "Meetings": meetings,
        "HasError": False,
    }
    listing = _page(
        f"<script>showSearchResults(new SearchResults({json.dumps(results)}));</script>"
    )
    answers: Answers = {
        f"{_ONBASE}/": listing,
        f"{_ONBASE}/meetings/search": listing,
        f"{_ONBASE}/documents/viewagenda?meetingid=1&type=agenda&doctype=1": _onbase_agenda(
            agenda(phase)
        ),
        f"{_ONBASE}/documents/viewagenda?meetingid=2&type=agenda&doctype=1": _page(
            "<p>Please wait</p>"
        ),
        f"{_ONBASE}/meetings/viewmeetingagenda?meetingid=2&type=agenda": _onbase_accessible(),
        f"{_ONBASE}/documents/downloadfilebytes/council_2_minutes.pdf": MINUTES,
    }
    for place, item in enumerate(agenda(phase), start=1):
        page = f"{_ONBASE}/meetings/viewmeetingagendaitem?meetingid=1&itemid={place}&issection=false&type=agenda"
        answers[page] = _onbase_item(place, item)
    for number, body in FILES.items():
        answers[f"{_ONBASE}/documents/downloadfilebytes/document_{number}.pdf"] = body
    return answers


def _onbase_row(
    number: int,
    name: str,
    kind: str,
    at: str,
    agenda_name: str = "",
    minutes_name: str = "",
) -> dict[str, object]:
    return {
        "ID": number,
        "Name": name,
        "MeetingTypeName": kind,
        "Time": at,
        "Location": "Council Chambers",
        "IsAgendaAvailable": bool(agenda_name),
        "IsMinutesAvailable": bool(minutes_name),
        "AgendaUniqueName": agenda_name,
        "MinutesUniqueName": minutes_name,
        "LatestDocumentType": 2 if minutes_name else 1,
    }


def _onbase_agenda(items: Sequence[Item]) -> str:
    rows = [
        '<table><tr><td><p><a name="S12480"></a><a href="javascript:loadAgendaItem(12480,true);"><span>PUBLIC HEARINGS'
        "</span></a></p></td></tr></table>"
    ]
    for place, item in enumerate(items, start=1):
        first, rest = (
            (f"File No. {item.file}", f"<p>{item.title}</p>")
            if item.file
            else (item.title, "")
        )
        rows.append(
            f'<table><tr><td><p><span>{item.number}</span></p></td><td><p><a name="I{place}"></a>'
            f'<a href="javascript:loadAgendaItem({place},false);"><span>{first}</span></a></p>{rest}'
            "<p>&#xa0;</p></td></tr></table>"
        )
    return _page(f"<p>City Council</p><p>March 10, 2026</p><p>{HEAD}</p>", *rows)


def _onbase_accessible() -> str:
    return _page(
        f"<p>{HEAD}</p>",
        '<div class="accessible-section accessible-section-level-1"><h2>Business</h2>'
        '<div class="accessible-item accessible-item-level-1"><a href="#" onclick="loadAgendaItem(71,false)">'
        "1. Budget of the parks</a></div></div>",
    )


def _onbase_item(place: int, item: Item) -> str:
    links = "".join(
        f'<li><a href="/OnBaseAgendaOnline/Documents/DownloadFile/document_{file}.pdf?documentType=1&amp;meetingId=1'
        f'&amp;itemId={place}&amp;publishId={file}&amp;isSection=False&amp;isAttachment=True">{name}</a></li>'
        for file, name in item.files
    )
    return _page(
        f"<h2>Supporting Documents</h2><ul>{links}</ul><a href='/outline'>Back to Meeting Outline</a>"
    )


# --- the Archive Center of CivicEngage ------------------------------------------------


def _civicengage(phase: int) -> Answers:
    categories = {
        0: "All",
        30: "City Council Agendas",
        31: "City Council Minutes",
        36: "Boards and Commissions Agendas",
        82: "Crime Reports",
    }
    select = "".join(
        f'<option value="{number}">{name}</option>'
        for number, name in categories.items()
    )
    council = [
        (101, "City Council Agenda - March 10, 2026"),
        (90, "City Council Agenda - February 24, 2026"),
    ]
    if phase == 2:
        council.insert(0, (110, "City Council Revised Agenda - March 10, 2026"))
    boards = [
        (104, f"Parks Board Agenda - March {parks_day(phase)}, 2026"),
        (103, "Planning Commission Agenda - CANCELLED - March 17, 2026"),
    ]
    past = (
        "City Council",
        "February 24, 2026 at 6:00 PM",
        "1. Budget of the parks",
        "2. Trees of the park",
    )
    return {
        "/archive.aspx": _page(
            f'<form><select name="lngArchiveMasterID">{select}</select></form>'
        ),
        "/archive.aspx?amid=30": _archive(council),
        "/archive.aspx?amid=31": _archive(
            [(95, "City Council Minutes - February 24, 2026")]
        ),
        "/archive.aspx?amid=36": _archive(boards),
        "/archive.aspx?adid=101": pdf_of("\n".join(_lines(agenda(1)))),
        "/archive.aspx?adid=110": pdf_of("\n".join(_lines(agenda(2)))),
        "/archive.aspx?adid=90": pdf_of("\n".join(past)),
        "/archive.aspx?adid=95": MINUTES,
        "/archive.aspx?adid=104": pdf_of(
            f"Parks Board\nMarch {parks_day(phase)}, 2026 at 5:30 PM\n1. Benches\n2. Swings"
        ),
        "/archive.aspx?adid=103": pdf_of("Planning Commission\nCANCELLED"),
    }


def _archive(documents: Sequence[tuple[int, str]]) -> str:
    links = "".join(
        f'<li><a href="Archive.aspx?ADID={number}">{name}</a></li>'
        for number, name in documents
    )
    return _page(f"<h1>Archive Center</h1><ul>{links}</ul>")


def _lines(items: Sequence[Item]) -> list[str]:
    """Return the lines of an agenda as a document."""
    head = ["City Council Agenda", "Tuesday, March 10, 2026 at 6:00 PM", HEAD]
    return head + [
        f"{item.number} {quote(item.file, safe=' ')}{': ' if item.file else ''}{item.title}"
        for item in items
    ]


# kind -> path of the source, and what is answered in a phase (1 or 2)
PORTALS: dict[str, tuple[str, Callable[[int], Answers]]] = {
    "boarddocs": ("/il/springfield/Board.nsf/Public", _boarddocs),
    "civicengage": ("/Archive.aspx", _civicengage),
    "civicweb": ("/", _civicweb),
    "onbase": ("/OnBaseAgendaOnline/", _onbase),
}
