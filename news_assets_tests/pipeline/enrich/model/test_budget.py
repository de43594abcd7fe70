import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from uuid import uuid4

import pytest

from news_assets.errors import EnrichError, SpendingError
from news_assets.pipeline.enrich.model.budget import Budget, BudgetedModel, reserved_usd
from news_assets.ports.enrichment import Answered, ModelAnswer, ModelRequest
from news_assets.records.model_calls import Ceilings, Spent

MODEL = "openai:gpt-5-mini"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def budget(ceilings: Ceilings, *ledger: Spent, is_backfill: bool = False) -> Budget:
    """Return a budget that reads these sums from the ledger, one after the other and then the last one."""
    sums = list(ledger) or [Spent()]
    made = Budget(ceilings, lambda now: sums.pop(0) if len(sums) > 1 else sums[0], is_backfill=is_backfill)
    made.affordable(MODEL, [], lambda: NOW)
    return made


def admitted(budget: Budget, usd: float, most: int = 1_000) -> int:
    """Return how many calls of this price are admitted before the budget refuses one; they stay in flight."""
    for count in range(most):
        try:
            budget.admit(uuid4().hex, MODEL, usd)
        except SpendingError:
            return count
    return most


def request(key: str = "k", text: str = "") -> ModelRequest:
    return ModelRequest(
        input_hash=key,
        article_id="a",
        desk="d",
        agency="a",
        day=date(2026, 11, 20),
        kind="enrich",
        instructions="",
        text=text,
        schema={},
        max_sentences=2,
    )


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
    assert admitted(budget(ceilings, spent), 0.25) == calls


def test_a_backfill_leaves_a_fifth_of_the_day_to_live_news() -> None:
    assert admitted(budget(Ceilings(day=10.0), is_backfill=True), 0.5) == 16
    assert admitted(budget(Ceilings(day=10.0), is_backfill=False), 0.5) == 20
    assert admitted(budget(Ceilings(month=10.0), is_backfill=True), 0.5) == 20


def test_a_settled_call_frees_what_it_did_not_cost() -> None:
    made = budget(Ceilings(run=1.0))
    for key in ("a", "b"):
        made.admit(key, MODEL, 0.5)
    made.settle({"a": 0.125, "b": 0.0}, NOW)
    assert admitted(made, 0.125) == 7


def test_a_call_without_a_price_counts_as_reserved() -> None:
    made = budget(Ceilings(run=1.0))
    made.admit("a", MODEL, 0.5)
    made.settle({"a": None}, NOW)
    assert admitted(made, 0.25) == 2


def test_what_the_ledger_has_is_not_counted_twice() -> None:
    made = budget(Ceilings(day=1.0), Spent(day=0.25), Spent(day=0.5))
    made.admit("a", MODEL, 0.25)
    made.settle({"a": 0.25}, NOW)
    assert made.affordable(MODEL, [], lambda: NOW).refusal == ""
    assert admitted(made, 0.25) == 2


def test_the_ledger_is_read_again_while_calls_are_made() -> None:
    made = budget(Ceilings(day=1.0), Spent(), Spent(day=0.75))  # another run spends meanwhile
    for n in range(19):
        made.settle({f"{n}": 0.0}, NOW)
    made.admit("last", MODEL, 1.0)
    made.settle({"last": 0.0}, NOW)
    assert admitted(made, 0.25) == 1


def test_a_new_day_begins_at_its_own_sum() -> None:
    made = budget(Ceilings(day=1.0), Spent(day=1.0), Spent(day=0.0))
    assert admitted(made, 0.25) == 0
    made.affordable(MODEL, [], lambda: NOW)
    assert admitted(made, 0.25) == 4


def test_a_reached_ceiling_is_one_line_with_its_setting() -> None:
    made = budget(Ceilings(day=10.0), Spent(day=7.5), is_backfill=True)
    made.admit("a", MODEL, 0.25)
    with pytest.raises(SpendingError) as caught:
        made.admit("b", MODEL, 0.5)
    assert str(caught.value) == (
        "NEWS_MAX_USD_PER_DAY is reached: 7.5000 USD spent and 0.2500 reserved for calls in flight, "
        "and the ceiling is 10 USD, of which a backfill may spend 80%"
    )


