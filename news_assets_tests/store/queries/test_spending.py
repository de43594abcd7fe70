"""Bills are computed by hand here: prices per million tokens as the providers publish
them, in decimals.
"""

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from news_assets.pipeline.enrich.model.prices import price_usd
from news_assets.records.model_calls import ModelCall, Spending, Spent, total_usd
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import (
    spending_for,
    spending_on,
    spending_since,
    spent,
)
from news_assets_tests.store.examples import full, upsert

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = date(2026, 11, 20)

# (model, in a batch): dollars per million tokens of uncached input, output and cached
# input
BILLS = {
    ("openai:gpt-5-mini", False): ("0.25", "2.00", "0.025"),
    ("openai:gpt-5-mini", True): ("0.125", "1.00", "0.0125"),
    ("anthropic:claude-haiku-4-5", False): ("1.00", "5.00", "0.10"),
    ("anthropic:claude-haiku-4-5", True): ("0.50", "2.50", "0.05"),
    ("google-gla:gemini-2.5-flash-lite", False): ("0.10", "0.40", "0.01"),
    ("google-gla:gemini-2.5-flash-lite", True): ("0.05", "0.20", "0.01"),
    ("bedrock:amazon.nova-lite-v1:0", False): ("0.06", "0.24", "0.015"),
    ("bedrock:amazon.nova-lite-v1:0", True): ("0.03", "0.12", "0.0075"),
    ("ollama:llama3.2", False): ("0", "0", "0"),
    ("openai:my-own-model", False): None,
}


def call(n: int, **given: object) -> ModelCall:
    usual = {
        "call_id": f"{n:032x}",
        "desk": "govbr",
        "agency": "mec",
        "day": DAY,
        "called_at": NOON,
        "via": "direct",
    }
    return full(
        ModelCall,
        **usual
        | {"model": "openai:gpt-5-mini", "outcome": "ok", "reserved_usd": None}
        | given,
    )


def made_call(n: int, luck: random.Random) -> tuple[ModelCall, Decimal | None]:
    """Return a call as the ledger has it, and what its bill says, computed by hand."""
    (model, is_batch), prices = luck.choice(list(BILLS.items()))
    tokens_in, tokens_out = luck.randrange(200, 9_000), luck.randrange(20, 900)
    cached = luck.choice([0, luck.randrange(0, tokens_in)])
    bill = None
    if prices is not None:
        of_input, of_output, of_cached = map(Decimal, prices)
        bill = (
            (tokens_in - cached) * of_input
            + tokens_out * of_output
            + cached * of_cached
        ) / 1_000_000
    row = call(
        n,
        model=model,
        via="batch" if is_batch else "direct",
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cached_tokens=cached,
        usd=price_usd(model, tokens_in, tokens_out, cached, NOON, is_batch=is_batch),
    )
    return row, bill


def test_the_ledger_of_a_thousand_calls_is_the_bill_to_the_last_digit(
    lake: Lake,
) -> None:
    luck = random.Random(14)
    made = [made_call(n, luck) for n in range(1_000)]
    upsert(lake, [row for row, _ in made])

    sums = spending_for(lake, "govbr", DAY, DAY)

    assert [row.usd for row, _ in made] == [
        None if bill is None else float(bill) for _, bill in made
    ]
    for one in sums:
        bills = [
            bill for row, bill in made if (row.model, row.via) == (one.model, one.via)
        ]
        known = [bill for bill in bills if bill is not None]
        assert one.usd == (float(sum(known)) if known else None)
        assert (one.calls, one.unpriced) == (len(bills), len(bills) - len(known))
    assert len(sums) == len(BILLS)
    total = sum((bill for _, bill in made if bill is not None), Decimal(0))
    assert spent(lake, NOON) == Spent(day=float(total), month=float(total))
    assert total_usd(one.usd for one in sums) == float(total)


def test_calls_are_summed_by_day_desk_model_and_way(lake: Lake) -> None:
    tokens = {"input_tokens": 100, "output_tokens": 10, "cached_tokens": 40}
    rows = [
        call(1, usd=0.1, **tokens),
        call(2, usd=0.2, **tokens | {"cached_tokens": None}, outcome="refused"),
        call(
            3,
            usd=None,
            input_tokens=None,
            output_tokens=None,
            cached_tokens=None,
            outcome="failed",
        ),
        call(4, usd=0.05, **tokens, via="batch"),
        call(5, usd=1.0, **tokens, desk="g1"),
        call(6, usd=2.0, **tokens, called_at=NOON + timedelta(days=1)),
    ]
    upsert(lake, rows)

    first = Spending(
        called_on=DAY,
        desk="govbr",
        model="openai:gpt-5-mini",
        via="direct",
        calls=3,
        answered=1,
        refused=1,
        failed=1,
        input_tokens=200,
        output_tokens=20,
        cached_tokens=40,
        usd=0.3,
        unpriced=1,
    )
    found = spending_on(lake, DAY, ["govbr", "g1"])
    assert first in found
    assert [(one.desk, one.via, one.usd) for one in found] == [
        ("g1", "direct", 1.0),
        ("govbr", "batch", 0.05),
        ("govbr", "direct", 0.3),
    ]
    assert [
        (one.called_on.day, one.usd) for one in spending_for(lake, "govbr", DAY, DAY)
    ] == [
        (20, 0.05),
        (20, 0.3),
        (21, 2.0),
    ]
    assert spending_for(lake, None, date(2026, 11, 21), None) == []


def test_the_calls_of_a_run_are_those_for_its_agency_days_since_it_began(
    lake: Lake,
) -> None:
    rows = [
        call(1, usd=1.0, called_at=NOON - timedelta(seconds=1)),
        call(2, usd=0.5),
        call(3, usd=0.25, agency="saude"),
        call(4, usd=0.125, day=DAY - timedelta(days=1)),
    ]
    upsert(lake, rows)
    keys = AgencyDays("govbr", frozenset({("mec", DAY)}))
    assert [one.usd for one in spending_since(lake, keys, NOON)] == [0.5]
    assert spending_since(lake, AgencyDays("govbr", frozenset()), NOON) == []


def test_days_and_months_of_ceilings_are_those_of_utc(lake: Lake) -> None:
    midnight = datetime(2026, 11, 1, tzinfo=UTC)
    for n, (at, usd) in enumerate(
        [
            (midnight, 0.5),
            (midnight - timedelta(microseconds=1), 8.0),
            (midnight + timedelta(days=1), 0.25),
        ]
    ):
        upsert(lake, [call(n, called_at=at, usd=usd)])
    upsert(lake, [call(9, called_at=midnight, usd=None)])
    assert spent(lake, midnight + timedelta(days=1, hours=5)) == Spent(
        day=0.25, month=0.75
    )
    assert spent(lake, midnight + timedelta(days=40)) == Spent()
