"""What may still be spent on language models: ceilings by run, day and month, checked before each call is sent."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Self

from news_assets.errors import EnrichError, SpendingError
from news_assets.pipeline.enrich.model.prices import answer_usd, price_usd
from news_assets.ports.enrichment import Answered, LanguageModel, ModelAnswer, ModelRequest
from news_assets.records.model_calls import Ceilings, Spent

BACKFILL_SHARE = 0.8  # of the day's ceiling; the rest is left to live news

# What is reserved for a call before its tokens are known: more than nearly every call takes. News in Portuguese has 3.5
# to 4.5 characters a token, and answers have some 400 tokens, reasoning ones more.
_RESERVED_CHARS_PER_TOKEN = 3.0
_RESERVED_OUTPUT_TOKENS = 1_500

_UPDATE_CALLS = 20  # after so many calls the ledger is read again, for the calls of other runs

Clock = Callable[[], datetime]


class Budget:
    """What one run may still spend. Safe to use from several threads.

    The price of a call is estimated and reserved before it is sent, until its row is stored. Other runs spend too: the
    ledger is read before the first call and again after some.
    """

    def __init__(
        self,
        ceilings: Ceilings | None = None,
        read_spent: Callable[[datetime], Spent] | None = None,
        *,
        is_backfill: bool = False,
    ) -> None:
        self._ceilings = ceilings or Ceilings()
        self._read_spent = read_spent
        self.is_backfill = is_backfill
        self._spent = Spent()
        self._settled_usd = 0.0  # of this run
        self._in_ledger_usd = 0.0  # the part of it that `_spent` contains
        self._reserved: dict[str, float] = {}  # by input hash
        self._settled_calls = 0
        self._lock = threading.Lock()

    @property
    def has_ceilings(self) -> bool:
        """Whether anything limits what may be spent."""
        return bool(self._ceilings)

    def of_backfill(self) -> Self:
        """Return this budget, which from now on is that of a backfill."""
        self.is_backfill = True
        return self

    def affordable(
        self, model: str, requests: Iterable[ModelRequest], clock: Clock, *, is_batch: bool = False
    ) -> "Affordable":
        """Return the requests to send, up to the first whose estimated price could exceed a ceiling."""
        if self._ceilings:
            self._update(clock())
        return Affordable(self, model, requests, clock, is_batch=is_batch)

    def admit(self, key: str, model: str, estimated_usd: float | None) -> None:
        """Reserve the price of a call that is about to be sent; `key` is its input hash.

        Raises:
            SpendingError: The call could exceed a ceiling; or there is one, and the model's price is not known.
        """
        if not self._ceilings:
            return
        if estimated_usd is None:
            raise unknown_price(model)
        with self._lock:
            reserved = sum(self._reserved.values())
            for setting, ceiling, spent in self._limits():
                if spent + reserved + estimated_usd > ceiling:
                    raise SpendingError(self._reason(setting, ceiling, spent, reserved))
            self._reserved[key] = estimated_usd

    def settle(self, prices: Mapping[str, float | None], now: datetime) -> None:
        """Replace what was reserved for these calls, by input hash, by their prices; their rows are stored.

        Of a call without a price what was reserved for it counts: it may have been billed.
        """
        if not self._ceilings:
            return
        with self._lock:
            for key, usd in prices.items():
                reserved = self._reserved.pop(key, 0.0)
                self._settled_usd += reserved if usd is None else usd
            self._settled_calls += len(prices)
            is_due = self._settled_calls >= _UPDATE_CALLS
        if is_due:
            self._update(now)

    def release(self, keys: Iterable[str]) -> None:
        """Forget what is still reserved for these calls: they were not made, or given up."""
        with self._lock:
            for key in keys:
                self._reserved.pop(key, None)

    def _update(self, now: datetime) -> None:
        """Take over the ledger's sums; every call that was settled is in it."""
        if self._read_spent is None:
            return
        spent = self._read_spent(now)
        with self._lock:
            self._spent, self._in_ledger_usd, self._settled_calls = spent, self._settled_usd, 0

    def _limits(self) -> Iterator[tuple[str, float, float]]:
        """Yield the setting, its ceiling for this run, and what was spent of it."""
        not_in_ledger = self._settled_usd - self._in_ledger_usd
        share = BACKFILL_SHARE if self.is_backfill else 1.0
        if self._ceilings.run:
            yield "NEWS_MAX_USD_PER_RUN", self._ceilings.run, self._settled_usd
        if self._ceilings.day:
            yield "NEWS_MAX_USD_PER_DAY", self._ceilings.day * share, self._spent.day + not_in_ledger
        if self._ceilings.month:
            yield "NEWS_MAX_USD_PER_MONTH", self._ceilings.month, self._spent.month + not_in_ledger

    def _reason(self, setting: str, ceiling: float, spent: float, reserved: float) -> str:
        of_day = self.is_backfill and setting == "NEWS_MAX_USD_PER_DAY"
        share = f", of which a backfill may spend {BACKFILL_SHARE:.0%}" if of_day else ""
        whole = ceiling / BACKFILL_SHARE if of_day else ceiling
        in_flight = f" and {reserved:.4f} reserved for calls in flight" if reserved else ""
        return f"{setting} is reached: {spent:.4f} USD spent{in_flight}, and the ceiling is {whole:g} USD{share}"


