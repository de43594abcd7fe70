from typing import Any

import pytest

from news_assets_tests.sources.plone.search_answers import API, SITE, content_of, slate


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ({"text": {"data": "<p>Rico</p>", "content-type": "text/html"}}, "<p>Rico</p>"),
        ({"text": None, "blocks": {}}, None),
        (
            {"blocks": {"1": {"@type": "text", "text": {"blocks": [
                {"type": "header-two", "text": "Título"}, {"type": "unstyled", "text": "a < b"}, {"text": " "}]}}}},
            "<h2>Título</h2><p>a &lt; b</p>",
        ),
        (
            {"blocks": {"1": {"@type": "gridBlock", "blocks": {"2": slate({"type": "p", "children": [
                {"text": "dentro"}]})}, "blocks_layout": {"items": ["2"]}}}},
            "<p>dentro</p>",
        ),
        (
            {"blocks": {"1": {"@type": "accordion", "data": {"blocks": {"2": slate({"type": "h2", "children": [
                {"text": "forte", "bold": True}]})}}}}},
            "<h2><strong>forte</strong></h2>",
        ),
        (
            {"blocks": {"1": {"@type": "image", "url": f"{API}/foto", "alt": 'a "b"'}}},
            f'<img src="{SITE}/foto" alt="a &quot;b&quot;">',
        ),
        (
            {"blocks": {"1": {"@type": "slateTable", "table": {"rows": [{"cells": [
                {"value": [{"type": "p", "children": [{"text": "1"}]}]}]}]}}}},
            "<table><tbody><tr><td><p>1</p></td></tr></tbody></table>",
        ),
        ({"blocks": {"1": slate({"type": "script", "children": [{"text": "<script>x</script>"}]})}},
         "&lt;script&gt;x&lt;/script&gt;"),
        ({"blocks": {"1": slate({"type": "link", "data": {"url": "javascript:x()"}, "children": [{"text": "a"}]})}},
         '<a rel="noopener noreferrer">a</a>'),
        ({"blocks": [1], "blocks_layout": "x"}, None),
        ({"blocks": {"1": {"@type": ["slate"]}, "2": 7, "3": slate(), "4": {"@type": "text", "text": "x"}}}, None),
    ],
)  # fmt: skip
def test_the_text_is_that_of_blocks_or_rich_text(
    said: dict[str, Any], content: str | None
) -> None:
    assert content_of(**said) == content


def test_nested_blocks_that_are_listed_many_times_are_read_once() -> None:
    block: dict[str, Any] = slate({"text": "fundo"})
    for _ in range(
        30
    ):  # nine times as many readings for each level, if every listing counted
        block = {
            "@type": "gridBlock",
            "blocks": {"1": block},
            "blocks_layout": {"items": ["1"] * 9},
        }
    assert content_of(blocks={"1": block}) == "fundo"


def test_what_is_nested_too_deeply_is_left_out() -> None:
    node: dict[str, Any] = {"text": "fundo"}
    for _ in range(300):
        node = {"type": "p", "children": [node]}
    assert "fundo" not in str(content_of(blocks={"1": slate(node)}))
