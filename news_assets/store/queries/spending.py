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

_SPENDING = f"""
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
FROM model_calls WHERE {{where}} GROUP BY ALL ORDER BY ALL
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
    return _spending(
        lake,
        "list_contains($desks::VARCHAR[], desk) AND called_at >= $start AND called_at < $end",
        params,
    )


def spending_for(
    lake: Lake, desk: str | None, first_day: date | None, last_day: date | None
) -> list[Spending]:
    """Return the calls that were made, whenever, for articles of these partition days."""
    conditions = {
        "desk = $desk": desk,
        "day >= $first_day": first_day,
        "day <= $last_day": last_day,
    }
    given = {
        condition: value for condition, value in conditions.items() if value is not None
    }
    params = {condition.rpartition("$")[2]: value for condition, value in given.items()}
    return _spending(lake, " AND ".join(given) or "true", params)


def spending_since(lake: Lake, keys: AgencyDays, start: datetime) -> list[Spending]:
    """Return the calls that were made since `start` for articles of these agency-days."""
    if not keys.pairs:
        return []
    agencies, days = (sorted({pair[n] for pair in keys.pairs}) for n in (0, 1))
    where = (
        "desk = $desk AND called_at >= $start AND day BETWEEN $first_day AND $last_day "
        "AND list_contains($agencies::VARCHAR[], agency)"
    )
    params = {
        "desk": keys.desk,
        "start": start,
        "first_day": days[0],
        "last_day": days[-1],
        "agencies": agencies,
    }
    return _spending(lake, where, params)


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


def _spending(lake: Lake, where: str, params: dict[str, Any]) -> list[Spending]:
    found = lake.query(_SPENDING.format(where=where), params)
    return [Spending(**row) for row in found.iter_rows(named=True)]