class Affordable:
    """The requests that may be sent, reserved one after the other as they are taken.

    It ends at the first that may not, instead of raising: the calls in flight are answered and stored. `refusal` says
    why; `taken` are the input hashes of the others.
    """

    def __init__(
        self, budget: Budget, model: str, requests: Iterable[ModelRequest], clock: Clock, *, is_batch: bool
    ) -> None:
        self.refusal = ""
        self.taken: list[str] = []
        self._is_batch = is_batch
        self._budget, self._model, self._requests, self._clock = budget, model, requests, clock

    def __iter__(self) -> Iterator[ModelRequest]:
        for request in self._requests:
            try:
                if self._budget.has_ceilings:
                    usd = reserved_usd(self._model, request, self._clock(), is_batch=self._is_batch)
                    self._budget.admit(request.input_hash, self._model, usd)
            except SpendingError as error:
                self.refusal = str(error)
                return
            self.taken.append(request.input_hash)
            yield request


class BudgetedModel:
    """A language model that is asked as long as the budget lasts; implements `ports.LanguageModel`."""

    def __init__(self, model: LanguageModel, budget: Budget, clock: Clock) -> None:
        self.name = model.name
        self._model, self._budget, self._clock = model, budget, clock

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        """Yield the requests with their answers or errors; see `ports.LanguageModel`.

        Raises:
            SpendingError: A ceiling is reached; what was not yielded was not sent.
        """
        affordable = self._budget.affordable(self.name, requests, self._clock)
        try:
            for group in self._model.answer_all(affordable):
                yield group
                now = self._clock()
                prices = {request.input_hash: self._price(answer, now) for request, answer in group}
                self._budget.settle(prices, now)
        finally:
            self._budget.release(affordable.taken)
        if affordable.refusal:
            raise SpendingError(affordable.refusal)

    def _price(self, answer: ModelAnswer | EnrichError, now: datetime) -> float | None:
        return answer_usd(self.name, answer, now) if isinstance(answer, ModelAnswer) else None


def reserved_usd(model: str, request: ModelRequest, at: datetime, *, is_batch: bool = False) -> float | None:
    """Return a price that a call will hardly exceed; None if the model's price is not known."""
    tokens = round(sent_chars(request) / _RESERVED_CHARS_PER_TOKEN)
    return price_usd(model, tokens, _RESERVED_OUTPUT_TOKENS, 0, at, is_batch=is_batch)


def sent_chars(request: ModelRequest) -> int:
    """Return how many characters are sent for a request: instructions, article and schema."""
    return len(request.instructions) + len(request.text) + len(json.dumps(request.schema))


def unknown_price(model: str) -> SpendingError:
    """Return the error of a model without a known price under a ceiling; nothing has been sent."""
    return SpendingError(
        f"the price of {model} is not known, so no ceiling can be kept: "
        "set NEWS_MAX_USD_PER_RUN, _DAY and _MONTH to 0, or choose a model that genai-prices knows"
    )
