"""Plan the enrichment of some agency-days.

What articles get without a language model: the local enricher's result, or, for copies,
that of their original. Then which articles a language model is called for.

Nothing is sent and nothing is stored.
"""

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from news_assets.errors import EnrichError
from news_assets.pipeline.articles.likeness import NEARLY_SAME_TEXT
from news_assets.pipeline.enrich.enriched_rows import (
    MadeBy,
    cache_of,
    cached_results,
    identity,
    identity_of,
    input_hash,
    labels_in_force,
    result_of,
    title_and_text,
)
from news_assets.pipeline.enrich.model.answer_checks import located
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.evidence import SearchedText, parse_span
from news_assets.pipeline.enrich.model.model_requests import ENRICHER, reason_not_sent
from news_assets.pipeline.stage_declaration import of_articles
from news_assets.ports.services import Enricher, Lake, Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment, EnrichedArticle, ThemeLabel
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays, Enrichment

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Draft:
    """What the row of an article is made of.

    Attributes:
        key: The hash of the input.
        enrichment: The result, or why there is none.
        made_by: What made it.
        local_reason: Why it is the local result.
        retry_reason: Why the row is made again later; None for one that stays.
        awaits_model: Whether a model is to be called next, so that the row is due at
            once; without a `retry_reason`.
        reused_from: The article_id of the original of a copy.
    """

    key: str
    enrichment: Enrichment | EnrichError
    made_by: MadeBy
    local_reason: str | None = None
    retry_reason: str | None = None
    awaits_model: bool = False
    reused_from: str | None = None


