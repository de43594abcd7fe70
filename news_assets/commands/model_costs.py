"""The commands `cost` and `explain`: what language models cost and did, for a backfill and for
one article.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table

from news_assets.clients.factory import open_ports
from news_assets.commands.opening import check_names, desks_of_files, open_lake
from news_assets.commands.terminal import (
    Days,
    From,
    Json,
    Terminal,
    To,
    days_between,
    progress,
    write_line,
)
from news_assets.commands.terminal import Desk as DeskOption
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.articles.replayed_article import archive_groups
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.evidence import (
    Evidence,
    evidence_of,
    is_outdated,
    marked,
    marked_paragraphs,
)
from news_assets.pipeline.enrich.model.model_requests import Depth, depth_of
from news_assets.pipeline.enrich.model.preview import Found, Preview, Sent, estimated
from news_assets.pipeline.enrich.model.prices import (
    CHARS_PER_TOKEN,
    OUTPUT_TOKENS,
    price_text,
)
from news_assets.pipeline.report_contents import model_section
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import DepthRules, Desk
from news_assets.records.model_calls import (
    Kind,
    ModelCall,
    Spending,
    Spent,
    Tokens,
    total_usd,
)
from news_assets.records.reading import Enrichment
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import mean_tokens, spending_for, spent
from news_assets.store.queries.url_history import article_ids_at

# --- cost -----------------------------------------------------------------------------

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
    days = days_between(from_day, to_day)
    desks = desks_of_files(desk)
    settings = Settings.read()
    now = datetime.now(UTC)
    with open_lake() as lake, open_ports(settings, ["enricher"], spent) as ports:
        enricher: Enrichers = ports["enricher"].open()
        for one in desks:
            estimate = None
            if enricher.requests_models(one.enrich):
                estimate = _estimate(lake, one, days, enricher, now)
            spending = spending_for(lake, one.key, *days)
            total = spent(lake, now)
            if as_json:
                write_line(_facts(one, estimate, spending, total))
            else:
                _show(one, estimate, spending, total)


def _estimate(
    lake: Lake, desk: Desk, days: Days, enricher: Enrichers, now: datetime
) -> _Estimate:
    preview = Preview(lake, desk, enricher, lambda: now)
    for group in progress(archive_groups(lake, desk.key, None, *days), desk.key):
        preview.add(group.keys)
    prompts = (*enricher.prompts, enricher.theme_prompt, enricher.entities_prompt)
    means = mean_tokens(lake, [prompt.version for prompt in prompts])
    sends_batches = partial(enricher.sends_batches, desk.enrich)
    found = preview.found
    is_batch = partial(sends_batches, is_backfill=False)
    new = estimated(found.new, means, now, is_batch=is_batch)
    is_batch = partial(sends_batches, is_backfill=True)
    again = estimated(found.again, means, now, is_batch=is_batch)
    return _Estimate(desk, found, new, again, means)


def _models(found: Found) -> list[str]:
    return sorted({*dict(found.new), *dict(found.again)})


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
        "calls_so_far": list(map(asdict, spending)),
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
    calls = sum(one.calls for one in spending)
    usd = total_usd(one.usd for one in spending)
    terminal.print_line(f"so far: {calls:,} calls, {price_text(usd)} USD")
    terminal.print_whole(_table(spending))


def _lines(estimate: _Estimate) -> Iterator[str]:
    found = estimate.found
    yield f"{found.articles:9,}  articles with a text"
    counts = {
        "copies: they take the result of their original": found.copies,
        "cached: answered before, and stored": found.cached,
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
    price = "price unknown"
    if sent.usd is not None:
        price = f"about {price_text(sent.usd)} USD"
    return f"{sent.input_tokens:,} tokens in, {sent.output_tokens:,} out, {price}"


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
        table.add_row(one.called_on.isoformat(), *map(_cell, row))
    return table


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


# --- explain --------------------------------------------------------------------------

_MADE_BY = (
    "enricher",
    "model",
    "prompt_version",
    "taxonomy_version",
    "enriched_at",
    "local_reason",
    "reused_from",
)


@dataclass(frozen=True, slots=True)
class _Explanation:
    """An article, its row if it has one, the calls in the order in which they were
    made, and the evidence.

    `depth` of an agenda item's summary, and why it is that; None for news.
    """

    article: RawArticle
    row: EnrichedArticle | None
    calls: Sequence[ModelCall]
    evidence: Sequence[Evidence]
    depth: tuple[Depth, str] | None

    @property
    def text(self) -> str:
        """The text of the article; empty without one."""
        return self.article.text or ""

    @property
    def is_outdated(self) -> bool:
        """Whether the text has changed since."""
        return self.row is not None and is_outdated(self.row, self.article)


def explain(
    article: Annotated[
        str, typer.Argument(metavar="ARTICLE|URL", help="id or address of an article")
    ],
    as_json: Json = False,
) -> None:
    """Print everything about the enrichment of the article with this id or address.

    Raises:
        NewsAssetsError: There is no such article.
    """
    desks = load_desks(Settings.read().desks, ALL_KINDS)
    rules = {desk.key: desk.enrich.depth for desk in desks}
    with open_lake() as lake:
        articles = _articles(lake, article)
        found = [_explanation(lake, one, rules) for one in articles]
    for explanation in found:
        if as_json:
            write_line(_explained_facts(explanation))
        else:
            _show_explained(explanation)


def _articles(lake: Reader, name: str) -> list[RawArticle]:
    ids = article_ids_at(lake, name) if "://" in name else [name]
    found = lake.read(RawArticle, article_id=ids)
    if not found:
        raise NewsAssetsError(
            f"no article `{name}`; `news-assets status --url` shows what became of an address"
        )
    return found


def _explanation(
    lake: Reader, article: RawArticle, rules: Mapping[str, DepthRules]
) -> _Explanation:
    depth = None
    if article.meeting_id:
        depth = depth_of(article, rules.get(article.desk, DepthRules()))
    rows = lake.read(EnrichedArticle, article_id=[article.article_id])
    row = rows[0] if rows else None
    calls = _calls_for(lake, article, row)
    evidence = evidence_of(row, article.text or "") if row else []
    return _Explanation(article, row, calls, evidence, depth)


def _calls_for(
    lake: Reader, article: RawArticle, row: EnrichedArticle | None
) -> list[ModelCall]:
    """Return the calls for an article and for the one whose result it has, in the order
    in which they were made.
    """
    calls = lake.read(ModelCall, article_id=[article.article_id])
    if row is not None:
        # for an equal text, which may be another article's
        calls += lake.read(ModelCall, input_hash=[row.input_hash])
    if row is not None and row.reused_from:
        calls += lake.read(ModelCall, article_id=[row.reused_from])
    once = {call.call_id: call for call in calls}
    return sorted(once.values(), key=lambda call: call.called_at)


# --- output ---------------------------------------------------------------------------


def _explained_facts(one: _Explanation) -> dict[str, Any]:
    article = one.article
    marked_text = None
    depth = None
    if one.evidence:
        marked_text = marked(one.text, one.evidence)
    if one.depth:
        depth = dict(zip(("depth", "reason"), one.depth, strict=True))
    return {
        "article_id": article.article_id,
        "desk": article.desk,
        "agency": article.agency,
        "day": article.day,
        "title": article.title,
        "url": article.url,
        **_row_facts(one.row),
        "is_outdated": one.is_outdated,
        "depth": depth,
        "evidence": list(map(asdict, one.evidence)),
        "marked_text": marked_text,
        "usd": total_usd(call.usd for call in one.calls),
        "calls": list(map(asdict, one.calls)),
    }


def _row_facts(row: EnrichedArticle | None) -> dict[str, Any]:
    if row is None:
        return dict.fromkeys(("outcome", "reason", "made_by", "result"))
    result = [field.name for field in fields(Enrichment)]
    return {
        "outcome": row.outcome,
        "reason": row.reason,
        "made_by": _values(row, _MADE_BY),
        "result": _values(row, result),
    }


def _values(row: EnrichedArticle, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _show_explained(one: _Explanation) -> None:
    terminal = Terminal()
    terminal.print_line(one.article.article_id, style="bold")
    terminal.print_line(one.article.title or "without a title")
    for line in _row_lines(one):
        terminal.print_line(line)
    for call in one.calls:
        terminal.print_line(_call_line(call, one.article.article_id), style="bold")
        for line in _pretty(call.answer_json or ""):
            terminal.print_line(f"  {line}")
    if any(each.span for each in one.evidence):
        terminal.print_line("text, with the evidence in marks:", style="bold")
        for line in marked_paragraphs(one.text, one.evidence):
            terminal.print_line(f"  {line}")


def _row_lines(one: _Explanation) -> Iterator[str]:
    row = one.row
    if row is None:
        reason = f" ({one.article.reason})" if one.article.reason else ""
        yield f"not enriched: the article has the outcome {one.article.outcome}{reason}"
        return
    by = (
        f"prompt {row.prompt_version}, taxonomy {row.taxonomy_version}, at"
        f" {row.enriched_at:%Y-%m-%d %H:%M:%S}Z"
    )
    reused = f", reused from {row.reused_from}" if row.reused_from else ""
    yield f"by {row.enricher} {row.model}, {by}{reused}"
    if row.local_reason:
        again = "; a model will be requested again" if row.is_provisional else ""
        yield f"local, because: {row.local_reason}{again}"
    if row.unsure_reason:
        yield f"to be checked: {row.unsure_reason}"
    if row.outcome != "ok":
        yield f"{row.outcome}: {row.reason}"
    if one.depth:
        yield f"depth of a language model's summary: {one.depth[0]}, because {one.depth[1]}"
    if one.is_outdated:
        yield "the article has changed since; it will be enriched again"
    yield from _result_lines(row)
    yield from _evidence_lines(one.evidence)


def _result_lines(row: EnrichedArticle) -> Iterator[str]:
    reason = row.theme_reason or "no theme fits"
    theme = f"none: {reason}"
    if row.theme_code:
        theme = f"{row.theme_code} {' > '.join(row.theme_labels)}"
    yield f"theme: {theme} (score {row.theme_score:.2f})"
    sentiment = row.sentiment
    if sentiment and row.sentiment_score is not None:
        sentiment = f"{sentiment} ({row.sentiment_score:+.2f})"
    values = {
        "summary": row.summary,
        "keywords": ", ".join(row.keywords),
        "sentiment": sentiment,
        "article type": row.article_type,
        "entities": ", ".join(row.entities),
    }
    for name, value in values.items():
        if value:
            yield f"{name}: {value}"


def _evidence_lines(evidence: Sequence[Evidence]) -> Iterator[str]:
    for one in evidence:
        sentence = f"{one.of}: {one.sentence}" if one.sentence else one.of
        yield f"[{one.number}] {sentence}"
        quote = f"“{one.quote}”" if one.quote else "nothing in the text supports it"
        yield f"    {quote}"


def _call_line(call: ModelCall, article_id: str) -> str:
    tokens = (
        f"{_count(call.input_tokens)} tokens in ({_count(call.cached_tokens)} cached),"
        f" {_count(call.output_tokens)} out"
    )
    sent = (
        f"{call.called_at:%Y-%m-%d %H:%M:%S}Z {call.kind} by {call.model}, prompt"
        f" {call.prompt_version}, {call.via}"
    )
    reason = f": {call.reason}" if call.reason else ""
    other = ""
    if call.article_id != article_id:
        other = f"; requested for {call.article_id}"
    return (
        f"{sent}: {tokens}; {price_text(call.usd)} USD; {call.elapsed_ms:,} ms;"
        f" {call.outcome}{reason}{other}"
    )


def _count(n: int | None) -> str:
    return "unknown" if n is None else f"{n:,}"


def _pretty(answer: str) -> list[str]:
    """Return an answer as indented JSON, or as it came."""
    try:
        return json.dumps(json.loads(answer), ensure_ascii=False, indent=2).splitlines()
    except (ValueError, RecursionError):
        return answer.splitlines()
