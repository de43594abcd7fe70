"""The command `explain`: who made an article's enrichment, from what, at which price,
and what was refused.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import open_lake
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.model.depth import Depth, depth_of
from news_assets.pipeline.enrich.model.explanation import (
    Evidence,
    evidence_of,
    is_outdated,
    marked,
    marked_paragraphs,
)
from news_assets.pipeline.enrich.model.prices import price_text
from news_assets.ports.lake import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import DepthRules
from news_assets.records.model_calls import ModelCall, total_usd
from news_assets.records.reading import Enrichment
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.queries.url_history import article_ids_at
from news_assets.terminal import Terminal

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
    def is_outdated(self) -> bool:
        """Whether the text has changed since."""
        return self.row is not None and is_outdated(self.row, self.article)


def explain(name: str, *, as_json: bool) -> None:
    """Print everything about the enrichment of the article with this id or address.

    Raises:
        NewsAssetsError: There is no such article.
    """
    rules = {
        desk.key: desk.enrich.depth
        for desk in load_desks(Settings.read().desks, ALL_KINDS)
    }
    with open_lake() as lake:
        found = [
            _explanation(lake, article, rules) for article in _articles(lake, name)
        ]
    for one in found:
        if as_json:
            write_line(_facts(one))
        else:
            _show(one)


def _articles(lake: Reader, name: str) -> list[RawArticle]:
    found = lake.read(
        RawArticle, article_id=article_ids_at(lake, name) if "://" in name else [name]
    )
    if not found:
        raise NewsAssetsError(
            f"no article `{name}`; `news-assets status --url` shows what became of an address"
        )
    return found


def _explanation(
    lake: Reader, article: RawArticle, rules: Mapping[str, DepthRules]
) -> _Explanation:
    rows = lake.read(EnrichedArticle, article_id=[article.article_id])
    row = rows[0] if rows else None
    asked_for = {
        article.article_id,
        *([row.reused_from] if row and row.reused_from else []),
    }
    calls = {call.call_id: call for call in lake.read(ModelCall, article_id=asked_for)}
    if row:  # an equal text was asked about once, perhaps for another article
        calls |= {
            call.call_id: call
            for call in lake.read(ModelCall, input_hash=[row.input_hash])
        }
    evidence = evidence_of(row, article.text or "") if row else []
    depth = (
        depth_of(article, rules.get(article.desk, DepthRules()))
        if article.meeting_id
        else None
    )
    return _Explanation(
        article,
        row,
        sorted(calls.values(), key=lambda call: call.called_at),
        evidence,
        depth,
    )


# --- output ---------------------------------------------------------------------------


def _facts(one: _Explanation) -> dict[str, Any]:
    row, article = one.row, one.article
    return {
        "article_id": article.article_id,
        "desk": article.desk,
        "agency": article.agency,
        "day": article.day,
        "title": article.title,
        "url": article.url,
        "outcome": row.outcome if row else None,
        "reason": row.reason if row else None,
        "made_by": {name: getattr(row, name) for name in _MADE_BY} if row else None,
        "is_outdated": one.is_outdated,
        "depth": one.depth and dict(zip(("depth", "reason"), one.depth, strict=True)),
        "result": (
            {field.name: getattr(row, field.name) for field in fields(Enrichment)}
            if row
            else None
        ),
        "evidence": [asdict(each) for each in one.evidence],
        "marked_text": marked(article.text or "", one.evidence)
        if one.evidence
        else None,
        "usd": total_usd(call.usd for call in one.calls),
        "calls": [asdict(call) for call in one.calls],
    }


def _show(one: _Explanation) -> None:
    terminal = Terminal()
    terminal.print_line(one.article.article_id, style="bold")
    for line in (one.article.title or "without a title", *_row_lines(one)):
        terminal.print_line(line)
    for call in one.calls:
        terminal.print_line(_call_line(call, one.article.article_id), style="bold")
        for line in _pretty(call.answer_json or ""):
            terminal.print_line(f"  {line}")
    if any(each.span for each in one.evidence):
        terminal.print_line("text, with the evidence in marks:", style="bold")
        for line in marked_paragraphs(one.article.text or "", one.evidence):
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
    yield (
        f"by {row.enricher} {row.model}, {by}"
        + f", reused from {row.reused_from}" * bool(row.reused_from)
    )
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
    labels = " > ".join(row.theme_labels)
    theme = (
        f"{row.theme_code} {labels}"
        if row.theme_code
        else f"none: {row.theme_reason or 'no theme fits'}"
    )
    yield f"theme: {theme} (score {row.theme_score:.2f})"
    score = f" ({row.sentiment_score:+.2f})" if row.sentiment_score is not None else ""
    values = {
        "summary": row.summary,
        "keywords": ", ".join(row.keywords),
        "sentiment": row.sentiment and row.sentiment + score,
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
        yield (
            f"    “{one.quote}”" if one.quote else "    nothing in the text supports it"
        )


def _call_line(call: ModelCall, article_id: str) -> str:
    tokens = (
        f"{_count(call.input_tokens)} tokens in ({_count(call.cached_tokens)} cached),"
        f" {_count(call.output_tokens)} out"
    )
    asked = (
        f"{call.called_at:%Y-%m-%d %H:%M:%S}Z {call.kind} by {call.model}, prompt"
        f" {call.prompt_version}, {call.via}"
    )
    cost = f"{tokens}; {price_text(call.usd)} USD; {call.elapsed_ms:,} ms"
    other = "" if call.article_id == article_id else f"; asked for {call.article_id}"
    return (
        f"{asked}: {cost}; {call.outcome}"
        + (f": {call.reason}" if call.reason else "")
        + other
    )


def _count(n: int | None) -> str:
    return "unknown" if n is None else f"{n:,}"


def _pretty(answer: str) -> list[str]:
    """Return an answer as indented JSON, or as it came."""
    try:
        return json.dumps(json.loads(answer), ensure_ascii=False, indent=2).splitlines()
    except (ValueError, RecursionError):
        return answer.splitlines()
