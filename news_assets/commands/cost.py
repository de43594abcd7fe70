"""The command `cost`: what a backfill by a language model would cost, and why; and what
the calls so far did.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from rich.table import Table

from news_assets.clients.factory import open_ports
from news_assets.commands.jsonlines import write_line
from news_assets.commands.opening import check_names, desks_of_files, open_lake
from news_assets.commands.options import Days, From, Json, To, days_between
from news_assets.commands.options import Desk as DeskOption
from news_assets.pipeline.enrich.model.model_enricher import ModelEnricher
from news_assets.pipeline.enrich.model.preview import Found, Preview, Sent, estimated
from news_assets.pipeline.enrich.model.prices import (
    CHARS_PER_TOKEN,
    OUTPUT_TOKENS,
    price_text,
)
from news_assets.pipeline.freshness.report_contents import model_section
from news_assets.pipeline.replay.stored_pages import archive_groups
from news_assets.records.desks import Desk
from news_assets.records.model_calls import Kind, Spending, Spent, Tokens, total_usd
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import mean_tokens, spending_for, spent
from news_assets.terminal import Terminal, progress

_BY_RUN = "direct, backfills in batches"
_WAYS = {
    "direct": "directly",
    "batch": "in batches",
    None: "directly, and backfills in batches where there are any",
}


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What was found of a desk, with the calls that any run makes (`new`) and those of
    `re_enrich` (`again`).
    """

    desk: Desk
    found: Found
    new: Sent
    again: Sent
    means: dict[tuple[str, Kind], Tokens]


def cost(
    desk: DeskOption = None,
    from_day: From = None,
    to_day: To = None,
    as_json: Json = False,
) -> None:
    """Print what enriching these desks and days would cost now, and what was spent for
    them.
    """
    check_names(desk, None)
    days, desks = days_between(from_day, to_day), desks_of_files(desk)
    settings, now = Settings.read(), datetime.now(UTC)
    with open_lake() as lake, open_ports(settings, ["enricher"], spent) as ports:
        enricher: ModelEnricher = ports["enricher"].open()
        for one in desks:
            estimate = None
            if enricher.requests_models(one.enrich):
                estimate = _estimate(lake, one, days, enricher, now)
            spending, total = spending_for(lake, one.key, *days), spent(lake, now)
            if as_json:
                write_line(_facts(one, estimate, spending, total))
            else:
                _show(one, estimate, spending, total)


def _estimate(
    lake: Lake, desk: Desk, days: Days, enricher: ModelEnricher, now: datetime
) -> _Estimate:
    preview = Preview(lake, desk, enricher, lambda: now)
    for group in progress(archive_groups(lake, desk.key, None, *days), desk.key):
        preview.add(group.keys)
    prompts = (*enricher.prompts, enricher.theme_prompt, enricher.entities_prompt)
    means = mean_tokens(lake, [prompt.version for prompt in prompts])
    sends_batches = partial(enricher.sends_batches, desk.enrich)
    found = preview.found
    new = estimated(
        found.new, means, now, is_batch=partial(sends_batches, is_backfill=False)
    )
    again = estimated(
        found.again, means, now, is_batch=partial(sends_batches, is_backfill=True)
    )
    return _Estimate(desk, found, new, again, means)


def _models(found: Found) -> list[str]:
    return sorted({model for model, _ in (*found.new, *found.again)})


# --- output ---------------------------------------------------------------------------


def _facts(
    desk: Desk, estimate: _Estimate | None, spending: Sequence[Spending], total: Spent
) -> dict[str, Any]:
    return {
        "desk": desk.key,
        "way": desk.enrich.via or _BY_RUN,
        **(_NO_ESTIMATE if estimate is None else _estimate_facts(estimate)),
        "ceilings": asdict(Settings.read().ceilings),
        "spent_today": total.day,
        "spent_this_month": total.month,
        "calls_so_far": [asdict(one) for one in spending],
    }


