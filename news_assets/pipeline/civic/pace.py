"""How often cities are polled; pure.

    signal   the vendor's cheapest answer that shows changes, every 10 to 60 minutes;
    then the days that changed
    pass     the days from a week back to 90 days on, once a night, because dates of
    change are not reliable

Limits by vendor (slots, delays) are in `sources/civic/vendor_limits.py`; a desk file may set
others.
"""

import hashlib
from datetime import date, datetime, time, timedelta

from news_assets.records.desks import Source
from news_assets.text.zones import zone_info

SIGNAL_FLOOR_S = 600.0
SIGNAL_CEILING_S = 3600.0
WORKING_CEILING_S = (
    900.0  # on working days: half of the changes are then seen within 10 minutes
)
_SIGNAL_STEP_S = 300.0  # longer after each answer without a change
_WORKING_DAYS, _WORKING_HOURS = (
    range(5),
    range(8, 18),
)  # local, when offices of cities publish

PAST_DAYS, FUTURE_DAYS = 7, 90
SOON = timedelta(days=7)  # items of meetings so near are requested with each signal
COMPARED = timedelta(
    days=14
)  # documents of meetings so near are compared each night; few have an agenda earlier
_PASS_AT = time(1)  # local
_PASS_SPREAD_S = 3 * 3600.0

# --- signals --------------------------------------------------------------------------


def signal_interval(
    interval_s: float, timezone: str, now: datetime, *, is_changed: bool
) -> float:
    """Return the seconds until the next signal of a city: the floor after a change,
    else more than the last time.

    The ceiling is WORKING_CEILING_S in working hours of the city's zone, else
    SIGNAL_CEILING_S.
    """
    if is_changed:
        return SIGNAL_FLOOR_S
    local = now.astimezone(zone_info(timezone))
    longer_s = max(interval_s, SIGNAL_FLOOR_S) + _SIGNAL_STEP_S
    return min(longer_s, WORKING_CEILING_S if _is_working(local) else SIGNAL_CEILING_S)


def _is_working(local: datetime) -> bool:
    return local.weekday() in _WORKING_DAYS and local.hour in _WORKING_HOURS


# --- the nightly pass -----------------------------------------------------------------


def pass_days(today: date) -> tuple[date, date]:
    """Return the first and the last day of a pass."""
    return today - timedelta(days=PAST_DAYS), today + timedelta(days=FUTURE_DAYS)


def is_pass_due(source: Source, last_pass_at: datetime | None, now: datetime) -> bool:
    """Return whether a city's pass is due: it never had one, or none since its time of
    the last night.

    The passes of a vendor are spread over three hours of the city's night.
    """
    if last_pass_at is None:
        return True
    local = now.astimezone(zone_info(source.timezone))
    share = (
        int.from_bytes(hashlib.sha256(source.source_id.encode()).digest()[:4]) / 2**32
    )
    due_at = datetime.combine(local.date(), _PASS_AT, local.tzinfo) + timedelta(
        seconds=share * _PASS_SPREAD_S
    )
    if due_at > local:
        due_at -= timedelta(days=1)
    return last_pass_at < due_at
