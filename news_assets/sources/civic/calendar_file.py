"""iCalendar files (RFC 5545), read with icalendar: `BEGIN:VCALENDAR`, as calendars of
any software export them.

A time with `Z` is UTC, one with a `TZID` in that zone, one without either in the
agency's. A series is repeated within two months back and a year on; days taken out
(EXDATE) and moved ones (RECURRENCE-ID) are respected.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from news_assets.errors import SourceError
from news_assets.records.meetings import Link, Meeting, MeetingListing
from news_assets.records.reading import Page
from news_assets.sources.civic.identity import digest
from news_assets.sources.civic.moments import Moment
from news_assets.sources.civic.page_values import (
    Requests,
    listing_changed,
    optional_link,
    requests_to,
    title_line,
    unique_links,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.text.dates import zone_info
from news_assets.text.html import decode, plain_text
from news_assets.text.limits import clean_text
from news_assets.text.urls import web_url

if TYPE_CHECKING:
    from icalendar import Event

_EXPECTED = "an iCalendar file"
_BACK, _ON = timedelta(days=62), timedelta(days=366)
# what the library raises for a broken file
_UNREADABLE = (ValueError, IndexError, KeyError, TypeError, AttributeError)
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


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the events of a file as meetings.

    Raises:
        ListingChangedError: Not an iCalendar file.
        SourceError: An empty file, or one that cannot be read.
    """
    if not page.body.strip():
        raise SourceError(f"{page.url}: an empty document")
    if b"BEGIN:VCALENDAR" not in page.body[:2000].upper():
        raise listing_changed(page, _EXPECTED)
    problems: list[str] = []
    events = _events(page, problems)
    found: dict[str, Meeting] = {}
    for event, start in _begins(events, context, problems):
        meeting = _meeting(event, start, page, context)
        found[meeting.vendor_id] = meeting
    return MeetingListing(meetings=tuple(found.values()), problems=tuple(problems))


def _begins(
    events: Sequence["Event"], context: ParseContext, problems: list[str]
) -> list[tuple["Event", Moment]]:
    """Return each event with each of its begins.

    Series are omitted after some that never take place, because trying one is slow.
    """
    moved = _moved_meetings(events, context)
    found: list[tuple[Event, Moment]] = []
    omitted = vain = 0
    for event in events:
        is_series = "RRULE" in event
        if is_series and vain == _MAX_VAIN:
            omitted += 1
            continue
        starts = _starts(event, context, moved, problems)
        if is_series and not starts and not _may_have_ended(event, context):
            vain += 1
        found += [(event, start) for start in starts]
    if omitted:
        problems.append(
            f"{omitted} series left out, after {_MAX_VAIN} that never take place"
        )
    return found


def _moved_meetings(
    events: Iterable["Event"], context: ParseContext
) -> set[tuple[str, Moment | None]]:
    """Return the meetings of series that have an event of their own: id of the series
    and planned begin.
    """
    moved: set[tuple[str, Moment | None]] = set()
    for event in events:
        if "RECURRENCE-ID" in event:
            planned = _local(event, "RECURRENCE-ID", context)
            moved.add((_text(event, "UID"), planned))
    return moved


def _events(page: Page, problems: list[str]) -> list["Event"]:
    """Return the events of a file; a file whose zones cannot be read is read by the
    names of its zones.
    """
    text = clean_text(decode(page.body, page.encoding))
    try:
        events = _parsed(text)
    except _UNREADABLE:
        problems.append("zones left out: their declaration cannot be read")
        try:
            events = _parsed(_without_zones(text))
        except _UNREADABLE as error:
            reason = " ".join(str(error).split())[:120]
            raise SourceError(
                f"{page.url}: iCalendar that cannot be read: {reason}"
            ) from error
    if len(events) > _MAX_EVENTS:
        problems.append(
            f"{len(events) - _MAX_EVENTS} events left out: more than {_MAX_EVENTS}"
        )
    return events[:_MAX_EVENTS]


