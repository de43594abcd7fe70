"""Made articles, a model that answers about them as it should, and what a test of the
enrichment by models needs.
"""

import json
import re
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

from news_assets.clients.llm.calls import ConcurrentModel, Limits
from news_assets.clients.llm.provider_batches import open_batches
from news_assets.clients.llm.provider_models import open_model
from news_assets.errors import ModelCallError
from news_assets.pipeline.enrich.enrich import enrich_batch
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.enrich.model.enrichers import Enrichers
from news_assets.pipeline.enrich.model.model_requests import load_prompt
from news_assets.pipeline.stages import stage_named
from news_assets.ports.services import LanguageModel, ModelAnswer, ModelRequest
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Agency, Desk, EnrichRules
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.taxonomy import Taxonomy, Theme, load_taxonomy
from news_assets_tests.store.examples import full
from news_assets_tests.support.inline_sandbox import InlineSandbox

DAY = date(2026, 11, 20)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
KEYS = AgencyDays("govbr", frozenset({("mec", DAY)}))
AGENCY = Agency(
    key="mec", name="MEC", timezone="America/Sao_Paulo", language="pt-BR", sources=()
)
TITLE = "Ministério amplia bolsas para estudantes"
TEXT = """O Ministério da Educação anunciou nesta quinta-feira, em Brasília, a ampliação do programa de bolsas para {n}
estudantes de universidades federais. O investimento previsto é de R$ 120 milhões por ano.

Segundo o ministro João Silva, os pagamentos começam em março e alcançam alunos de baixa renda de todas as regiões.
As inscrições serão feitas pela internet, no portal do Ministério da Educação, e o resultado sai em fevereiro."""


@lru_cache
def taxonomy() -> Taxonomy:
    return load_taxonomy()


def large_tree() -> Taxonomy:
    """Return a taxonomy of 20 x 20 x 10 themes, whose labels do not fit into one list."""
    themes: dict[str, Theme] = {}
    template = next(iter(taxonomy().themes.values()))
    for first in range(20):
        _add(themes, template, f"{first:02}", None)
        for second in range(20):
            _add(themes, template, f"{first:02}.{second:02}", f"{first:02}")
            for third in range(10):
                _add(
                    themes,
                    template,
                    f"{first:02}.{second:02}.{third:02}",
                    f"{first:02}.{second:02}",
                )
    return Taxonomy("large", MappingProxyType(themes))


def _add(
    themes: dict[str, Theme], template: Theme, code: str, parent: str | None
) -> None:
    label = MappingProxyType({"": (f"Theme {code}",)})
    level = code.count(".") + 1
    themes[code] = replace(
        template, code=code, level=level, parent=parent, labels=label, children=()
    )


@lru_cache
def local() -> LocalEnricher:
    return LocalEnricher(taxonomy())


def desk(**rules: Any) -> Desk:
    rules = {"min_chars": 100} | rules
    return Desk(
        key="govbr",
        timezone="UTC",
        language="pt",
        first_day=DAY,
        agencies=(AGENCY,),
        enrich=EnrichRules(**rules),
    )


def made(number: int, text: str = TEXT, **given: Any) -> RawArticle:
    """Return an article of its own text."""
    values: dict[str, Any] = {
        "article_id": f"mec-{number:05}",
        "filter_reason": "",
        "desk": "govbr",
        "agency": "mec",
        "day": DAY,
        "title": TITLE,
        "text": text.replace("{n}", str(1000 + number)),
        "text_chars": len(text),
        "content_hash": f"hash {number} {text} {given}",
        "language": "pt-BR",
        "outcome": "ok",
        "duplicate_of": None,
        "duplicate_reason": None,
        "matter": "",
        "meeting_id": "",
    }
    return full(RawArticle, **values | given)


def honest(text: str) -> dict[str, Any]:
    """Answer as a model should: two sentences of the article, each with itself as its
    quote.
    """
    article = text.partition("\n\n")[2].rpartition("\n")[0]
    found = [
        one
        for one in re.split(r"(?<=[.!?])\s+", " ".join(article.split()))
        if len(one.split()) > 4
    ]
    quoted = [{"sentence": one, "quote": one} for one in found]
    return {
        "theme": "education",
        "summary": quoted[:1],
        "key_points": quoted[1:3],
        "keywords": ["bolsas", "Ministério da Educação"],
        "sentiment": {"label": "neutral", "score": 0.1},
        "article_type": "news",
    }


class ScriptedModel:
    """A model without a network, which answers as `answer` says and records what it was
    sent.

    It takes one request at a time and does not wait.
    """

    timeout_s = 60.0

    def __init__(
        self,
        answer: Callable[
            [str], dict[str, Any] | str | ModelAnswer | ModelCallError
        ] = honest,
        name: str = "openai:made",
        concurrency: int = 1,
    ) -> None:
        self.name = name
        self.answer = answer
        self.sent: list[ModelRequest] = []
        self.paused_s = 0.0
        self.is_down = False
        self._concurrency = concurrency

    def slots(self) -> int:
        return self._concurrency

    def send(self, request: ModelRequest) -> Future[ModelAnswer]:
        call: Future[ModelAnswer] = Future()
        self.sent.append(request)
        said = (
            ModelCallError(f"{self.name} is down", "fatal")
            if self.is_down
            else self.answer(request.text)
        )
        if isinstance(said, ModelCallError):
            call.set_exception(said)
        else:
            call.set_result(answered(said))
        return call

    def pause(self, seconds: float) -> None:
        self.paused_s += seconds


def answered(said: dict[str, Any] | str | ModelAnswer) -> ModelAnswer:
    """Return an answer that says this."""
    if isinstance(said, ModelAnswer):
        return said
    raw = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return ModelAnswer(
        raw=raw, input_tokens=100, output_tokens=10, cached_tokens=0, elapsed_ms=5
    )


def enricher(*models: LanguageModel, **given: Any) -> Enrichers:
    """Return an enricher that asks these models."""
    by_name = {model.name: model for model in models}
    values: dict[str, Any] = {
        "local": local(),
        "models": models,
        "open_model": by_name.__getitem__,
        "entities": "",
        "prompt": load_prompt("enrich"),
        "brief_prompt": load_prompt("enrich", depth="brief"),
        "full_prompt": load_prompt("enrich", depth="full"),
        "theme_prompt": load_prompt("theme"),
        "entities_prompt": load_prompt("entities"),
        "taxonomy": taxonomy(),
        "accepted_error": None,
        "sandbox": InlineSandbox(),
        "open_batches": open_batches,
        "has_batches": lambda _name: False,
    }
    return Enrichers(**values | given)


def served(name: str, **limits: Any) -> ConcurrentModel:
    """Return a model of a provider whose address and key the environment has."""
    found = replace(Limits(per_minute=0, timeout_s=5), **limits)
    return ConcurrentModel(
        name, partial(open_model, name, found.timeout_s, found.concurrency), found
    )


def enrich(
    lake: Lake,
    by: Enrichers,
    of: Desk | None = None,
    now: datetime = NOW,
    keys: AgencyDays = KEYS,
    clock: Callable[[], datetime] | None = None,
    **options: Any,
) -> int:
    """Run the stage over all articles of these agency-days."""
    stage = stage_named("enriched_articles")
    return enrich_batch(
        stage, lake, of or desk(), keys, clock or (lambda: now), enricher=by, **options
    )


LATER = NOW + timedelta(minutes=10)  # when a model that was given up is requested again


def rows(lake: Lake) -> dict[str, EnrichedArticle]:
    return {row.article_id: row for row in lake.read(EnrichedArticle)}
