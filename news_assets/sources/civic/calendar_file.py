"""iCalendar files (RFC 5545), read with icalendar: `BEGIN:VCALENDAR`, as calendars of
any software export them.

A time with `Z` is UTC, one with a `TZID` in that zone, one without either in the
agency's. A series is repeated within two months back and a year on; days taken out
(EXDATE) and moved ones (RECURRENCE-ID) are respected.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from news_assets.errors import SourceError
from news_assets.records.meetings import Link, Meeting, MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.ids import digest
from news_assets.sources.civic.reading.moments import Moment
from news_assets.sources.civic.reading.page_values import changed, clean, unique_links
from news_assets.sources.civic.vendor import Reading
from news_assets.text.charset import decode
from news_assets.text.html import plain_text
from news_assets.text.limits import clean_text
from news_assets.text.urls import web_url
from news_assets.text.zones import zone_info

if TYPE_CHECKING:
    from icalendar import Event

_EXPECTED = "an iCalendar file"
_BACK, _ON = timedelta(days=62), timedelta(days=366)
_MAX_EVENTS = 10_000
# rules that never fit, such as the 31st of February: each is tried up to the year 9999
_MAX_VAIN = 3
_MAX_REPEATS = 400  # of one series: one a day, and a few
_RULES = frozenset(
    (
        "FREQ",
        "INTERVAL",
        "COUNT",
        "UNTIL",
        "BYDAY",
        "BYMONTHDAY",
        "BYMONTH",
        "BYSETPOS",
        "WKST",
    )
)
_FREQUENCIES = frozenset(("DAILY", "WEEKLY", "MONTHLY", "YEARLY"))
_OLDEST = 20  # years of a series' first meeting


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the events of a file as meetings.

    Raises:
        ListingChangedError: Not an iCalendar file.
        SourceError: An empty file, or one that cannot be read.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    if b"BEGIN:VCALENDAR" not in page.body[:2000].upper():
        raise changed(page, _EXPECTED)
    problems: list[str] = []
    events = _events(page, problems)
    moved = {
        (_text(event, "UID"), _local(event, "RECURRENCE-ID", reading))
        for event in events
        if "RECURRENCE-ID" in event
    }
    found: dict[str, Meeting] = {}
    left_out = vain = 0
    for event in events:
        is_series = "RRULE" in event
        if is_series and vain == _MAX_VAIN:
            left_out += 1
            continue
        starts = list(_starts(event, reading, moved, problems))
        vain += is_series and not starts and not _may_have_ended(event, reading)
        for start in starts:
            meeting = _meeting(event, start, page, reading, is_repeat=is_series)
            found[meeting.vendor_id] = meeting
    if left_out:
        problems.append(
            f"{left_out} series left out, after {_MAX_VAIN} that never take place"
        )
    return MeetingListing(meetings=tuple(found.values()), problems=tuple(problems))


def _events(page: Page, problems: list[str]) -> list["Event"]:
    """Return the events of a file; a file whose zones cannot be read is read by the
    names of its zones.
    """
    text = clean_text(decode(page.body, page.encoding))
    try:
        events = _parsed(text)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        problems.append("zones left out: their declaration cannot be read")
        try:
            events = _parsed(_without_zones(text))
        except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise SourceError(
                f"{page.url}: iCalendar that cannot be read: {reason}"
            ) from error
    if len(events) > _MAX_EVENTS:
        problems.append(
            f"{len(events) - _MAX_EVENTS} events left out: more than {_MAX_EVENTS}"
        )
    return events[:_MAX_EVENTS]


def _parsed(text: str) -> list["Event"]:
    from icalendar import Calendar

    events: list[Any] = []
    for calendar in Calendar.from_ical(text, multiple=True):
        events += calendar.walk("VEVENT")
    return events


def _without_zones(text: str) -> str:
    kept: list[str] = []
    is_zone = False
    for line in text.splitlines():
        is_zone = is_zone or line.startswith("BEGIN:VTIMEZONE")
        if not is_zone:
            kept.append(line)
        is_zone = is_zone and not line.startswith("END:VTIMEZONE")
    return "\r\n".join(kept) + "\r\n"


def _text(event: "Event", name: str) -> str:
    value = event.get(name)
    value = value[0] if isinstance(value, list) and value else value
    if value is None:
        return ""
    return str(value)


def _local(event: "Event", name: str, reading: Reading) -> Moment | None:
    value = event.get(name)
    value = value[0] if isinstance(value, list) and value else value
    return _moment(_value(value, "dt"), reading)


def _value(holder: Any, name: str) -> Any:
    """Return a value of a property; None for a property that is missing or broken."""
    try:
        return getattr(holder, name, None)
    except ValueError:
        return None


def _moment(value: Any, reading: Reading) -> Moment | None:
    """Return a day or time of the file as the agency's local one."""
    if isinstance(value, datetime):
        try:
            local = (
                value.astimezone(zone_info(reading.timezone)) if value.tzinfo else value
            )
        except (OverflowError, ValueError):
            return None
        return Moment(
            local.date(), local.time().replace(second=0, microsecond=0, tzinfo=None)
        )
    if not isinstance(value, date):
        return None
    return Moment(value)


