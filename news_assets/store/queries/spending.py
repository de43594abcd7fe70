"""What language models cost, summed over the ledger (`model_calls`).

Prices are summed as decimals: the sum of a thousand prices is that of the bill, not of
their binary approximations.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from news_assets.ports.services import Reader
from news_assets.records.model_calls import Kind, Spending, Spent, Tokens
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.store.tables import made_of, stated

_USD = "sum(usd::DECIMAL(28, 14))::DOUBLE"
_UTC_DAY = "(called_at AT TIME ZONE 'UTC')::DATE"

# What is reserved counts where no answer states the tokens: of calls in flight, open
# batches and killed runs too.
_SPENT = """
SELECT coalesce(sum(counted) FILTER (called_at >= $day), 0)::DOUBLE,
    coalesce(sum(counted), 0)::DOUBLE
FROM (SELECT called_at, coalesce(reserved_usd, usd)::DECIMAL(28, 14) AS counted FROM model_calls)
WHERE called_at >= $month
"""

CONDITIONS = {
    "desk": "desk = $desk",
    "first_day": "day >= $first_day",
    "last_day": "day <= $last_day",
    "start": "called_at >= $start",
    "end": "called_at < $end",
    "desks": "list_contains($desks::VARCHAR[], desk)",
    "agencies": "list_contains($agencies::VARCHAR[], agency)",
}
_SUMS = f"""
SELECT {_UTC_DAY} AS called_on, desk, model, via,
    count(*)::BIGINT AS calls,
    count_if(outcome = 'ok')::BIGINT AS answered,
    count_if(outcome IN ('refused', 'declined'))::BIGINT AS refused,
    count_if(outcome IN ('sent', 'rejected', 'failed'))::BIGINT AS failed,
    coalesce(sum(input_tokens), 0)::BIGINT AS input_tokens,
    coalesce(sum(output_tokens), 0)::BIGINT AS output_tokens,
    coalesce(sum(cached_tokens), 0)::BIGINT AS cached_tokens,
    {_USD} AS usd,
    count_if(usd IS NULL)::BIGINT AS unpriced
FROM model_calls
"""


_MIN_CALLS = 5  # from which a mean is taken

_MEANS = """
SELECT model, kind, sum(sent_chars) / sum(input_tokens), avg(output_tokens),
    sum(coalesce(cached_tokens, 0)) / sum(input_tokens)
FROM model_calls
WHERE list_contains($prompts::VARCHAR[], prompt_version) AND input_tokens > 0
    AND output_tokens IS NOT NULL
    AND sent_chars IS NOT NULL
GROUP BY model, kind HAVING count(*) >= $calls
"""


def spent(lake: Reader, now: datetime) -> Spent:
    """Return what was spent on the present day and in the present month (UTC), by all
    runs over all desks.

    Calls without an answer count by the most that they can cost.
    """
    day = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    of_day, of_month = lake.query(
        _SPENT, {"day": day, "month": day.replace(day=1)}
    ).row(0)
    return Spent(day=of_day, month=of_month)


def spending_on(lake: Lake, day: date, desks: Iterable[str]) -> list[Spending]:
    """Return the calls that were made on a UTC day for articles of these desks."""
    start = datetime.combine(day, time(), UTC)
    params = {"desks": list(desks), "start": start, "end": start + timedelta(days=1)}
    return _spending(lake, params)


def spending_for(
    lake: Lake, desk: str | None, first_day: date | None, last_day: date | None
) -> list[Spending]:
    """Return the calls that were made, whenever, for articles of these partition days."""
    values = {"desk": desk, "first_day": first_day, "last_day": last_day}
    params = stated(values)
    return _spending(lake, params)


def spending_since(lake: Lake, keys: AgencyDays, start: datetime) -> list[Spending]:
    """Return the calls that were made since `start` for articles of these agency-days."""
    if not keys.pairs:
        return []
    days = [day for _, day in keys.pairs]
    params = {
        "desk": keys.desk,
        "start": start,
        "first_day": min(days),
        "last_day": max(days),
        "agencies": sorted({agency for agency, _ in keys.pairs}),
    }
    return _spending(lake, params)


def mean_tokens(
    lake: Lake, prompt_versions: Iterable[str]
) -> dict[tuple[str, Kind], Tokens]:
    """Return what the answered calls with these prompts took, by model and kind;
    nothing of a few calls.
    """
    found = lake.query(_MEANS, {"prompts": list(prompt_versions), "calls": _MIN_CALLS})
    return {
        (model, kind): Tokens(*tokens) for model, kind, *tokens in found.iter_rows()
    }


def spending_sql(conditions: Iterable[str]) -> str:
    """Return the query for the calls that pass these conditions, by day, desk, model
    and way.
    """
    where = " AND ".join(CONDITIONS[name] for name in conditions) or "true"
    return f"{_SUMS} WHERE {where} GROUP BY ALL ORDER BY ALL"


def _spending(lake: Lake, params: dict[str, Any]) -> list[Spending]:
    found = lake.query(spending_sql(params), params)
    return made_of(Spending, found)
