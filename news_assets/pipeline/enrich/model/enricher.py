"""What enrichment by language models needs: the models in the order in which they are asked, prompts and taxonomy."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.model.budget import Budget, BudgetedModel
from news_assets.pipeline.enrich.model.candidates import candidates
from news_assets.pipeline.enrich.model.depth import depth_of
from news_assets.pipeline.enrich.model.prompt import Prompt
from news_assets.pipeline.enrich.model.requests import build_request, request_hash
from news_assets.ports.enrichment import BatchedModel, Enricher, LanguageModel, ModelRequest, PerDesk
from news_assets.ports.reading import Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.desks import DepthRules, Desk, EnrichRules
from news_assets.records.model_calls import BATCH
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.loader import Taxonomy


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEnricher:
    """The local enricher and the language models that follow it.

    Attributes:
        local: Finds language, length and readability of every text, and fills in where no model answers.
        models: Asked in order, each for what those before it gave no usable answer to; none if only entities are asked.
        open_model: Opens a model by its name, the same one at each call.
        entities: Name of the model that finds entities; empty for none.
        prompt: Of the enrichment.
        brief_prompt: Of the enrichment of agenda items that need one sentence.
        full_prompt: Of the enrichment of agenda items that need more than two.
        entities_prompt: Of the entities.
        taxonomy: Whose codes an answer may have.
        taxonomy_of: Returns the taxonomy of a desk, where desks have several.
        accepted_error: Where the local enricher is the first of the chain: the share of wrong themes that is accepted
            of it. None where it is not: then it only fills in.
        sandbox: Where texts and answers are read.
        open_batches: Opens the batches of a model by its name.
        has_batches: Whether backfills are sent to the model of this name in batches, where the desk file does not say.
        budget: What the models may still cost in this run.
    """

    local: Enricher
    models: tuple[LanguageModel, ...]
    open_model: Callable[[str], LanguageModel]
    entities: str
    prompt: Prompt
    brief_prompt: Prompt
    full_prompt: Prompt
    entities_prompt: Prompt
    taxonomy: Taxonomy
    accepted_error: float | None
    sandbox: Sandbox
    open_batches: Callable[[str], BatchedModel]
    has_batches: Callable[[str], bool]
    budget: Budget = field(default_factory=Budget)
    taxonomy_of: Callable[[Desk], Taxonomy] | None = None

    def for_desk(self, desk: Desk) -> Self:
        """Return the same with the taxonomy of a desk, and with its local enricher.

        Raises:
            NewsAssetsError: The taxonomy or the desk's classifier cannot be used.
        """
        local = self.local.for_desk(desk) if isinstance(self.local, PerDesk) else self.local
        return replace(self, local=local, taxonomy=self.taxonomy_of(desk) if self.taxonomy_of else self.taxonomy)

    def within_budget(self, clock: Callable[[], datetime], *, is_backfill: bool) -> Self:
        """Return the same with models that are asked as long as the budget lasts."""
        budget = self.budget.of_backfill() if is_backfill else self.budget
        return replace(
            self,
            models=tuple(BudgetedModel(model, budget, clock) for model in self.models),
            open_model=lambda name: BudgetedModel(self.open_model(name), budget, clock),
        )

    def entity_model(self, rules: EnrichRules) -> LanguageModel | None:
        """Return the model that finds the entities of a desk; None for no such call."""
        name = self.entities if rules.entities is None else rules.entities
        return self.open_model(name) if name not in ("", "none") else None

    def asks_models(self, rules: EnrichRules) -> bool:
        """Whether a model is asked for anything about a desk's articles."""
        return bool(self.models) or self.entity_model(rules) is not None

    def sends_batches(self, rules: EnrichRules, model: str, *, is_backfill: bool) -> bool:
        """Whether requests to a model are sent in batches."""
        return rules.via == BATCH or (rules.via is None and is_backfill and self.has_batches(model))

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of the enrichment."""
        return self.prompt, self.brief_prompt, self.full_prompt

    def by_prompt(self, articles: Iterable[RawArticle], rules: DepthRules) -> Iterator[tuple[Prompt, list[RawArticle]]]:
        """Yield the articles that each prompt of the enrichment is for: agenda items by their depth, news by one."""
        found = list(articles)
        items = [article for article in found if article.meeting_id]
        answers = self.sandbox.run(depth_of, [(item, rules) for item in items])
        depths = {
            item.article_id: answer[0]
            for item, answer in zip(items, answers, strict=True)
            if not isinstance(answer, NewsAssetsError)
        }
        for depth, prompt in (("usual", self.prompt), ("brief", self.brief_prompt), ("full", self.full_prompt)):
            if of_depth := [article for article in found if depths.get(article.article_id, "usual") == depth]:
                yield prompt, of_depth

    def request(self, article: RawArticle, local: Enrichment, model: str, prompt: Prompt) -> ModelRequest:
        """Return the request for an article's enrichment by a model, with one of `prompts`."""
        key = request_hash(article, model, prompt, self.taxonomy)
        return build_request(article, prompt, candidates(self.taxonomy, local), key)

    def entities_request(self, article: RawArticle, model: str) -> ModelRequest:
        """Return the request for an article's entities."""
        key = request_hash(article, model, self.entities_prompt, self.taxonomy)
        return build_request(article, self.entities_prompt, (), key)
