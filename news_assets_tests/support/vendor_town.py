"""One council meeting as each civic vendor publishes it, over HTTP on loopback.

Shapes are those of public answers of each vendor. What is published is the same for all
of them: a meeting of the City Council on 10 March 2026 at 18:00 in Springfield,
Illinois, with two items of which one has a report.
"""

import html
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from news_assets_tests.support.pdfs import pdf_of

REPORT = "The contract for the night buses costs four million dollars a year and runs until 2030."
TITLE = "Contract for the night buses"
HEAD = (
    "Written comments are due by noon on March 9. Send them to clerk@springfield.gov."
)
AGENDA_LINES = (
    "City Council Agenda",
    "Tuesday, March 10, 2026 at 6:00 PM",
    HEAD,
    "1. Roll Call",
    f"2. {TITLE}",
)
Answers = dict[str, str | bytes]


@dataclass
class Town:
    """What a server answers by path and query, in lower case; it counts requests by the
    same.
    """

    answers: Answers
    requests: Counter[str] = field(default_factory=Counter)
    statuses: dict[str, int] = field(default_factory=dict)

    def answer(self, target: str) -> tuple[int, bytes]:
        """Return status and body."""
        key = unquote(target).lower()
        self.requests[key] += 1
        for start, status in self.statuses.items():
            if key.startswith(start):
                return status, b"unavailable"
        body = self.answers.get(key, self.answers.get(key.partition("?")[0]))
        if body is None:
            return 404, b"not found"
        return 200, body.encode() if isinstance(body, str) else body


