"""Partition grids (agencies, and agencies by day), and the agency-days of a run."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg

from news_assets.defs.active_runs import RANGE_END, RANGE_START
from news_assets.pipeline.schedule import FUTURE_DAYS
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays

# agency-days stored together: bounds memory, and the work that a killed run repeats
_BATCH_PARTITIONS = 200


def agency_partitions(desk: Desk) -> dg.StaticPartitionsDefinition:
    """Return one partition per agency; inactive ones are included because their rows
    stay.
    """
    return dg.StaticPartitionsDefinition(list(desk.agency_names))


def agency_day_partitions(desk: Desk) -> dg.MultiPartitionsDefinition:
    """Return the grid of agencies by days, from the desk's first day to today, or to
    the last day of listed meetings.

    Today's partition exists from midnight on. A desk with agencies in other time zones
    than its own has tomorrow's too, which begins earlier for agencies east of the desk.
    """
    days = dg.DailyPartitionsDefinition(
        start_date=desk.first_day.isoformat(),
        timezone=desk.timezone,
        end_offset=1 + _days_ahead(desk),
    )
    return dg.MultiPartitionsDefinition(
        {"agency": agency_partitions(desk), "day": days}
    )


def newsroom_days(desks: Sequence[Desk]) -> dg.DailyPartitionsDefinition:
    """Return the days (UTC) of the grids of these desks together."""
    return dg.DailyPartitionsDefinition(
        min(desk.first_day for desk in desks).isoformat(),
        timezone="UTC",
        end_offset=1 + max(_days_ahead(desk) for desk in desks),
    )


def last_day(desk: Desk, now: datetime) -> date:
    """Return the newest day of the grid."""
    return _today(desk, now) + timedelta(days=_days_ahead(desk))


def newest_begun_day(desk: Desk, now: datetime) -> date:
    """Return the newest day that has begun for some agency; a grid with meetings goes
    on after it.
    """
    return _today(desk, now) + timedelta(days=_days_of_zones(desk))


def _today(desk: Desk, now: datetime) -> date:
    return now.astimezone(ZoneInfo(desk.timezone)).date()


def _days_ahead(desk: Desk) -> int:
    days = _days_of_zones(desk)
    if desk.is_civic:
        days += FUTURE_DAYS
    return days


def _days_of_zones(desk: Desk) -> int:
    if all(agency.timezone == desk.timezone for agency in desk.agencies):
        return 0
    return 1


def partitions_of_run(context: dg.AssetExecutionContext, desk: Desk) -> Sequence[str]:
    """Return the run's partitions. Raises dg.Failure where its range has none, which
    Dagster would count as a success.
    """
    keys: Sequence[str] = context.partition_keys
    if keys:
        return keys
    first = context.run.tags.get(RANGE_START, "")
    last = context.run.tags.get(RANGE_END, "")
    agencies = list(desk.agency_names)
    raise dg.Failure(
        f"the range {first}...{last} has no partition: its last agency and its last day must not"
        " come before the first; agencies are in alphabetical order, from"
        f" {agencies[0]} to {agencies[-1]}"
    )


def agency_day_batches(
    context: dg.AssetExecutionContext, desk: Desk
) -> Iterator[AgencyDays]:
    """Yield the run's partitions in batches, newest days first. Raises dg.Failure where
    the run's range has none.
    """
    pairs = sorted(
        map(_pair_of, partitions_of_run(context, desk)),
        key=lambda pair: (-pair[1].toordinal(), pair[0]),
    )
    for start in range(0, len(pairs), _BATCH_PARTITIONS):
        yield AgencyDays(desk.key, frozenset(pairs[start : start + _BATCH_PARTITIONS]))


def _pair_of(key: str) -> tuple[str, date]:
    assert isinstance(key, dg.MultiPartitionKey)
    return key.keys_by_dimension["agency"], date.fromisoformat(
        key.keys_by_dimension["day"]
    )


def utc_now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)
