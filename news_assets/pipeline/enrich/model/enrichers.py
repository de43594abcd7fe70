"""What enrichment by language models needs: the models in their order, prompts and
taxonomy.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Self

from news_assets.errors import EnrichError, NewsAssetsError
from news_assets.pipeline.enrich.enriched_rows import MadeBy
from news_assets.pipeline.enrich.model.answer_checks import Question, read_answers
from news_assets.pipeline.enrich.model.ledger import Budget
from news_assets.pipeline.enrich.model.model_requests import (
    ENRICHER,
    AnswerRules,
    Prompt,
    build_request,
    depth_of,
    request_hash,
    themes_below,
)
from news_assets.ports.services import (
    BatchedModel,
    Enricher,
    LanguageModel,
    ModelAnswer,
    ModelRequest,
    Sandbox,
)
from news_assets.records.articles import RawArticle
from news_assets.records.desks import DepthRules, Desk, EnrichRules
from news_assets.records.model_calls import BATCH
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import Taxonomy, Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrichers:
    """The local enricher and the language models that follow it, if there are any.

    Attributes:
        local: Finds language, length and readability of every text, and fills in where
            no model answers.
        models: Requested in order, each for what those before it gave no usable answer
            to; none for entities only.
        open_model: Opens a model by its name, the same one at each call.
        entities: Name of the model that finds entities; empty for none.
        prompt: Of the enrichment.
        brief_prompt: Of the enrichment of agenda items that need one sentence.
        full_prompt: Of the enrichment of agenda items that need more than two.
        theme_prompt: Of the first call where the taxonomy is too large for one list.
        entities_prompt: Of the entities.
        taxonomy: Whose codes an answer may have.
        taxonomy_of: Returns the taxonomy of a desk, where desks have several.
        local_of: Returns the local enricher of a desk, where desks have several. Raises
            TaxonomyError, EnrichError, EmbedError.
        accepted_error: Where the local enricher is the first of the chain: the share of
            wrong themes that is accepted of it. None where it is not: then it only
            fills in.
        sandbox: Where texts and answers are read.
        open_batches: Opens the batches of a model by its name.
        has_batches: Whether backfills are sent to the model of this name in batches,
            where the desk file does not say.
        answer_rules: Length, effort and temperature of answers, where the desk file
            does not say.
        max_failures: Inputs in a row without an answer after which a model is given up.
        budget: What the models may still cost in this run.
    """

    local: Enricher
    models: tuple[LanguageModel, ...]
    open_model: Callable[[str], LanguageModel]
    entities: str
    prompt: Prompt
    brief_prompt: Prompt
    full_prompt: Prompt
    theme_prompt: Prompt
    entities_prompt: Prompt
    taxonomy: Taxonomy
    accepted_error: float | None
    sandbox: Sandbox
    open_batches: Callable[[str], BatchedModel]
    has_batches: Callable[[str], bool]
    answer_rules: AnswerRules = field(default_factory=AnswerRules)
    max_failures: int = 5
    budget: Budget = field(default_factory=Budget)
    taxonomy_of: Callable[[Desk], Taxonomy] | None = None
    local_of: Callable[[Desk], Enricher] | None = None

    def for_desk(self, desk: Desk) -> Self:
        """Return the same with the taxonomy of a desk, and with its local enricher.

        Raises:
            NewsAssetsError: The taxonomy or the desk's classifier cannot be used.
        """
        local = self.local_of(desk) if self.local_of else self.local
        taxonomy = self.taxonomy_of(desk) if self.taxonomy_of else self.taxonomy
        return replace(self, local=local, taxonomy=taxonomy)

    def entity_model(self, rules: EnrichRules) -> LanguageModel | None:
        """Return the model that finds the entities of a desk; None for no such call."""
        name = self.entities if rules.entities is None else rules.entities
        if name in ("", "none"):
            return None
        return self.open_model(name)

    def requests_models(self, rules: EnrichRules) -> bool:
        """Whether a model is requested for anything about a desk's articles."""
        if self.models:
            return True
        return self.entity_model(rules) is not None

    def sends_batches(
        self, rules: EnrichRules, model: str, *, is_backfill: bool
    ) -> bool:
        """Whether requests to a model are sent in batches."""
        if rules.via is not None:
            return rules.via == BATCH
        return is_backfill and self.has_batches(model)

    def read(
        self, answers: Sequence[tuple[Question, ModelAnswer]]
    ) -> list[Enrichment | EnrichError]:
        """Return the enrichment that each answer gives, or which check it failed."""
        return read_answers(answers, self.taxonomy, self.sandbox)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of the enrichment."""
        return self.prompt, self.brief_prompt, self.full_prompt

    def prompt_of_version(self, version: str) -> Prompt | None:
        """Return the prompt of any kind that has this version now."""
        for prompt in (*self.prompts, self.theme_prompt, self.entities_prompt):
            if prompt.version == version:
                return prompt
        return None

    def made_by(self, model: str, prompt: Prompt) -> MadeBy:
        """Return who makes the rows of answers of a model to one of `prompts`."""
        return MadeBy(ENRICHER, model, prompt.version, self.taxonomy.version)

    def identities(self) -> set[MadeBy]:
        """Return who may make the rows of answers."""
        found: set[MadeBy] = set()
        for model, prompt in product(self.models, self.prompts):
            found.add(self.made_by(model.name, prompt))
        return found

    def prompts_of(
        self, articles: Collection[RawArticle], rules: DepthRules
    ) -> dict[str, Prompt]:
        """Return the prompt for each article: for agenda items by their depth, for news
        one.
        """
        items = [article for article in articles if article.meeting_id]
        depths = self.sandbox.run(depth_of, [(item, rules) for item in items])
        by_depth = {"brief": self.brief_prompt, "full": self.full_prompt}
        prompts = {article.article_id: self.prompt for article in articles}
        for item, found in zip(items, depths, strict=True):
            if not isinstance(found, NewsAssetsError):
                prompts[item.article_id] = by_depth.get(found[0], self.prompt)
        return prompts

    def request(
        self,
        article: RawArticle,
        model: str,
        prompt: Prompt,
        branch: str | None,
        rules: EnrichRules,
    ) -> ModelRequest:
        """Return the request for an article that a prompt makes to a model.

        `branch` is the theme that a first call chose from a large taxonomy; None for
        that call itself.
        """
        themes: Sequence[Theme] = ()
        if prompt.kind != "entities":
            themes = themes_below(self.taxonomy, branch)
        key = request_hash(article, model, prompt, self.taxonomy)
        return build_request(article, prompt, themes, key, self._answer_rules(rules))

    def _answer_rules(self, rules: EnrichRules) -> AnswerRules:
        """Return the rules of a desk, which go before those of the settings."""
        usual = self.answer_rules
        return AnswerRules(
            max_tokens=rules.max_tokens or usual.max_tokens,
            reasoning=rules.reasoning or usual.reasoning,
            temperature=usual.temperature
            if rules.temperature is None
            else rules.temperature,
        )