@dataclass(slots=True)
class Plan:
    """What is to be done for some agency-days.

    Attributes:
        articles: All articles with a text.
        stored: The rows of these and of former articles, by article id.
        labels: The themes that persons gave, by article id.
        filtered: Articles that the filters of the desk leave out.
        drafts: What the rows of the other articles are made of, by article id.
        copies: The original of each exact copy, by article id: an article of this plan.
        readable: Articles that may be sent.
        locals: What the local enricher found of these, by article id.
        requested: Those whose enrichment a model is requested for.
        new_cache: Results of the local enricher that are not cached.
    """

    articles: list[RawArticle]
    stored: dict[str, EnrichedArticle]
    labels: dict[str, ThemeLabel]
    filtered: list[RawArticle] = field(default_factory=list)
    drafts: dict[str, Draft] = field(default_factory=dict)
    copies: dict[str, RawArticle] = field(default_factory=dict)
    readable: list[RawArticle] = field(default_factory=list)
    locals: dict[str, Enrichment] = field(default_factory=dict)
    requested: list[RawArticle] = field(default_factory=list)
    new_cache: list[CachedEnrichment] = field(default_factory=list)

    def is_current(self, article: RawArticle) -> bool:
        """Whether an article has a row of its present state that is to stay."""
        row = self.stored.get(article.article_id)
        if row is None:
            return False
        if row.outcome != "ok":
            return False
        if row.is_provisional:
            return False
        return row.content_hash == article.content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The enrichers of a desk: the local one, and `with_models` the same with the language
    models that follow it; None for a desk that uses none.
    """

    local: Enricher
    with_models: Enrichers | None = None

    @classmethod
    def of(cls, enricher: Enricher | Enrichers, desk: Desk) -> "Chain":
        """Return the chain of a desk. Raises NewsAssetsError."""
        if not isinstance(enricher, Enrichers):
            return cls(local=enricher)
        of_desk = enricher.for_desk(desk)
        if of_desk.requests_models(desk.enrich):
            return cls(local=of_desk.local, with_models=of_desk)
        return cls(local=of_desk.local)

    def identities(self) -> set[MadeBy]:
        """Return who may have made a row that copies reuse."""
        found = {identity(self.local)}
        if self.with_models:
            found |= self.with_models.identities()
        return found


def plan_batch(
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    chain: Chain,
    now: datetime,
    only: Collection[str] | None = None,
    *,
    re_enrich: bool = False,
) -> Plan:
    """Return what is due in these agency-days, or of the articles `only`.

    An article that a model answered for is due again only with `re_enrich` or another
    text: that costs money. Rows of the local enricher are always planned, unless models
    follow it; those that it would make the same are not stored again.

    Args:
        lake: Has the articles, their rows and the cache.
        desk: Whose rules apply.
        keys: The agency-days.
        chain: The enrichers of the desk.
        now: The time of new cache entries.
        only: The ids of the articles; all where it is None.
        re_enrich: Whether all articles are due.
    """
    with lake.latest() as reader:
        plan = _read_plan(reader, keys, only)
        own: list[RawArticle] = []
        for article in plan.articles:
            if not re_enrich and not _is_planned(plan, article, chain):
                continue
            if article.filter_reason:
                plan.filtered.append(article)
            else:
                own.append(article)
        found = _LocalResults(reader, own, chain.local, now)
        originals = _read_originals(reader, own, chain)
    for article in own:
        if not _may_be_copy(article):
            plan.drafts[article.article_id] = found.draft(article)
    _add_copies(plan, own, originals, found, chain.local)
    plan.new_cache = found.new_cache
    if chain.with_models:
        _add_requests(plan, desk, own, chain.with_models)
    return plan


def _read_plan(reader: Reader, keys: AgencyDays, only: Collection[str] | None) -> Plan:
    """Return a plan with what is stored, and nothing to do."""
    chosen = of_articles(only)
    stored = reader.read(RawArticle, keys, outcome=["ok"], **chosen)
    articles = [article for article in stored if (article.text or "").strip()]
    rows = {row.article_id: row for row in reader.read(EnrichedArticle, keys, **chosen)}
    labels = labels_in_force(reader.read(ThemeLabel, keys, **chosen))
    return Plan(articles, rows, labels)


def _is_planned(plan: Plan, article: RawArticle, chain: Chain) -> bool:
    if not plan.is_current(article):
        return True
    row = plan.stored[article.article_id]
    if chain.with_models is None and row.enricher != ENRICHER:
        return True
    _LOG.debug("%s: not enriched: its row is current", article.article_id)
    return False


def _may_be_copy(article: RawArticle) -> bool:
    """Whether an article takes the result of its original.

    Not where its text is only nearly the same, or cut.
    """
    if not article.duplicate_of:
        return False
    return article.duplicate_reason != NEARLY_SAME_TEXT


class _LocalResults:
    """The local enricher's results for these articles.

    It is called once for each input that is not cached.

    `new_cache` has the results that are to be cached.
    """

    def __init__(
        self,
        reader: Reader,
        articles: Iterable[RawArticle],
        local: Enricher,
        now: datetime,
    ) -> None:
        self._local = local
        self._now = now
        self._made_by = identity(local)
        self._hashes: dict[str, str] = {}
        for article in articles:
            key = input_hash(*title_and_text(article), self._made_by)
            self._hashes[article.article_id] = key
        self._known: dict[str, Enrichment | EnrichError] = {}
        self._known |= cached_results(reader, set(self._hashes.values()))
        self.new_cache: list[CachedEnrichment] = []

    def draft(self, article: RawArticle) -> Draft:
        """Return the draft of one of the articles with the local result, or why there
        is none.
        """
        key = self._hashes[article.article_id]
        if key not in self._known:
            self._known[key] = found = _enriched(self._local, article)
            if isinstance(found, Enrichment):
                cached = cache_of(
                    key,
                    found,
                    self._made_by.enricher,
                    self._made_by.model,
                    article.article_id,
                    self._now,
                )
                self.new_cache.append(cached)
        return Draft(key, self._known[key], self._made_by)


def _enriched(local: Enricher, article: RawArticle) -> Enrichment | EnrichError:
    try:
        return local.enrich(*title_and_text(article), article.language)
    except EnrichError as error:
        return error


# --- copies ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Original:
    """The stored row of an original, and its text."""

    row: EnrichedArticle
    text: str


def _read_originals(
    reader: Reader, own: Sequence[RawArticle], chain: Chain
) -> dict[str, _Original]:
    """Return the originals elsewhere whose rows are of this chain, by article id."""
    wanted: set[str | None] = set()
    for article in own:
        if _may_be_copy(article):
            wanted.add(article.duplicate_of)
    elsewhere = wanted - {article.article_id for article in own}
    if not elsewhere:
        return {}
    made_by = chain.identities()
    rows = reader.read(EnrichedArticle, article_id=elsewhere, outcome=["ok"])
    usable = {row.article_id: row for row in rows if identity_of(row) in made_by}
    texts: dict[str, str] = {}
    for row in reader.read(RawArticle, article_id=usable.keys()):
        texts[row.article_id] = row.text or ""
    return {key: _Original(row, texts.get(key, "")) for key, row in usable.items()}


def _add_copies(
    plan: Plan,
    own: Sequence[RawArticle],
    originals: Mapping[str, _Original],
    found: _LocalResults,
    local: Enricher,
) -> None:
    """Let exact copies take the result of their original.

    That is an article of this plan, or a stored row.
    """
    here = {article.article_id: article for article in own}
    wanted: dict[str, str] = {}
    for a in own:
        if _may_be_copy(a):
            wanted[a.article_id] = a.duplicate_of or ""
    for copy, original in wanted.items():
        if original in originals:
            plan.drafts[copy] = _of_stored(here[copy], originals[original], local)
        elif original in here and not _leads_to(original, copy, wanted):
            plan.copies[copy] = here[original]
        else:  # the original is not enriched, or a copy of this one
            plan.drafts[copy] = found.draft(here[copy])
    for copy in _copies_of_failed(plan):
        _LOG.debug("%s: enriched itself: its original has no result", copy)
        del plan.copies[copy]
        plan.drafts[copy] = found.draft(here[copy])


def _copies_of_failed(plan: Plan) -> list[str]:
    """Return the ids of copies whose original has no local result."""
    copies = plan.copies.items()
    return [copy for copy, original in copies if _has_failed(plan, original)]


def _has_failed(plan: Plan, article: RawArticle) -> bool:
    """Whether the first original of an article has no local result."""
    seen = {article.article_id}
    while article.article_id in plan.copies:
        article = plan.copies[article.article_id]
        if article.article_id in seen:
            return True
        seen.add(article.article_id)
    return isinstance(plan.drafts[article.article_id].enrichment, EnrichError)


def _of_stored(article: RawArticle, original: _Original, local: Enricher) -> Draft:
    row = original.row
    retry_reason = None
    if row.is_provisional:
        retry_reason = f"its original {row.article_id} is provisional"
    draft = Draft(
        row.input_hash,
        result_of(row),
        identity_of(row),
        row.local_reason,
        retry_reason,
    )
    return reused(draft, article, row.article_id, original.text, local)


def reused(
    draft: Draft,
    article: RawArticle,
    original_id: str,
    original_text: str,
    local: Enricher,
) -> Draft:
    """Return the draft of a copy, made of that of its original."""
    if isinstance(draft.enrichment, EnrichError):
        return draft
    key, local_made = draft.key, identity(local)
    if draft.made_by == local_made:
        key = input_hash(*title_and_text(article), local_made)
    enrichment = _with_spans_of(draft.enrichment, original_text, article.text or "")
    return replace(draft, key=key, enrichment=enrichment, reused_from=original_id)


def _leads_to(start: str, article_id: str, originals: Mapping[str, str]) -> bool:
    """Whether following originals from `start` comes back to an article."""
    seen: set[str] = set()
    following: str | None = start
    while following and following not in seen:
        if following == article_id:
            return True
        seen.add(following)
        following = originals.get(following)
    return False


def _with_spans_of(result: Enrichment, original: str, text: str) -> Enrichment:
    """Return the result of an original's text with the spans that it has in another
    text.

    Two copies may be spaced differently. Spans that the other text lacks are empty.
    """
    has_spans = result.summary_spans or result.key_point_spans or result.entities_json
    if original == text:
        return result
    if not has_spans:
        return result
    searched = SearchedText(text)
    entities, entities_json = result.entities, result.entities_json
    if entities_json:
        entities, entities_json = located(json.loads(entities_json), text)
    return replace(
        result,
        summary_spans=_moved(result.summary_spans, original, searched),
        key_point_spans=_moved(result.key_point_spans, original, searched),
        entities=entities,
        entities_json=entities_json,
    )


def _moved(
    stored: Iterable[str], original: str, searched: SearchedText
) -> tuple[str, ...]:
    moved: list[str] = []
    for span in map(parse_span, stored):
        found = searched.find(original[span.start : span.end]) if span else None
        moved.append(str(found or ""))
    return tuple(moved)


# --- requests -------------------------------------------------------------------------


def _local_results(
    plan: Plan, articles: Sequence[RawArticle]
) -> list[tuple[RawArticle, Enrichment]]:
    """Return the articles that have a local result, with it."""
    found: list[tuple[RawArticle, Enrichment]] = []
    for article in articles:
        local = _own_result(plan, article)
        if local is not None:
            found.append((article, local))
    return found


def _add_requests(
    plan: Plan, desk: Desk, own: Sequence[RawArticle], enrichers: Enrichers
) -> None:
    """Add which articles may be sent, and for which the local result does not stay."""
    found = _local_results(plan, own)
    calls = [(*title_and_text(article), desk.enrich) for article, _ in found]
    reasons = enrichers.sandbox.run(reason_not_sent, calls)
    for (article, local), reason in zip(found, reasons, strict=True):
        if reason is not None:
            _stays_local(plan, article, str(reason))
        else:
            _add_readable(plan, article, local, enrichers)


def _add_readable(
    plan: Plan, article: RawArticle, local: Enrichment, enrichers: Enrichers
) -> None:
    """Add an article that may be sent; it is requested unless its local theme is sure."""
    plan.readable.append(article)
    plan.locals[article.article_id] = local
    if not enrichers.models:
        return
    accepted_error = enrichers.accepted_error
    if accepted_error is not None and is_sure(local, accepted_error):
        reason = f"sure: its theme has a score of {local.theme_score:.2f}"
        _stays_local(plan, article, reason)
        return
    plan.requested.append(article)


def is_sure(enrichment: Enrichment, wanted_error_rate: float) -> bool:
    """Return whether a theme is given that is wrong with at most this probability, 0 to
    1.

    Scores are calibrated, so of many sure themes a smaller share than
    `wanted_error_rate` is wrong.
    """
    if not enrichment.theme_path:
        return False
    return enrichment.theme_score >= 1 - wanted_error_rate


def _own_result(plan: Plan, article: RawArticle) -> Enrichment | None:
    """Return the local result of an article; None for copies, and where there is none."""
    draft = plan.drafts.get(article.article_id)
    if draft is None:
        return None
    if draft.reused_from:
        return None
    if isinstance(draft.enrichment, EnrichError):
        return None
    return draft.enrichment


def _stays_local(plan: Plan, article: RawArticle, reason: str) -> None:
    article_id = article.article_id
    _LOG.debug("%s: no model is called: %s", article_id, reason)
    plan.drafts[article_id] = replace(plan.drafts[article_id], local_reason=reason)


def counts_of(plan: Plan) -> Counter[str]:
    """Return how many articles are not requested, by reason."""
    found: Counter[str] = Counter()
    for article in plan.articles:
        found[_kind_of(plan, article)] += 1
    del found[""]
    return found


COPY, FAILED, SURE, CURRENT = "copy", "failed", "sure", "current"
_FILTERED = "left out by the filters of the desk"


def _kind_of(plan: Plan, article: RawArticle) -> str:
    """Return why an article is not requested, without what is particular to it.

    Empty for one that is.
    """
    draft = plan.drafts.get(article.article_id)
    if article.filter_reason:
        return _FILTERED
    if article.article_id in plan.copies or (draft and draft.reused_from):
        return COPY
    if draft is None:
        return CURRENT
    if isinstance(draft.enrichment, EnrichError):
        return FAILED
    reason = draft.local_reason or ""
    if not reason:
        return ""
    if reason.startswith(SURE):
        return SURE
    general = (
        reason.removeprefix("not sent: ")
        .partition("“")[0]
        .partition(", as ")[0]
        .strip(" ,:")
    )
    return " ".join(word for word in general.split() if not word.isdigit())
