"""The themes that a model may choose from: the whole taxonomy, or a branch that a first
call chooses.
"""

import json
from pathlib import Path
from typing import Any

from news_assets.pipeline.enrich.model.themes import (
    MAX_LIST_CHARS,
    is_descended,
    list_text,
    themes_below,
    upper_themes,
)
from news_assets.ports.services import ModelAnswer, ModelRequest
from news_assets.records.model_calls import ModelCall
from news_assets.store.lake import Lake
from news_assets.taxonomy.taxonomy_files import load_taxonomy
from news_assets_tests.store.examples import upsert
from news_assets_tests.support.model_enrichment import (
    ScriptedModel,
    enrich,
    enricher,
    honest,
    large_tree,
    made,
    rows,
)


class Choosing(ScriptedModel):
    """A model that chooses the most specific of the codes that lead to its theme."""

    def __init__(self, theme: str) -> None:
        super().__init__()
        self._theme = theme

    def send(self, request: ModelRequest) -> Any:
        offered = request.schema["properties"]["theme"]["anyOf"][0]["enum"]
        leading = [code for code in offered if self._theme.startswith(code)]
        self.answer = lambda text: ModelAnswer(
            raw=json.dumps(honest(text) | {"theme": max(leading, key=len)}),
            input_tokens=1,
            output_tokens=1,
            cached_tokens=0,
            elapsed_ms=1,
        )
        return super().send(request)


def test_every_theme_of_a_tree_of_588_is_offered_for_each_article(shared: Path) -> None:
    tree = load_taxonomy(
        shared / "corpus/themes_govbr/common/themes_tree_enriched_full.yaml"
    )
    offered = themes_below(tree, None)
    assert [theme.code for theme in offered] == list(tree.themes)
    assert not is_descended(tree)
    assert len(list_text(offered)) <= MAX_LIST_CHARS


def test_instructions_are_the_same_for_all_articles_and_the_article_comes_after_them(
    lake: Lake,
) -> None:
    upsert(lake, [made(1), made(2)])
    model = ScriptedModel()
    enrich(lake, enricher(model))
    first, second = model.sent
    assert (first.instructions, first.schema) == (second.instructions, second.schema)
    assert "Themes:" in first.instructions
    assert first.text != second.text


def test_a_large_tree_is_descended_in_two_calls(lake: Lake) -> None:
    upsert(lake, [made(1)])
    model = Choosing("07.13.04")
    enrich(lake, enricher(model, taxonomy=large_tree()))
    assert [request.kind for request in model.sent] == ["theme", "enrich"]
    assert rows(lake)["mec-00001"].theme_code == "07.13.04"
    assert {call.kind for call in lake.read(ModelCall)} == {"theme", "enrich"}


def test_a_list_of_a_large_tree_keeps_its_limit() -> None:
    tree = large_tree()
    assert is_descended(tree)
    assert {theme.level for theme in upper_themes(tree)} == {1, 2}
    for themes in (
        upper_themes(tree),
        themes_below(tree, "03"),
        themes_below(tree, "03.04"),
    ):
        assert 0 < len(list_text(themes)) <= MAX_LIST_CHARS
