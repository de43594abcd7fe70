from dataclasses import replace
from pathlib import Path

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.ports.search_index import SearchQuery
from news_assets_tests.clients.search.contract.examples import document


def test_a_long_text_is_cut_to_a_snippet_around_the_match(tmp_path: Path) -> None:
    with SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        text = "palavra " * 200 + "a vacinação chegou ao posto " + "outra " * 200
        index.upsert(
            [
                document(1, "Nota", text),
                replace(document(2, "Vacina", "outro assunto " * 60)),
            ]
        )
        snippets = [
            hit.snippet
            for hit in index.search(SearchQuery(text="vacina", mode="keyword")).hits
        ]
        assert all(150 < len(one) < 320 for one in snippets)
        assert sum("<mark>vacinação</mark>" in one for one in snippets) == 1
