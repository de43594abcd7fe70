import threading

import pytest

from news_assets.errors import SpendingError
from news_assets.model_calls import Ceilings, Spent
from news_assets.pipeline.enrich.model.budget import Budget

MODEL = "openai:gpt-5-mini"


def admitted(budget: Budget, usd: float, most: int = 1_000) -> int:
    """Return how many calls of this price are admitted before the budget refuses one; they stay in flight."""
    for count in range(most):
        try:
            budget.admit(MODEL, usd)
        except SpendingError:
            return count
    return most


@pytest.mark.parametrize(
    ("ceilings", "spent", "calls"),
    [
        (Ceilings(run=1.0), Spent(), 4),
        (Ceilings(run=1.0), Spent(day=50.0, month=50.0), 4),  # the run's own ceiling does not count other runs
        (Ceilings(day=1.0), Spent(day=0.5), 2),
        (Ceilings(month=1.0), Spent(day=0.0, month=0.75), 1),
        (Ceilings(run=1.0, day=2.0, month=0.5), Spent(), 2),
        (Ceilings(day=1.0), Spent(day=1.0), 0),
        (Ceilings(), Spent(day=1e9), 1_000),
    ],
)
def test_calls_are_sent_up_to_the_ceiling_with_those_in_flight(ceilings: Ceilings, spent: Spent, calls: int) -> None:
    assert admitted(Budget(ceilings, spent), 0.25) == calls


def test_a_backfill_leaves_a_fifth_of_the_day_to_live_news() -> None:
    assert admitted(Budget(Ceilings(day=10.0), Spent(), is_backfill=True), 0.5) == 16
    assert admitted(Budget(Ceilings(day=10.0), Spent(), is_backfill=False), 0.5) == 20
    assert admitted(Budget(Ceilings(month=10.0), Spent(), is_backfill=True), 0.5) == 20


def test_a_settled_call_frees_what_it_did_not_cost() -> None:
    budget = Budget(Ceilings(run=1.0), Spent())
    assert admitted(budget, 0.5) == 2
    budget.settle(0.5, 0.125)
    budget.settle(0.5, 0.0)  # not billed
    assert admitted(budget, 0.125) == 7


def test_a_call_of_unknown_cost_counts_as_estimated() -> None:
    budget = Budget(Ceilings(run=1.0), Spent())
    budget.admit(MODEL, 0.5)
    budget.settle(0.5, None)
    assert admitted(budget, 0.25) == 2


def test_what_the_ledger_has_is_not_counted_twice() -> None:
    budget = Budget(Ceilings(day=1.0), Spent(day=0.25))
    budget.admit(MODEL, 0.25)
    budget.settle(0.25, 0.25)
    budget.update(Spent(day=0.5))
    assert admitted(budget, 0.25) == 2


def test_another_run_s_calls_count_once_the_ledger_is_read_again() -> None:
    budget = Budget(Ceilings(day=1.0), Spent())
    budget.update(Spent(day=0.75))
    assert admitted(budget, 0.25) == 1


def test_a_new_day_begins_at_its_own_sum() -> None:
    budget = Budget(Ceilings(day=1.0), Spent(day=1.0))
    assert admitted(budget, 0.25) == 0
    budget.update(Spent(day=0.0))
    assert admitted(budget, 0.25) == 4


def test_a_reached_ceiling_is_one_line_with_its_setting() -> None:
    budget = Budget(Ceilings(day=10.0), Spent(day=7.5), is_backfill=True)
    budget.admit(MODEL, 0.25)
    with pytest.raises(SpendingError) as caught:
        budget.admit(MODEL, 0.5)
    assert str(caught.value) == (
        "NEWS_MAX_USD_PER_DAY is reached: 7.5000 USD spent and 0.2500 reserved for calls in flight, "
        "and the ceiling is 10 USD, of which a backfill may spend 80%"
    )


@pytest.mark.parametrize("ceilings", [Ceilings(run=1.0), Ceilings(day=1.0), Ceilings(month=1.0)])
def test_an_unknown_price_is_refused_under_a_ceiling_only(ceilings: Ceilings) -> None:
    with pytest.raises(SpendingError, match=r"^the price of openai:gpt-5-mini is not known, .*$"):
        Budget(ceilings, Spent()).admit(MODEL, None)
    Budget(Ceilings(), Spent()).admit(MODEL, None)


def test_threads_together_do_not_exceed_the_ceiling() -> None:
    budget = Budget(Ceilings(run=1.0), Spent())
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(admitted(budget, 1 / 1024))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 1024
