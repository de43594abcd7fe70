"""What may still be spent on language models: ceilings by run, day and month, checked before each call is sent."""

import threading
from collections.abc import Iterator

from news_assets.errors import SpendingError
from news_assets.model_calls import Ceilings, Spent

BACKFILL_SHARE = 0.8  # of the day's ceiling; the rest is left to live news


class Budget:
    """What one run may still spend. Safe to use from several threads.

    A call is admitted with its estimated price, which is reserved until the call is settled with its real price. Other
    runs spend too: `update` takes over what the ledger says meanwhile.
    """

    def __init__(self, ceilings: Ceilings, spent: Spent, *, is_backfill: bool = False) -> None:
        self._ceilings = ceilings
        self._spent = spent
        self._is_backfill = is_backfill
        self._settled_usd = 0.0  # of this run
        self._in_ledger_usd = 0.0  # the part of it that `spent` contains
        self._reserved_usd = 0.0
        self._lock = threading.Lock()

    def admit(self, model: str, estimated_usd: float | None) -> None:
        """Reserve the price of a call that is about to be sent.

        Raises:
            SpendingError: The call could exceed a ceiling; or there is one, and the model's price is not known.
        """
        if not self._ceilings:
            return
        if estimated_usd is None:
            raise unknown_price(model)
        with self._lock:
            for setting, ceiling, spent in self._limits():
                if spent + self._reserved_usd + estimated_usd > ceiling:
                    raise SpendingError(self._reason(setting, ceiling, spent))
            self._reserved_usd += estimated_usd

    def settle(self, estimated_usd: float | None, usd: float | None) -> None:
        """Replace what was reserved for a call by its real price; an unknown one is taken to be the estimate.

        A call that the provider did not bill is settled with 0.
        """
        with self._lock:
            if self._ceilings and estimated_usd is not None:
                self._reserved_usd = max(0.0, self._reserved_usd - estimated_usd)
            self._settled_usd += (usd if usd is not None else estimated_usd) or 0.0

    def update(self, spent: Spent) -> None:
        """Take over the ledger's sums, read after every call that was settled so far had been stored."""
        with self._lock:
            self._spent, self._in_ledger_usd = spent, self._settled_usd

    def _limits(self) -> Iterator[tuple[str, float, float]]:
        """Yield the setting, its ceiling for this run, and what was spent of it."""
        not_in_ledger = self._settled_usd - self._in_ledger_usd
        share = BACKFILL_SHARE if self._is_backfill else 1.0
        if self._ceilings.run:
            yield "NEWS_MAX_USD_PER_RUN", self._ceilings.run, self._settled_usd
        if self._ceilings.day:
            yield "NEWS_MAX_USD_PER_DAY", self._ceilings.day * share, self._spent.day + not_in_ledger
        if self._ceilings.month:
            yield "NEWS_MAX_USD_PER_MONTH", self._ceilings.month, self._spent.month + not_in_ledger

    def _reason(self, setting: str, ceiling: float, spent: float) -> str:
        of_day = self._is_backfill and setting == "NEWS_MAX_USD_PER_DAY"
        share = f", of which a backfill may spend {BACKFILL_SHARE:.0%}" if of_day else ""
        whole = ceiling / BACKFILL_SHARE if of_day else ceiling
        in_flight = f" and {self._reserved_usd:.4f} reserved for calls in flight" if self._reserved_usd else ""
        return f"{setting} is reached: {spent:.4f} USD spent{in_flight}, and the ceiling is {whole:g} USD{share}"


def unknown_price(model: str) -> SpendingError:
    """Return the error of a model without a known price under a ceiling; nothing has been sent."""
    return SpendingError(
        f"the price of {model} is not known, so no ceiling can be kept: "
        "set NEWS_MAX_USD_PER_RUN, _DAY and _MONTH to 0, or choose a model that genai-prices knows"
    )