def _first_value(event: "Event", name: str) -> Any:
    """Return the value of a property, the first one of several."""
    value = event.get(name)
    if not isinstance(value, list):
        return value
    return next(iter(value), value)


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
        if line.startswith("BEGIN:VTIMEZONE"):
            is_zone = True
        if not is_zone:
            kept.append(line)
        elif line.startswith("END:VTIMEZONE"):
            is_zone = False
    return "\r\n".join(kept) + "\r\n"


def _text(event: "Event", name: str) -> str:
    value = _first_value(event, name)
    if value is None:
        return ""
    return str(value)


def _local(event: "Event", name: str, context: ParseContext) -> Moment | None:
    stated = _first_value(event, name)
    return _moment(_value(stated, "dt"), context)


def _value(holder: Any, name: str) -> Any:
    """Return a value of a property; None for a property that is missing or broken."""
    try:
        return getattr(holder, name, None)
    except ValueError:
        return None


def _moment(value: Any, context: ParseContext) -> Moment | None:
    """Return a day or time of the file as the agency's local one."""
    if isinstance(value, datetime):
        if value.tzinfo:
            try:
                value = value.astimezone(zone_info(context.timezone))
            except (OverflowError, ValueError):
                return None
        clock = value.time().replace(second=0, microsecond=0, tzinfo=None)
        return Moment(value.date(), clock)
    if not isinstance(value, date):
        return None
    return Moment(value)


def _starts(
    event: "Event",
    context: ParseContext,
    moved: set[tuple[str, Moment | None]],
    problems: list[str],
) -> list[Moment]:
    """Return when an event begins: its own begin, or each begin of its series."""
    start = _local(event, "DTSTART", context)
    if start is None:
        problems.append(f"an event has no begin: {_short_summary(event)}")
        return []
    if "RRULE" not in event:
        return [start]
    uid = _text(event, "UID")
    cancelled = _cancelled(event, context)
    found: list[Moment] = []
    for one in _repeats(event, start, context, problems):
        if (uid, one) in moved:
            continue
        if one not in cancelled:
            found.append(one)
    return found


def _short_summary(event: "Event") -> str:
    return title_line(_text(event, "SUMMARY"))[:80]


def _cancelled(event: "Event", context: ParseContext) -> set[Moment | None]:
    """Return the times at which a series does not take place."""
    value = event.get("EXDATE")
    groups = value if isinstance(value, list) else [value]
    found: set[Moment | None] = set()
    for group in groups:
        dates = _value(group, "dts") or ()
        found.update(_moment(_value(one, "dt"), context) for one in dates)
    return found


def _may_have_ended(event: "Event", context: ParseContext) -> bool:
    """Whether a series has a last day that is past, or a number of meetings."""
    rule = _rule_of(event)
    if "COUNT" in rule:
        return True
    today = context.now.date()
    for value in rule.get("UNTIL", []):
        last = _moment(value, context)
        if last and last.day < today:
            return True
    return False


def _rule_of(event: "Event") -> dict[str, list[Any]]:
    """Return the rule of a series; empty if it has several, which cannot be followed."""
    rule: Any = event["RRULE"]
    if not isinstance(rule, dict):
        return {}
    return {name.upper(): value for name, value in rule.items()}


def _repeats(
    event: "Event", start: Moment, context: ParseContext, problems: list[str]
) -> list[Moment]:
    """Return the begins of a series near the present, on the local wall clock."""
    rule = _rule_of(event)
    now = context.now.astimezone(zone_info(context.timezone)).replace(tzinfo=None)
    problem = f"a series could not be repeated: {_short_summary(event)}"
    if not _is_simple(rule) or start.day.year < now.year - _OLDEST:
        problems.append(problem)
        return [start]
    last = min([*_last_times(rule.pop("UNTIL", []), context), now + _ON])
    found: list[Moment] = []
    try:
        for at in _begins_of_rule(rule, start, now):
            if at > last:
                break
            found.append(Moment(at.date(), at.time() if start.clock else None))
    except (ValueError, TypeError, OverflowError):
        problems.append(problem)
    return found