@contextmanager
def serving(town: Town) -> Iterator[str]:
    """Serve a town; yield the server's origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, body = town.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", _type_of(body))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_POST = do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _type_of(body: bytes) -> str:
    if body.startswith(b"%PDF"):
        return "application/pdf"
    return (
        "application/json" if body[:1] in (b"{", b"[") else "text/html; charset=utf-8"
    )


def _page(*parts: str) -> str:
    return f"<!DOCTYPE html><html><body>{''.join(parts)}</body></html>"


# --- what each vendor answers ---------------------------------------------------------


def _primegov() -> Answers:
    row = {
        "id": 7,
        "title": "City Council - Regular Meeting",
        "dateTime": "2026-03-10T18:00:00",
        "documentList": [
            {
                "id": 1,
                "templateId": 71,
                "templateName": "HTML Agenda",
                "compileOutputType": 3,
            }
        ],
    }
    item = (
        '<div class="meeting-item" data-itemid="12" data-mig="m-1"><table class="item-table"><tr>'
        '<td class="number-cell">(2)</td><td class="item-cell"><div class="agenda-item" id="AgendaItem_12">'
        "<table><tr><td>RES 2026-014</td></tr><tr><td>Resolution</td>"
        f'<td><div>{TITLE}</div></td></tr></table></div></td></tr></table><div id="agenda_item_area_12">'
        '<a href="/api/compilemeetingattachmenthistory/historyattachment/?historyId=aa">Report</a></div></div>'
    )
    call = (
        '<div class="meeting-item" data-itemid="11" data-mig=""><table><tr><td class="number-cell">(1)</td>'
        '<td><div class="agenda-item" id="AgendaItem_11">Roll Call</div></td></tr></table></div>'
    )
    return {
        "/api/v2/publicportal/listupcomingmeetings": json.dumps([row]),
        "/api/v2/publicportal/listarchivedmeetings": "[]",
        "/portal/meeting": _page(f"<p>{HEAD}</p>", call, item),
        "/api/compilemeetingattachmenthistory/historyattachment/": pdf_of(REPORT),
    }


def _civicclerk() -> Answers:
    event = {
        "id": 7,
        "eventName": "City Council",
        "categoryName": "City Council",
        "eventDescription": HEAD,
        "agendaId": 70,
        "startDateTime": "2026-03-10T18:00:00Z",
        "publishedFiles": [{"fileId": 94, "type": "Agenda", "name": "Agenda"}],
    }
    report = {
        "fileName": "Report",
        "pdfVersionFullPath": "/report.pdf",
        "isPublished": True,
    }
    child = {
        "id": 12,
        "agendaObjectItemName": f"<p>RES 2026-014 {TITLE}</p>",
        "agendaObjectItemNumber": "2.",
        "attachmentsList": [report],
    }
    call = {
        "id": 11,
        "agendaObjectItemName": "Roll Call",
        "agendaObjectItemNumber": "1.",
    }
    section = {
        "id": 10,
        "agendaObjectItemName": "Business",
        "isSection": True,
        "childItems": [call, child],
    }
    return {
        "/v1/events": json.dumps({"value": [event]}),
        "/v1/meetings/70": json.dumps({"id": 70, "items": [section]}),
        "/report.pdf": pdf_of(REPORT),
    }


def _granicus() -> Answers:
    listing = (
        '<table><tr class="odd"><td headers="Name">City Council</td><td headers="Date">March 10, 2026 - 06:00 PM</td>'
        '<td><a href="/AgendaViewer.php?view_id=2&event_id=7">Agenda</a></td></tr></table>'
        '<script src="/granicus.js"></script>'
    )
    agenda = (
        f"<center><p>City Council</p><p>March 10, 2026</p></center><p>{HEAD}</p>"
        "<table><tr><td>1.</td><td>Roll Call</td></tr></table>"
        f"<table><tr><td>2.</td><td>{TITLE}<br>File ID: RES 2026-014</td></tr></table>"
        '<blockquote><a href="/MetaViewer.php?meta_id=120">Report</a></blockquote>'
    )
    return {
        "/viewpublisher.php": _page(listing),
        "/agendaviewer.php": _page(agenda),
        "/metaviewer.php": pdf_of(REPORT),
    }


def _escribe() -> Answers:
    row = {
        "ID": "ab-7",
        "MeetingName": "City Council",
        "MeetingType": "City Council",
        "StartDate": "2026/03/10 18:00:00",
        "HasAgenda": True,
        "MeetingDocumentLink": [
            {
                "Type": "Agenda",
                "Format": "HTML",
                "Title": "Agenda",
                "Url": "Meeting.aspx?Id=ab-7",
            }
        ],
    }
    item = (
        '<div class="AgendaItemContainer"><div class="AgendaItem AgendaItem{0}"><div class="AgendaItemCounter">{1}'
        '</div><div class="AgendaItemTitle">{2}</div>{3}</div></div>'
    )
    link = '<a href="filestream.ashx?DocumentId=5">Report</a>'
    return {
        "/meetingscalendarview.aspx/getcalendarmeetings": json.dumps({"d": [row]}),
        "/meeting.aspx": _page(
            f"<p>{HEAD}</p>",
            item.format(11, "1.", "Roll Call", ""),
            item.format(12, "2.", f"RES-2026-014: {TITLE}", link),
        ),
        "/filestream.ashx": pdf_of(REPORT),
    }


def _iqm2() -> Answers:
    facts = html.escape(
        "3/10/2026 6:00 PM\rBoard:\tCity Council\rType:\tRegular\rStatus:\tScheduled\r\rHall\r1 Oak St"
    )
    calendar = (
        f'<div class="MeetingRow"><a href="/Citizens/Detail_Meeting.aspx?ID=7" title="{facts}">Mar 10, 2026 6:00 PM</a>'
        '<div class="MeetingLinks"><a href="FileOpen.aspx?Type=14&ID=7">Agenda</a></div></div>'
    )
    detail = (
        "<span id=x_lblMeetingGroup>City Council</span><span id=x_lblMeetingDate>3/10/2026 6:00 PM</span>"
        f"<p>{HEAD}</p><table id=MeetingDetail><tr><td class=Num>1.</td><td>Roll Call</td></tr>"
        '<tr><td class=Num>2.</td><td><a href="Detail_LegiFile.aspx?MeetingID=7&ID=12">'
        f"RES 2026-014 : {TITLE}</a></td></tr></table>"
    )
    file = (
        "<table id=tblLegiFileInfo><tr><th>Category:</th><td>Resolution</td></tr></table>"
        '<a href="FileOpen.aspx?Type=30&ID=5">Report</a>'
    )
    return {
        "/citizens/calendar.aspx": _page(calendar, "IQM2"),
        "/citizens/detail_meeting.aspx": _page(detail),
        "/citizens/detail_legifile.aspx": _page(file),
        "/citizens/fileopen.aspx": pdf_of(REPORT),
    }


def _novusagenda() -> Answers:
    heads = "".join(
        f'<th class="rgHeader">{name}</th>'
        for name in ("Date", "Meeting Type", "Time", "Online Agenda")
    )
    script = "window.open('MeetingView.aspx?MeetingID=7&doctype=Agenda')"
    grid = (
        f'<table class="rgMasterTable"><tr>{heads}</tr><tr class="rgRow"><td>3/10/26</td><td>City Council</td>'
        f'<td>6:00 PM</td><td><a href="#" onclick="{script}"><img alt="Agenda"></a></td></tr></table>'
    )
    agenda = (
        f"<p>{HEAD}</p><table><tr><td></td><td><b>Business</b></td></tr>"
        '<tr><td>1.</td><td><a href="CoverSheet.aspx?ItemID=11&MeetingID=7">Roll Call</a></td></tr>'
        f'<tr><td>2.</td><td><a href="CoverSheet.aspx?ItemID=12&MeetingID=7">{TITLE}</a></td></tr></table>'
    )
    sheet = '<div id="ns-ContentArea"><p>Item number RES 2026-014</p><a href="AttachmentViewer.ashx?ID=5">Report</a></div>'
    return {
        "/agendapublic/": _page(grid),
        "/agendapublic/meetingsgeneral.aspx": _page(grid),
        "/agendapublic/meetingview.aspx": _page(agenda),
        "/agendapublic/coversheet.aspx": _page(sheet),
        "/agendapublic/attachmentviewer.ashx": pdf_of(REPORT),
    }


def _civicplus() -> Answers:
    file = "/AgendaCenter/ViewFile/Agenda/_03102026-7"
    listing = (
        '<div id="AgendaCenter"><h2>City Council</h2><table><tr class="catAgendaRow"><td><h3>Mar 10, 2026</h3><p>'
        f'<a href="{file}">City Council</a></p></td><td><a href="{file}?html=true">HTML</a></td></tr></table></div>'
    )
    agenda = (
        f'<p>{HEAD}</p><div class="item level1"><div class="bullet">1.</div><div class="title">Roll Call</div></div>'
        f'<div class="item level1"><div class="bullet">2.</div><div class="title">{TITLE}</div>'
        '<div class="desc">RES 2026-014</div><div class="documents"><a href="/report.pdf">Report</a></div></div>'
    )
    return {
        "/agendacenter/search/": _page(listing),
        f"{file}?html=true".lower(): _page(agenda),
        file.lower(): pdf_of("\n".join(AGENDA_LINES)),
        "/report.pdf": pdf_of(REPORT),
    }


def _municode() -> Answers:
    row = {
        "MeetingID": 7,
        "OriginMeetingID": "7" * 32,
        "Title": "City Council",
        "GroupName": "City Council",
        "CalendarDate": [{"FromDate": "2026-03-10 18:00:00"}],
    }
    details = {
        "Meeting": row
        | {"AgendaLinksHtmlURL": [{"URL": "/adaHtmlDocument/index?me=7"}]}
    }
    agenda = (
        f'<p>{HEAD}</p><section class="agenda-section"><h2 class="section-header">Business</h2>'
        '<ul class="agenda-items"><li><num>1.</num>Roll Call</li>'
        f"<li><num>2.</num>RES-2026-014: {TITLE}</li>"
        '<ul class="agenda_item_attachments"><li><a href="/report.pdf">Report</a></li></ul></ul></section>'
    )
    return {
        "/api/v1/public/meeting/list.json": json.dumps({"Meetings": [row]}),
        f"/api/v1/public/meeting/{'7' * 32}/details.json": json.dumps(details),
        "/adahtmldocument/index": _page(agenda),
        "/report.pdf": pdf_of(REPORT),
    }


def _legistar_html() -> Answers:
    columns = (
        "Name",
        "Meeting Date",
        "Meeting Time",
        "Meeting Location",
        "Meeting Details",
    )
    cells = (
        "City Council",
        "3/10/2026",
        "6:00 PM",
        "Hall",
        '<a href="MeetingDetail.aspx?ID=7&GUID=G">Details</a>',
    )
    items = (
        ("", "1.", "", "Roll Call"),
        (
            '<a href="LegislationDetail.aspx?ID=12&GUID=M">RES 2026-014</a>',
            "2.",
            "Resolution",
            TITLE,
        ),
    )
    when = "<span id=x_lblDate>3/10/2026</span><span id=x_lblTime>6:00 PM</span>"
    detail = f"{when}<a id=x_hypName>City Council</a><p>{HEAD}</p>"
    attachments = '<span id=x_lblSponsors2>A. Bee</span><span id=x_lblAttachments2><a href="/report.pdf">Report</a></span>'
    return {
        "/calendar.aspx": _page(_grid(columns, [cells])),
        "/meetingdetail.aspx": _page(
            detail, _grid(("File #", "Agenda #", "Type", "Title"), items)
        ),
        "/legislationdetail.aspx": _page(attachments),
        "/report.pdf": pdf_of(REPORT),
    }


def _decided_legistar() -> Answers:
    columns = (
        "File #",
        "Agenda #",
        "Type",
        "Title",
        "Action",
        "Result",
        "Action Details",
    )
    details = '<a href="HistoryDetail.aspx?ID=3&GUID=G">Action details</a>'
    file = '<a href="LegislationDetail.aspx?ID=12&GUID=M">RES 2026-014</a>'
    rows = ((file, "2.", "Resolution", TITLE, "adopted", "Pass", details),)
    when = "<span id=x_lblDate>3/10/2026</span><span id=x_lblTime>6:00 PM</span>"
    votes = _grid(("Person Name", "Vote"), (("A. Bee", "Yea"), ("C. Dee", "Nay")))
    return {
        "/meetingdetail.aspx": _page(
            when, "<a id=x_hypName>City Council</a>", _grid(columns, rows)
        ),
        "/historydetail.aspx": _page(
            "<a id=x_hypMover>A. Bee</a>",
            votes.replace("<table", "<table id=x_gridVote"),
        ),
    }


def _grid(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]] | object) -> str:
    heads = "".join(f'<th class="rgHeader">{name}</th>' for name in columns)
    body = "".join(
        f'<tr class="rgRow">{"".join(f"<td>{cell}</td>" for cell in row)}</tr>'
        for row in rows  # type: ignore[attr-defined]
    )
    return f'<table class="rgMasterTable"><tr>{heads}</tr>{body}</table>'


def _pdf_links() -> Answers:
    listing = '<h2>City Council</h2><ul><li>March 10, 2026: <a href="/docs/7-agenda.pdf">Agenda</a></li></ul>'
    return {
        "/agendas": _page(listing),
        "/docs/7-agenda.pdf": pdf_of("\n".join(AGENDA_LINES)),
    }


def _icalendar() -> Answers:
    lines = (
        *(
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//town//EN",
            "BEGIN:VEVENT",
            "UID:7@town",
        ),
        *("DTSTAMP:20260201T000000Z", "DTSTART;TZID=America/Chicago:20260310T180000"),
        *(
            "SUMMARY:City Council",
            f"DESCRIPTION:{HEAD}",
            "STATUS:CONFIRMED",
            "END:VEVENT",
            "END:VCALENDAR",
        ),
    )
    return {"/calendar.ics": "\r\n".join(lines) + "\r\n"}


TOWNS: dict[str, tuple[str, Callable[[], Answers]]] = {
    "civicclerk": ("/", _civicclerk),
    "civicplus": ("/AgendaCenter", _civicplus),
    "escribe": ("/", _escribe),
    "icalendar": ("/calendar.ics", _icalendar),
    "granicus": ("/ViewPublisher.php?view_id=2", _granicus),
    "iqm2": ("/Citizens/", _iqm2),
    "legistar_html": ("/", _legistar_html),
    "municode": ("/", _municode),
    "novusagenda": ("/agendapublic/", _novusagenda),
    "pdf_links": ("/agendas", _pdf_links),
    "primegov": ("/", _primegov),
}
# what the pages of Legistar show after the meeting
DECIDED_LEGISTAR: Answers = _decided_legistar()
