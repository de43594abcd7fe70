"""Asks a model for articles, and stores each answer with what it cost before the next one is asked for."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from news_assets.errors import EnrichError, InOpenBatchError
from news_assets.pipeline.enrich.model.prices import answer_usd
from news_assets.pipeline.enrich.model.reading.answer import Answer, read_answers
from news_assets.pipeline.enrich.model.requests import ENRICHER
from news_assets.pipeline.enrich.rows import cache_of, from_json
from news_assets.ports.enrichment import Answered, LanguageModel, ModelAnswer, ModelRequest
from news_assets.ports.lake import Lake, Rows
from news_assets.ports.reading import Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CachedEnrichment
from news_assets.records.model_calls import DIRECT, Kind, ModelCall
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.loader import Taxonomy

MAX_REFUSED = 2  # answers to one input that failed a check, after which it is not sent again: each of them was paid


class Question(NamedTuple):
    """A request, the article that it is for, and what the local enricher found."""

    request: ModelRequest
    article: RawArticle
    local: Enrichment


@dataclass(frozen=True, slots=True)
class Asked:
    """Results by input hash, the reasons why others have none, and the inputs that are not sent again (`closed`).

    `waiting` says that answers come with a batch that is open, `unavailable` why the model gives none.
    """

    results: dict[str, Enrichment] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    waiting: str = ""
    unavailable: str = ""

    def reason(self, key: str, model: str) -> str:
        """Return why an input has no result."""
        return self.reasons.get(key) or self.waiting or self.unavailable or f"{model} did not answer"


def refused_before(lake: Lake, hashes: Sequence[str], kind: Kind) -> dict[str, tuple[int, str]]:
    """Return how many answers to these inputs were refused, and why the last one was."""
    columns = ("input_hash", "called_at", "reason")
    frame = lake.frame(ModelCall, None, columns, input_hash=hashes, kind=[kind], outcome=["refused"])
    found: dict[str, tuple[int, str]] = {}
    for input_hash, _, reason in frame.sort("called_at").iter_rows():
        found[input_hash] = (found.get(input_hash, (0, ""))[0] + 1, reason or "")
    return found


def cached_results(lake: Lake, hashes: Collection[str]) -> dict[str, Enrichment]:
    """Return the cached results of these inputs."""
    stored = lake.read(CachedEnrichment, input_hash=hashes) if hashes else []
    results = {cache.input_hash: from_json(cache.result_json) for cache in stored}
    return {key: result for key, result in results.items() if result is not None}


def recall_or_ask(
    lake: Lake,
    model: LanguageModel,
    prompt_version: str,
    questions: Mapping[str, Question],
    taxonomy: Taxonomy,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
) -> Asked:
    """Return what a model said before about these inputs, by input hash, and ask it for the others.

    An input is not sent again if MAX_REFUSED answers to it were refused: its reason is the last one, and it is
    in `closed`. All of what is returned is stored.
    """
    known = cached_results(lake, questions.keys())
    before = refused_before(lake, list(questions.keys() - known.keys()), next(iter(questions.values())).request.kind)
    final = {key: reason for key, (count, reason) in before.items() if count >= MAX_REFUSED}
    new = [question.request for key, question in questions.items() if key not in known and key not in final]
    asked = Asked(known, final, closed=set(final))
    if not new:
        return asked
    way = Way(model.name, prompt_version)
    try:
        for group in model.answer_all(new):
            read = read_answers_of(group, questions, taxonomy, sandbox)
            store_answers(lake, group, read, way, clock())
            for request, answer in group:
                key, found = request.input_hash, read[request.input_hash]
                if isinstance(found, Enrichment):
                    asked.results[key] = found
                    continue
                asked.reasons[key] = str(found)
                is_refused = isinstance(answer, ModelAnswer)
                if is_refused and before.get(key, (0, ""))[0] + 1 >= MAX_REFUSED:
                    asked.closed.add(key)
    except InOpenBatchError as error:
        return replace(asked, waiting=str(error))
    except EnrichError as error:  # of the model, not of an article: what it has answered is stored
        return replace(asked, unavailable=str(error))
    return asked


class Way(NamedTuple):
    """How requests were sent: the model, the version of the prompt, `direct` or `batch`, and the batch's id."""

    model: str
    prompt_version: str
    via: str = DIRECT
    batch_id: str | None = None


def read_answers_of(
    group: Sequence[Answered], questions: Mapping[str, Question], taxonomy: Taxonomy, sandbox: Sandbox
) -> dict[str, Enrichment | EnrichError]:
    """Return what the answers of a group say, or why they have no result, by input hash."""
    found: dict[str, Enrichment | EnrichError] = {}
    answers = []
    for request, answer in group:
        _, article, local = questions[request.input_hash]
        if isinstance(answer, EnrichError):
            found[request.input_hash] = answer
        else:
            answers.append(Answer(answer.raw, request, article, local))
    read = read_answers(answers, taxonomy, sandbox) if answers else []
    return found | {answer.request.input_hash: one for answer, one in zip(answers, read, strict=True)}


def store_answers(
    lake: Lake, group: Sequence[Answered], read: Mapping[str, Enrichment | EnrichError], way: Way, now: datetime
) -> None:
    """Store the calls of a group, which were answered just before `now`, and their results, in one transaction.

    An answer that fails a check, and a call without an answer, have a row of their call only.
    """
    calls = [_call_row(request, answer, read[request.input_hash], way, now) for request, answer in group]
    results = {key: found for key, found in read.items() if isinstance(found, Enrichment)}
    caches = [cache_of(key, result, ENRICHER, way.model, now) for key, result in results.items()]

    def store(rows: Rows) -> None:
        rows.append(calls)  # each has an id of its own
        if caches:
            rows.upsert(caches)

    lake.transact(store)


def _call_row(
    request: ModelRequest, answer: ModelAnswer | EnrichError, read: Enrichment | EnrichError, way: Way, now: datetime
) -> ModelCall:
    given = answer if isinstance(answer, ModelAnswer) else None
    called_at = now - timedelta(milliseconds=given.elapsed_ms) if given else now
    error = read if isinstance(read, EnrichError) else None
    return ModelCall(
        call_id=uuid4().hex,
        input_hash=request.input_hash,
        kind=request.kind,
        desk=request.desk,
        agency=request.agency,
        day=request.day,
        article_id=request.article_id,
        model=way.model,
        prompt_version=way.prompt_version,
        called_at=called_at,
        via=way.via,
        batch_id=way.batch_id,
        input_tokens=given.input_tokens if given else None,
        output_tokens=given.output_tokens if given else None,
        cached_tokens=given.cached_tokens if given else None,
        cache_write_tokens=given.cache_write_tokens if given else None,
        usd=answer_usd(way.model, given, called_at, is_batch=way.via != DIRECT) if given else None,
        elapsed_ms=given.elapsed_ms if given else 0,
        outcome="failed" if given is None else "refused" if error else "ok",
        reason=str(error) if error else None,
        answer_json=given.raw if given else None,
    )