def _begins_of_rule(
    rule: Mapping[str, list[Any]], start: Moment, now: datetime
) -> Iterator[datetime]:
    """Return the begins that a rule gives, from the months before the present on."""
    from dateutil.rrule import rrulestr

    first = datetime.combine(start.day, start.clock or time())
    series = rrulestr(_text_of_rule(rule), dtstart=first)
    begins: Iterator[datetime] = series.xafter(
        max(first, now - _BACK), count=_MAX_REPEATS, inc=True
    )
    return begins


def _is_simple(rule: Mapping[str, list[Any]]) -> bool:
    """Whether a rule consists of parts that are followed, from days to years."""
    frequencies = rule.get("FREQ") or [""]
    if rule.keys() > _RULES:
        return False
    return str(frequencies[0]).upper() in _FREQUENCIES


def _last_times(until: Iterable[Any], context: ParseContext) -> list[datetime]:
    """Return the last times that a rule allows."""
    found: list[datetime] = []
    for value in until:
        last = _moment(value, context)
        if last:
            found.append(datetime.combine(last.day, last.clock or time.max))
    return found


def _text_of_rule(rule: Mapping[str, list[Any]]) -> str:
    parts: list[str] = []
    for name, values in rule.items():
        parts.append(f"{name}={','.join(map(str, values))}")
    return ";".join(parts)


def _meeting(
    event: "Event", start: Moment, page: Page, context: ParseContext
) -> Meeting:
    summary = title_line(plain_text(_text(event, "SUMMARY")))
    status = _text(event, "STATUS").upper()
    url = _address(_text(event, "URL"), page)
    return meeting_of(
        Meeting(
            vendor_id=_id_of(event, start, context),
            title=summary,
            body=summary,
            location=location_of(_text(event, "LOCATION")),
            url=url,
            links=unique_links(
                (optional_link("Details", url), *_attached(event, page))
            ),
            comment=title_line(plain_text(_text(event, "DESCRIPTION")[:20_000])),
            updated_at=_updated_at(event),
        ),
        context,
        start=start,
        end=_end(event, start, context),
        status_words=[status],
        is_final=status == "CONFIRMED",
    )


def _address(stated: str, page: Page) -> str | None:
    if not stated:
        return None
    return web_url(stated, page.final_url)


def _id_of(event: "Event", start: Moment, context: ParseContext) -> str:
    """Return the id of an event; of a meeting of a series with its planned day."""
    uid = _text(event, "UID") or digest(_text(event, "SUMMARY"), str(start))
    planned = _local(event, "RECURRENCE-ID", context)
    if planned is None:
        if "RRULE" not in event:
            return uid
        planned = start
    return f"{uid}#{planned.day:%Y%m%d}"


def _end(event: "Event", start: Moment, context: ParseContext) -> Moment | None:
    """Return when a meeting ends: as long after its begin as the event states."""
    begin = _local(event, "DTSTART", context)
    end = _local(event, "DTEND", context)
    if not begin:
        return None
    if not end:
        return None
    if not begin.clock:
        return None
    if not end.clock:
        return None
    length = datetime.combine(end.day, end.clock) - datetime.combine(
        begin.day, begin.clock
    )
    if length <= timedelta():
        return None
    return start.later(length)


def _updated_at(event: "Event") -> datetime | None:
    updated = _value(event.get("LAST-MODIFIED"), "dt")
    if not isinstance(updated, datetime):
        return None
    if updated.tzinfo is None:
        return None
    return updated.astimezone(UTC)


def _attached(event: "Event", page: Page) -> list[Link]:
    value = event.get("ATTACH")
    links: list[Link] = []
    for one in value if isinstance(value, list) else [value]:
        if one is None:
            continue
        if not str(one).startswith("http"):
            continue
        url = web_url(str(one), page.final_url)
        name = getattr(one, "params", {}).get("FILENAME") or "Attachment"
        if url:
            links.append(Link(title=title_line(str(name)), href=url))
    return links


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the file."""
    return requests_to(url)