def _starts(
    event: "Event",
    reading: Reading,
    moved: set[tuple[str, Moment | None]],
    problems: list[str],
) -> Iterator[Moment]:
    """Yield the begins of an event: its own, or those of its series."""
    start = _local(event, "DTSTART", reading)
    if start is None:
        problems.append(f"an event has no begin: {clean(_text(event, 'SUMMARY'))[:80]}")
        return
    if "RRULE" not in event:
        yield start
        return
    uid, left_out = _text(event, "UID"), _left_out(event, reading)
    for one in _repeats(event, start, reading, problems):
        if (uid, one) not in moved and one not in left_out:
            yield one


def _may_have_ended(event: "Event", reading: Reading) -> bool:
    """Whether a series had a last day that is past, or a number of meetings."""
    rule = _rule_of(event)
    until = [_moment(value, reading) for value in rule.get("UNTIL", [])]
    return "COUNT" in rule or any(one and one.day < reading.now.date() for one in until)


def _rule_of(event: "Event") -> dict[str, list[Any]]:
    """Return the rule of a series; empty if it has several, which cannot be followed."""
    rule: Any = event["RRULE"]
    if not isinstance(rule, dict):
        return {}
    return {name.upper(): value for name, value in rule.items()}


def _left_out(event: "Event", reading: Reading) -> set[Moment | None]:
    value = event.get("EXDATE")
    groups = value if isinstance(value, list) else [value]
    return {
        _moment(_value(one, "dt"), reading)
        for group in groups
        for one in _value(group, "dts") or ()
    }


def _repeats(
    event: "Event", start: Moment, reading: Reading, problems: list[str]
) -> Iterator[Moment]:
    """Yield the begins of a series near the present, on the local wall clock."""
    from dateutil.rrule import rrulestr

    first = datetime.combine(start.day, start.clock or time())
    rule = _rule_of(event)
    now = reading.now.astimezone(zone_info(reading.timezone)).replace(tzinfo=None)
    frequency = str((rule.get("FREQ") or [""])[0]).upper()
    if (
        rule.keys() - _RULES
        or frequency not in _FREQUENCIES
        or first.year < now.year - _OLDEST
    ):
        problems.append(
            f"a series could not be repeated: {clean(_text(event, 'SUMMARY'))[:80]}"
        )
        yield start
        return
    until = [_moment(value, reading) for value in rule.pop("UNTIL", [])]
    last = min(
        (datetime.combine(one.day, one.clock or time.max) for one in until if one),
        default=now + _ON,
    )
    parts = ";".join(
        f"{name}={','.join(str(one) for one in values)}"
        for name, values in rule.items()
    )
    try:
        repeated = rrulestr(parts, dtstart=first).xafter(
            max(first, now - _BACK), count=_MAX_REPEATS, inc=True
        )
        for at in repeated:
            if at > min(last, now + _ON):
                break
            yield Moment(at.date(), at.time() if start.clock else None)
    except (ValueError, TypeError, OverflowError):
        problems.append(
            f"a series could not be repeated: {clean(_text(event, 'SUMMARY'))[:80]}"
        )


def _meeting(
    event: "Event", start: Moment, page: Page, reading: Reading, *, is_repeat: bool
) -> Meeting:
    uid = _text(event, "UID") or digest(_text(event, "SUMMARY"), str(start))
    own = _local(event, "RECURRENCE-ID", reading) or (start if is_repeat else None)
    summary, status = (
        clean(plain_text(_text(event, "SUMMARY"))),
        _text(event, "STATUS").upper(),
    )
    url = web_url(_text(event, "URL"), page.final_url) if _text(event, "URL") else None
    begin, end = _local(event, "DTSTART", reading), _local(event, "DTEND", reading)
    length = _length(begin, end)
    updated = _value(event.get("LAST-MODIFIED"), "dt")
    return meeting_of(
        Stated(
            vendor_id=f"{uid}#{own.day:%Y%m%d}" if own else uid,
            title=summary,
            body=summary,
            start=start,
            end=start.later(length) if length else None,
            location=location_of(_text(event, "LOCATION")),
            url=url,
            links=unique_links(
                (
                    Link(title="Details", href=url) if url else None,
                    *_attached(event, page),
                )
            ),
            comment=clean(plain_text(_text(event, "DESCRIPTION")[:20_000])),
            status_words=[status],
            is_final=status == "CONFIRMED",
            updated_at=(
                updated.astimezone(UTC)
                if isinstance(updated, datetime) and updated.tzinfo
                else None
            ),
        ),
        reading,
    )


def _length(begin: Moment | None, end: Moment | None) -> timedelta | None:
    if not begin or not end or not begin.clock or not end.clock:
        return None
    length = datetime.combine(end.day, end.clock) - datetime.combine(
        begin.day, begin.clock
    )
    if length > timedelta():
        return length
    return None


def _attached(event: "Event", page: Page) -> Iterator[Link]:
    value = event.get("ATTACH")
    for one in value if isinstance(value, list) else [value]:
        text = str(one) if one is not None else ""
        if text.startswith("http") and (url := web_url(text, page.final_url)):
            name = getattr(one, "params", {}).get("FILENAME")
            yield Link(title=clean(str(name)) if name else "Attachment", href=url)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the file."""
    return (Request(url=url),)
