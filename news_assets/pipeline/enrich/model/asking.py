"""Asks a model for articles, and stores each answer with what it cost before the next one is asked for."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from news_assets.errors import EnrichError
from news_assets.model_calls import DIRECT, Kind, ModelCall
from news_assets.pipeline.enrich.model.prices import answer_usd
from news_assets.pipeline.enrich.model.reading.answer import Answer, read_answers
from news_assets.pipeline.enrich.model.requests import ENRICHER
from news_assets.pipeline.enrich.rows import cache_of, from_json
from news_assets.ports import Answered, Lake, LanguageModel, ModelAnswer, ModelRequest, Rows, Sandbox
from news_assets.records import CachedEnrichment, Enrichment, RawArticle
from news_assets.taxonomy.loader import Taxonomy

MAX_REFUSED = 2  # answers to one input that failed a check, after which it is not sent again: each of them was paid


class Question(NamedTuple):
    """A request, the article that it is for, and what the local enricher found."""

    request: ModelRequest
    article: RawArticle
    local: Enrichment


@dataclass(frozen=True, slots=True)
class Asked:
    """Results by input hash, the reasons why the others have none, and why the model is unavailable, if it is.

    `refused` are the inputs whose answer failed a check, `closed` those that are not sent again.
    """

    results: dict[str, Enrichment] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    unavailable: str = ""


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
    """Return what a model said before about these inputs, and ask it for the others; see `ask`.

    An input is not sent again if MAX_REFUSED answers to it were refused: its reason is the last one, and it is
    in `closed`.
    """
    known = cached_results(lake, questions.keys())
    before = refused_before(lake, list(questions.keys() - known.keys()), next(iter(questions.values())).request.kind)
    final = {key: reason for key, (count, reason) in before.items() if count >= MAX_REFUSED}
    new = {key: question for key, question in questions.items() if key not in known and key not in final}
    asked = ask(lake, model, prompt_version, new, taxonomy, sandbox, clock) if new else Asked()
    closed = {key for key in asked.refused if before.get(key, (0, ""))[0] + 1 >= MAX_REFUSED}
    return Asked(asked.results | known, asked.reasons | final, asked.refused, closed | final.keys(), asked.unavailable)


def ask(
    lake: Lake,
    model: LanguageModel,
    prompt_version: str,
    questions: Mapping[str, Question],
    taxonomy: Taxonomy,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
) -> Asked:
    """Send these requests, by input hash, and return what came of them; all of it is stored when this returns.

    A result and the row of its call are stored in one transaction. An answer that fails a check, and a call without an
    answer, have a row of their call only.
    """
    asked = Asked()
    try:
        for group in model.answer_all(question.request for question in questions.values()):
            read = read_group(group, questions, taxonomy, sandbox)
            at = clock()
            calls = [read_call_row(request, answer, read, model.name, prompt_version, at) for request, answer in group]
            results = {key: found for key, found in read.items() if isinstance(found, Enrichment)}
            store_answers(lake, calls, results, model.name, at)
            asked.results.update(results)
            asked.reasons.update({key: str(found) for key, found in read.items() if isinstance(found, EnrichError)})
            asked.refused.update(call.input_hash for call in calls if call.outcome == "refused")
    except EnrichError as error:  # of the model, not of an article: what it has answered is stored
        return replace(asked, unavailable=str(error))
    return asked


def store_answers(
    lake: Lake, calls: Sequence[ModelCall], results: Mapping[str, Enrichment], model: str, now: datetime
) -> None:
    """Store the rows of calls, and the results by input hash that came of them, in one transaction."""
    caches = [cache_of(key, result, ENRICHER, model, now) for key, result in results.items()]

    def store(rows: Rows) -> None:
        rows.append(calls)  # each has an id of its own
        if caches:
            rows.upsert(caches)

    lake.transact(store)


def call_row(
    request: ModelRequest,
    answer: ModelAnswer | EnrichError,
    refused: EnrichError | None,
    *,
    model: str,
    prompt_version: str,
    now: datetime,
    via: str = DIRECT,
    batch_id: str | None = None,
) -> ModelCall:
    """Return the row of a call that was answered, or not, just before `now`; `refused` is the check that failed."""
    given = answer if isinstance(answer, ModelAnswer) else None
    called_at = now - timedelta(milliseconds=given.elapsed_ms) if given else now
    error = answer if isinstance(answer, EnrichError) else refused
    return ModelCall(
        call_id=uuid4().hex,
        input_hash=request.input_hash,
        kind=request.kind,
        desk=request.desk,
        agency=request.agency,
        day=request.day,
        article_id=request.article_id,
        model=model,
        prompt_version=prompt_version,
        called_at=called_at,
        via=via,
        batch_id=batch_id,
        input_tokens=given.input_tokens if given else None,
        output_tokens=given.output_tokens if given else None,
        cached_tokens=given.cached_tokens if given else None,
        cache_write_tokens=given.cache_write_tokens if given else None,
        usd=answer_usd(model, given, called_at, is_batch=via != DIRECT) if given else None,
        elapsed_ms=given.elapsed_ms if given else 0,
        outcome="failed" if given is None else "refused" if refused else "ok",
        reason=str(error) if error else None,
        answer_json=given.raw if given else None,
    )


def read_group(
    group: Sequence[Answered], questions: Mapping[str, Question], taxonomy: Taxonomy, sandbox: Sandbox
) -> dict[str, Enrichment | EnrichError]:
    """Return what the answers of a group say, by input hash."""
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


def read_call_row(
    request: ModelRequest,
    answer: ModelAnswer | EnrichError,
    read: Mapping[str, Enrichment | EnrichError],
    model: str,
    prompt_version: str,
    now: datetime,
    via: str = DIRECT,
    batch_id: str | None = None,
) -> ModelCall:
    """Return the row of a call whose answer was read."""
    result = read[request.input_hash]
    refused = result if isinstance(result, EnrichError) and isinstance(answer, ModelAnswer) else None
    return call_row(
        request,
        answer,
        refused,
        model=model,
        prompt_version=prompt_version,
        now=now,
        via=via,
        batch_id=batch_id,
    )
