"""What may still be spent on language models: ceilings by run, day and month."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from news_assets.ports.services import Reader
from news_assets.records.model_calls import Ceilings, Spent

_BACKFILL_SHARE = 0.8  # of the day's ceiling; the rest is left to live news


class Budget:
    """The ceilings of one run, and what its own calls cost.

    What all runs spent is read from the ledger, in the transaction that reserves the
    next calls: reservations are rows of the ledger too, so all processes together keep
    the ceilings.
    """

    def __init__(
        self,
        ceilings: Ceilings | None = None,
        read_spent: Callable[[Reader, datetime], Spent] | None = None,
        *,
        is_backfill: bool = False,
    ) -> None:
        self._ceilings = ceilings or Ceilings()
        self._read_spent = read_spent
        self.is_backfill = is_backfill
        # by call id: what was reserved, then the price
        self._of_run: dict[str, float] = {}

    def spent(self, reader: Reader, now: datetime) -> Spent:
        """Return what all runs spent, reservations included; nothing where no ceiling
        needs it.
        """
        has_shared = self._ceilings.day or self._ceilings.month
        return (
            self._read_spent(reader, now)
            if has_shared and self._read_spent
            else Spent()
        )

    def refusal(
        self, model: str, most_usd: float | None, reserved_usd: float, spent: Spent
    ) -> str:
        """Return why a call that can cost `most_usd` may not be sent; empty if it may.

        `reserved_usd` was reserved since `spent` was read.
        """
        if not self._ceilings:
            return ""
        if most_usd is None:
            return (
                f"the price of {model} is not known, so no ceiling can be kept: "
                "set NEWS_MAX_USD_PER_RUN, _DAY and _MONTH to 0, "
                "or choose a model whose price is known"
            )
        for setting, ceiling, used in self._limits(spent):
            if used + reserved_usd + most_usd > ceiling:
                return self._reason(setting, ceiling, used + reserved_usd)
        return ""

    def record(self, prices: Mapping[str, float | None]) -> None:
        """Take over what calls of this run cost, or what was reserved for them, by call
        id.
        """
        self._of_run |= {call_id: usd or 0.0 for call_id, usd in prices.items()}

    def _limits(self, spent: Spent) -> Iterator[tuple[str, float, float]]:
        """Yield the setting, its ceiling for this run, and what was spent of it."""
        share = _BACKFILL_SHARE if self.is_backfill else 1.0
        if self._ceilings.run:
            yield "NEWS_MAX_USD_PER_RUN", self._ceilings.run, sum(self._of_run.values())
        if self._ceilings.day:
            yield "NEWS_MAX_USD_PER_DAY", self._ceilings.day * share, spent.day
        if self._ceilings.month:
            yield "NEWS_MAX_USD_PER_MONTH", self._ceilings.month, spent.month

    def _reason(self, setting: str, ceiling: float, used: float) -> str:
        of_day = self.is_backfill and setting == "NEWS_MAX_USD_PER_DAY"
        share = (
            f", of which a backfill may spend {_BACKFILL_SHARE:.0%}" if of_day else ""
        )
        whole = ceiling / _BACKFILL_SHARE if of_day else ceiling
        return (
            f"{setting} is reached: {used:.4f} USD are spent or reserved, "
            f"and the ceiling is {whole:g} USD{share}"
        )
