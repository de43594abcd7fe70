"""The contents of the daily report, from the counts of one UTC day.

Entries and articles count on the day on which they were first seen, in their present
state: a report made again later covers the same entries, of which more have passed the
later stages.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from news_assets.pipeline import stages
from news_assets.pipeline.enrich.model.prices import price_text
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.desks import Desk
from news_assets.records.model_calls import Spending, total_usd

HISTORY_DAYS = 14
# of articles, best first
_OUTCOMES = (
    "ok",
    "skipped",
    "withdrawn",
    "gone",
    "blocked",
    "failed",
)
_SHOWN_FINDINGS = 10
_SHOWN_THEMES = 15
_NO_THEME = "no theme"
_OTHER_THEMES = "other themes"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskCounts:
    """Entries and articles of a desk that were first seen on the day.

    `articles` have the outcome ok; `derived` counts their rows in each later stage, by
    `Stage.done`; `waiting` are entries that are not fetched yet.
    """

    desk: str
    agencies: int = 0
    entries: int = 0
    waiting: int = 0
    articles: int = 0
    copies: int = 0
    derived: Mapping[str, int] = field(default_factory=dict)

    @property
    def stages(self) -> tuple[int, ...]:
        """The counts of `_stage_columns`."""
        counts = [self.entries, self.articles]
        for stage in stages.derived_stages():
            counts.append(self.derived.get(stage.done, 0))
        return tuple(counts)


def _stage_columns() -> tuple[str, ...]:
    """Return what is counted along the stages: entries, articles, and one column for
    each derived stage.
    """
    derived = [stage.done for stage in stages.derived_stages()]
    return ("entries", "articles", *derived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One of the newest articles."""

    desk: str
    agency: str
    first_seen_at: datetime
    title: str
    url: str
    theme: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCounts:
    """The counts of one day.

    `hours`: entries by desk and hour; `outcomes`: articles by desk and outcome;
    `reasons`: articles by outcome and reason, most first; `themes`: articles by label
    of level 1, most first, None for articles without a theme; `polls`: desk, outcome,
    polls, new and changed entries; `poll_reasons`: source, outcome, reason and polls,
    most first; `history`: articles by day and outcome; `spending`: the calls of
    language models that were made on the day.
    """

    day: date
    desks: tuple[DeskCounts, ...] = ()
    hours: tuple[tuple[str, int, int], ...] = ()
    outcomes: tuple[tuple[str, str, int], ...] = ()
    reasons: tuple[tuple[str, str, int], ...] = ()
    themes: tuple[tuple[str | None, int], ...] = ()
    polls: tuple[tuple[str, str, int, int, int], ...] = ()
    poll_reasons: tuple[tuple[str, str, str, int], ...] = ()
    history: tuple[tuple[date, str, int], ...] = ()
    newest: tuple[Headline, ...] = ()
    spending: tuple[Spending, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table with its heading; `note` states what is counted or left out."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The contents of the page: figures at the top, series for the plots, tables, and
    the present findings.
    """

    day: date
    made_at: datetime
    is_over: bool
    figures: tuple[tuple[str, int, str], ...]
    stages: Mapping[str, tuple[int, ...]]
    hours: Mapping[str, tuple[int, ...]]
    history: Mapping[str, tuple[int, ...]]
    themes: tuple[tuple[str, int], ...]
    tables: tuple[Section, ...]
    newest: tuple[Headline, ...]
    gaps: tuple[Section, ...]
    in_order: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the day has no entries."""
        return not any(counts[0] for counts in self.stages.values())

    @property
    def history_days(self) -> tuple[date, ...]:
        """The days of `history`, oldest first; the last is the day of the report."""
        first = self.day - timedelta(days=HISTORY_DAYS - 1)
        return tuple(first + timedelta(days=n) for n in range(HISTORY_DAYS))


def build_report(
    counts: DayCounts,
    desks: Sequence[Desk],
    gaps: Mapping[str, Mapping[str, Findings]],
    now: datetime,
) -> Report:
    """Return the report; `gaps` are findings by desk and title, as of `now`."""
    by_desk = {desk.key: DeskCounts(desk=desk.key) for desk in desks}
    by_desk |= {row.desk: row for row in counts.desks}
    found, in_order = _checked(gaps)
    ends_at = datetime.combine(counts.day, time(), UTC) + timedelta(days=1)
    return Report(
        day=counts.day,
        made_at=now,
        is_over=now >= ends_at,
        figures=_figures(counts, _active_agencies(desks)),
        stages={key: row.stages for key, row in by_desk.items()},
        hours={key: _by_hour(counts, key) for key in by_desk},
        history=_history(counts),
        themes=shown_themes(counts.themes),
        tables=_tables(counts, by_desk),
        newest=counts.newest,
        gaps=tuple(found),
        in_order=tuple(in_order),
    )


def _checked(
    gaps: Mapping[str, Mapping[str, Findings]],
) -> tuple[list[Section], list[str]]:
    """Return the findings with wrong rows, and the names of those without."""
    found: list[Section] = []
    in_order: list[str] = []
    for desk, named in gaps.items():
        for title, findings in named.items():
            name = f"{desk}: {title}"
            if findings.rows:
                found.append(_gap(name, findings))
            else:
                checked = findings.unknown or f"{findings.checked:,} checked"
                in_order.append(f"{name} ({checked})")
    return found, in_order


def _active_agencies(desks: Iterable[Desk]) -> int:
    count = 0
    for desk in desks:
        count += sum(agency.is_active for agency in desk.agencies)
    return count


def _figures(counts: DayCounts, agencies: int) -> tuple[tuple[str, int, str], ...]:
    sums = _sums(counts)
    publishing = f"from {sums['publishing']:,} of {agencies:,} agencies"
    unindexed = sums["articles"] - sums["indexed"]
    waiting = f"failed or blocked; {sums['waiting']:,} more are waiting"
    return (
        ("entries", sums["entries"], publishing),
        ("articles", sums["articles"], f"{sums['copies']:,} of them copies"),
        ("in the index", sums["indexed"], f"{unindexed:,} articles are not"),
        ("not fetched", sums["failed"], waiting),
        ("polls", sums["polls"], f"{sums['bad polls']:,} failed"),
        *_model_figures(counts.spending),
    )


def _sums(counts: DayCounts) -> Counter[str]:
    """Return the figures of all desks together, by name."""
    last = stages.STAGES[-1].done
    sums = Counter[str]()
    for row in counts.desks:
        sums["entries"] += row.entries
        sums["articles"] += row.articles
        sums["copies"] += row.copies
        sums["publishing"] += row.agencies
        sums["waiting"] += row.waiting
        sums["indexed"] += row.derived.get(last, 0)
    for _, outcome, count in counts.outcomes:
        if outcome in ("failed", "blocked"):
            sums["failed"] += count
    for _, outcome, count, _, _ in counts.polls:
        sums["polls"] += count
        if outcome not in ("ok", "unchanged"):
            sums["bad polls"] += count
    return sums


def _model_figures(spending: Sequence[Spending]) -> tuple[tuple[str, int, str], ...]:
    if not spending:
        return ()
    calls = sum(one.calls for one in spending)
    unpriced = sum(one.unpriced for one in spending)
    usd = total_usd(one.usd for one in spending)
    prices: list[str] = []
    if usd is not None:
        prices.append(f"{price_text(usd)} USD")
    if unpriced:
        prices.append(f"{unpriced:,} of unknown price")
    return (("model calls", calls, "; ".join(prices)),)


def _by_hour(counts: DayCounts, desk: str) -> tuple[int, ...]:
    by_hour = [0] * 24
    for key, hour, count in counts.hours:
        if key == desk:
            by_hour[hour] = count
    return tuple(by_hour)


def _history(counts: DayCounts) -> dict[str, tuple[int, ...]]:
    """Return the articles of each outcome by day, oldest first."""
    names = [*_OUTCOMES]
    for _, outcome, _ in sorted(counts.history, key=lambda row: row[1]):
        if outcome not in names:
            names.append(outcome)
    history = {name: [0] * HISTORY_DAYS for name in names}
    for day, outcome, count in counts.history:
        age = (counts.day - day).days
        if 0 <= age < HISTORY_DAYS:
            history[outcome][HISTORY_DAYS - 1 - age] = count
    return {name: tuple(by_day) for name, by_day in history.items()}


def shown_themes(
    themes: Sequence[tuple[str | None, int]],
) -> tuple[tuple[str, int], ...]:
    """Return the themes with most articles, then the sums of the other themes and of
    articles without one, if any.
    """
    shown: list[tuple[str, int]] = []
    others, without = 0, 0
    for label, count in themes:
        if label is None:
            without += count
        elif len(shown) < _SHOWN_THEMES:
            shown.append((label, count))
        else:
            others += count
    if others:
        shown.append((_OTHER_THEMES, others))
    if without:
        shown.append((_NO_THEME, without))
    return tuple(shown)


def _tables(
    counts: DayCounts, by_desk: Mapping[str, DeskCounts]
) -> tuple[Section, ...]:
    tables = (
        _stages_by_desk(by_desk),
        _outcomes_by_desk(counts, by_desk),
        Section(
            title="Why there is no article",
            header=("outcome", "reason", "articles"),
            rows=counts.reasons,
            note="Most frequent first.",
        ),
        Section(
            title="Polls by outcome",
            header=("desk", "outcome", "polls", "new entries", "changed"),
            rows=counts.polls,
        ),
        Section(
            title="Sources that failed",
            header=("source", "outcome", "reason", "polls"),
            rows=counts.poll_reasons,
            note="Most polls first.",
        ),
    )
    if not counts.spending:
        return tables
    return (*tables, model_section(counts.spending))


def _stages_by_desk(by_desk: Mapping[str, DeskCounts]) -> Section:
    rows: list[tuple[object, ...]] = []
    for key, row in by_desk.items():
        rows.append((key, row.agencies, *row.stages, row.copies))
    return Section(
        title="Stages by desk",
        note="Articles have a text; the columns to their right count the same articles.",
        header=("desk", "agencies", *_stage_columns(), "copies"),
        rows=tuple(rows),
    )


def _outcomes_by_desk(counts: DayCounts, by_desk: Mapping[str, DeskCounts]) -> Section:
    found = {(desk, outcome): n for desk, outcome, n in counts.outcomes}
    rows: list[tuple[object, ...]] = []
    for key, row in by_desk.items():
        outcomes = [found.get((key, outcome), 0) for outcome in _OUTCOMES]
        rows.append((key, *outcomes, row.waiting))
    return Section(
        title="Outcome of fetching, by desk",
        note="Waiting: listed and not fetched yet.",
        header=("desk", *_OUTCOMES, "waiting"),
        rows=tuple(rows),
    )


def model_section(spending: Sequence[Spending]) -> Section:
    """Return the table of calls of language models."""
    rows: list[tuple[object, ...]] = []
    for one in spending:
        calls = one.desk, one.model, one.via, one.calls, one.refused, one.failed
        tokens = one.input_tokens, one.cached_tokens, one.output_tokens
        rows.append((*calls, *tokens, price_text(one.usd), one.unpriced))
    return Section(
        title="Language models",
        note=(
            "By desk of the article. Unpriced: calls whose price is not known; they are not in the"
            " sum."
        ),
        header=(
            *("desk", "model", "way", "calls", "refused", "failed"),
            *("tokens in", "of them cached", "tokens out", "USD", "unpriced"),
        ),
        rows=tuple(rows),
    )


def _gap(name: str, findings: Findings) -> Section:
    more = len(findings.rows) - _SHOWN_FINDINGS
    left_out = f"; {more:,} more are not shown" if more > 0 else ""
    return Section(
        title=name,
        header=findings.header,
        rows=findings.rows[:_SHOWN_FINDINGS],
        note=f"{len(findings.rows):,} found among {findings.checked:,} checked{left_out}",
    )