def _estimate_facts(estimate: _Estimate) -> dict[str, Any]:
    found = estimate.found
    return {
        "models": _models(found),
        "articles": found.articles,
        "copies": found.copies,
        "cached": found.cached,
        "sure": found.sure,
        "failed": found.failed,
        "skipped": dict(found.not_sent.most_common()),
        "to_send": asdict(estimate.new),
        "to_send_with_re_enrich": asdict(estimate.again),
        "tokens_from": _basis(estimate),
    }


# The same facts of a desk that no language model enriches.
_NO_ESTIMATE: dict[str, Any] = {
    "models": [],
    **dict.fromkeys(("articles", "copies", "cached", "sure", "failed")),
    "skipped": {},
    "to_send": asdict(Sent()),
    "to_send_with_re_enrich": asdict(Sent()),
    "tokens_from": None,
}


def _show(
    desk: Desk, estimate: _Estimate | None, spending: Sequence[Spending], total: Spent
) -> None:
    terminal = Terminal()
    terminal.print_line(f"desk {desk.key}", style="bold")
    lines = ["NEWS_ENRICHER and NEWS_ENTITIES name no language model: free"]
    if estimate is not None:
        lines = list(_lines(estimate))
    for line in lines:
        terminal.print_line(line)
    for line in _ceiling_lines(total):
        terminal.print_line(line)
    if not spending:
        terminal.print_line("no calls of language models so far for these articles")
        return
    usd = total_usd(one.usd for one in spending)
    terminal.print_line(
        f"so far: {sum(one.calls for one in spending):,} calls, {price_text(usd)} USD"
    )
    terminal.print_whole(_table(spending))


def _lines(estimate: _Estimate) -> Iterator[str]:
    found = estimate.found
    yield f"{found.articles:9,}  articles with a text"
    counts = {
        "copies: they take the result of their original": found.copies,
        "cached: asked before, and stored": found.cached,
        "sure: the local enricher's theme is sure enough": found.sure,
    }
    for reason, count in found.not_sent.most_common():
        counts[f"not sent: {reason}"] = count
    counts["that cannot be read"] = found.failed
    for reason, count in counts.items():
        if count:
            yield f"{count:9,}  {reason}"
    yield f"{estimate.new.calls:9,}  calls of the next run: {_price(estimate.new)}"
    yield f"{estimate.again.calls:9,}  more calls with `re_enrich: true`: {_price(estimate.again)}"
    models = ", ".join(_models(found))
    if models:
        yield (
            f"by {models}, {_WAYS[estimate.desk.enrich.via]}; tokens are estimated"
            f" {_basis(estimate)}"
        )


def _price(sent: Sent) -> str:
    if not sent.calls:
        return "nothing to pay"
    tokens = f"{sent.input_tokens:,} tokens in, {sent.output_tokens:,} out"
    return f"{tokens}, " + (
        "price unknown" if sent.usd is None else f"about {price_text(sent.usd)} USD"
    )


def _basis(estimate: _Estimate) -> str:
    pairs = set()
    for model, request in (*estimate.found.new, *estimate.found.again):
        pairs.add((model, request.kind))
    if pairs and pairs <= estimate.means.keys():
        return "from earlier calls with the same prompt"
    return (
        f"from {CHARS_PER_TOKEN:g} characters a token, and at most {OUTPUT_TOKENS['enrich']} tokens"
        " an answer"
    )


def _ceiling_lines(total: Spent) -> Iterator[str]:
    ceilings = Settings.read().ceilings
    for name, ceiling, done in (
        ("DAY", ceilings.day, total.day),
        ("MONTH", ceilings.month, total.month),
    ):
        if ceiling:
            yield f"NEWS_MAX_USD_PER_{name}: {price_text(done)} of {price_text(ceiling)} USD spent"
    if ceilings.run:
        yield f"NEWS_MAX_USD_PER_RUN: {price_text(ceilings.run)} USD"


def _table(spending: Sequence[Spending]) -> Table:
    section = model_section(spending)
    table = Table(
        "day (UTC)", *section.header, box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for one, row in zip(spending, section.rows, strict=True):
        table.add_row(
            one.called_on.isoformat(),
            *(f"{value:,}" if isinstance(value, int) else str(value) for value in row),
        )
    return table