@pytest.mark.parametrize("ceilings", [Ceilings(run=1.0), Ceilings(day=1.0), Ceilings(month=1.0)])
def test_an_unknown_price_is_refused_under_a_ceiling_only(ceilings: Ceilings) -> None:
    requests = budget(ceilings).affordable("openai:mine", [request()], lambda: NOW)
    assert list(requests) == []
    assert requests.refusal.startswith("the price of openai:mine is not known, so no ceiling can be kept: set NEWS_MAX")
    assert len(requests.refusal.splitlines()) == 1
    assert list(Budget().affordable("openai:mine", [request()], lambda: NOW)) == [request()]


def test_no_more_requests_are_taken_than_are_sent() -> None:
    price = reserved_usd(MODEL, request(), NOW)
    assert price is not None
    taken = []

    def requests() -> Iterator[ModelRequest]:
        for n in range(9):
            taken.append(n)
            yield request(str(n))

    found = budget(Ceilings(run=2.5 * price)).affordable(MODEL, requests(), lambda: NOW)
    assert [one.input_hash for one in found] == ["0", "1"]
    assert taken == [0, 1, 2]
    assert found.refusal.startswith("NEWS_MAX_USD_PER_RUN is reached: 0.0000 USD spent and ")


def test_what_is_reserved_covers_a_long_article_with_a_long_answer() -> None:
    text = "Ministério da Educação anuncia R$ 1,2 bilhão para creches. " * 100
    at_most = reserved_usd(MODEL, request(text=text), NOW)
    assert at_most is not None
    assert at_most > (len(text) / 3.2 * 0.25 + 1_400 * 2) / 1e6


class PaidModel:
    """A model that answers two requests at a time, each with the same number of tokens, until it fails."""

    name = MODEL

    def __init__(self, output_tokens: int | None, fails_after: int = 99) -> None:
        self.sent: list[str] = []
        self._output_tokens, self._fails_after = output_tokens, fails_after

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        left = iter(requests)
        while group := [request for _, request in zip(range(2), left, strict=False)]:
            self.sent += [request.input_hash for request in group]
            if len(self.sent) > self._fails_after:
                raise EnrichError("it is down")
            answer = ModelAnswer(
                raw="{}", input_tokens=0, output_tokens=self._output_tokens, cached_tokens=0, elapsed_ms=1
            )
            yield [(request, answer) for request in group]


def sent_within(budget: Budget, model: PaidModel, count: int = 20) -> tuple[int, str]:
    """Return how many requests were answered, and why no more."""
    answered = 0
    try:
        for group in BudgetedModel(model, budget, lambda: NOW).answer_all(request(str(n)) for n in range(count)):
            answered += len(group)
    except EnrichError as error:
        return answered, str(error)
    return answered, ""


def test_a_model_is_asked_until_its_answers_have_cost_the_ceiling() -> None:
    model, made = PaidModel(output_tokens=1_000), budget(Ceilings(run=0.02))  # 0.002 each, and 0.003 are reserved
    answered, reason = sent_within(made, model)
    assert answered == len(model.sent) == 9  # then 0.018 are spent
    assert reason.startswith("NEWS_MAX_USD_PER_RUN is reached: 0.01")
    assert sent_within(made, model, 1)[0] == 0
    assert sent_within(Budget(), PaidModel(output_tokens=1_000)) == (20, "")


def test_answers_of_unknown_tokens_count_as_reserved() -> None:
    answered, _ = sent_within(budget(Ceilings(run=0.0121)), PaidModel(output_tokens=None))
    assert answered == 4


def test_what_a_failed_model_did_not_answer_is_free_again() -> None:
    made = budget(Ceilings(run=0.0121))
    assert sent_within(made, PaidModel(output_tokens=0, fails_after=2)) == (2, "it is down")
    assert sent_within(made, PaidModel(output_tokens=None))[0] == 4


def test_threads_together_do_not_exceed_the_ceiling() -> None:
    made = budget(Ceilings(run=1.0))
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(admitted(made, 1 / 256))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 256
