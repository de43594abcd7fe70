"""The polls and schedule of each source; `pipeline/freshness/source_health.py` renders
the rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.pipeline.publishing_habits import rates_of
from news_assets.pipeline.schedule import Forecast, first_interval, forecast
from news_assets.records.articles import SourceState
from news_assets.records.desks import Agency, Desk
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot

if TYPE_CHECKING:
    import polars

_LAST_POLLS = 10
_POLL_DAYS = 30

Row = dict[str, Any]

_OF_AGENCIES = "$agencies IS NULL OR agency IN (SELECT unnest($agencies))"
_SOURCES = f"""
    SELECT s.source_id, s.desk, coalesce(p.polls, []) AS polls, s.interval_s, s.next_poll_at,
        p.new_ratio,
        s.last_new_at, s.last_polled_at, s.last_outcome, s.last_reason
    FROM sources s
    LEFT JOIN (
        SELECT source_id,
            list_reverse(arg_max(
                {{'polled_at': polled_at, 'outcome': outcome, 'new_count': new_count}},
                polled_at, {_LAST_POLLS}
            )) AS polls,
            sum(new_count) / nullif(sum(entry_count), 0) AS new_ratio
        FROM polls WHERE polled_at >= $since AND ($desk IS NULL OR desk = $desk)
            AND ({_OF_AGENCIES}) GROUP BY source_id
    ) p USING (source_id)
    WHERE ($desk IS NULL OR s.desk = $desk) AND ({_OF_AGENCIES})
    ORDER BY s.source_id
"""


def source_records(
    lake: Lake | Snapshot,
    now: datetime,
    desk: str | None = None,
    agencies: Sequence[str] | None = None,
) -> "polars.DataFrame":
    """Return a row for each source that was ever polled, of all desks and agencies or
    only of these, by source_id.

    Columns: source_id, desk, polls (the last ten of the last 30 days, oldest first:
    polled_at, outcome, new_count), interval_s, next_poll_at, new_ratio (share of new
    entries in the listings of these days, 0 to 1; None without entries, and in
    `source_rows` for civic sources, whose new entries are items of the meetings that
    they list), last_new_at, last_polled_at, last_outcome and last_reason.
    """
    since = now - timedelta(days=_POLL_DAYS)
    return lake.query(_SOURCES, {"since": since, "desk": desk, "agencies": agencies})


def source_rows(
    lake: Lake | Snapshot, desk: Desk, silences: Findings | None, now: datetime
) -> Iterator[Row]:
    """Yield a row for each source of a desk, including inactive agencies; values of
    sources never polled are None.

    `silences` are the findings of `health.silent_agencies`, if they are to be shown.
    Only polls of the desk's agencies are counted: with few agencies 32 ms instead of
    250 ms among 460,000 polls.
    """
    records = source_records(
        lake, now, desk.key, [agency.key for agency in desk.agencies]
    )
    found = {row["source_id"]: row for row in records.iter_rows(named=True)}
    header, rows = (silences.header, silences.rows) if silences else ((), ())
    silent = {str(row[0]): dict(zip(header, row, strict=True)) for row in rows}
    for agency in desk.agencies:
        yield from _rows_of(agency, desk, found, silent.get(agency.key, {}))


def forecasts(lake: Lake, desk: Desk, now: datetime) -> dict[str, Forecast]:
    """Return what is expected of each source of the active agencies, by source_id, also
    of those never polled.
    """
    states = {
        state.source_id: state for state in lake.read(SourceState, desk=[desk.key])
    }
    rates = rates_of(lake, desk.sources, now)
    expected = {}
    for source in desk.sources:
        key, state = source.source_id, states.get(source.source_id)
        expected[key] = forecast(
            source, rates[key], *((state.interval_s, state.ttl_s) if state else ())
        )
    return expected


def _rows_of(
    agency: Agency, desk: Desk, found: Mapping[str, Row], silence: Row
) -> Iterator[Row]:
    of_agency = {
        "desk": desk.key,
        "agency": agency.key,
        "name": agency.name,
        "type": agency.type,
        "parent": agency.parent,
        "is_active": agency.is_active,
        "reason": agency.reason,
    }
    for source in agency.sources:
        record = found.get(source.source_id, {})
        yield of_agency | {
            "source_id": source.source_id,
            "kind": source.kind,
            "url": source.url,
            "polls": record.get("polls", []),
            "interval_s": (
                first_interval(source)
                if source.every_minutes
                else record.get("interval_s")
            ),
            "next_poll_at": record.get("next_poll_at") if agency.is_active else None,
            "new_ratio": None if source.is_civic else record.get("new_ratio"),
            "last_new_at": record.get("last_new_at"),
            "last_reason": record.get("last_reason"),
            "silent_for": silence.get("silent_for"),
            "habit": silence.get("habit"),
        }
