"""Containers of one article that are joined, and those of several articles that are
not.
"""

from lxml.html import HtmlElement, document_fromstring

from news_assets.pipeline.page.containers import join_containers

PARAGRAPH = "<p>A comissão de transporte ouviu moradores e publicou um relatório sobre a obra, a escola e a praça.</p>"


def container(paragraphs: int, name: str = "article__body") -> str:
    return f'<div class="{name}">{PARAGRAPH * paragraphs}</div>'


def joined(body: str) -> HtmlElement:
    tree = document_fromstring(f"<html><body><h1>Relatório</h1>{body}</body></html>")
    join_containers(tree)
    return tree


def counts(tree: HtmlElement) -> list[int]:
    return [
        len(element.findall("p"))
        for element in tree.iter("div")
        if "article__body" in (element.get("class") or "")
    ]


def test_an_article_around_an_advertisement_is_joined() -> None:
    tree = joined(
        f'<div>{container(3)}</div><div class="ad">Anúncio</div><div>{container(4)}</div>'
    )

    assert counts(tree) == [7, 0]


def test_the_next_article_below_its_headline_stays_apart() -> None:
    assert counts(joined(f"{container(3)}<h2>Outra notícia</h2>{container(4)}")) == [
        3,
        4,
    ]


def test_an_article_with_a_headline_in_its_container_stays_apart() -> None:
    other = f'<div class="article__body"><h1>Outra</h1>{PARAGRAPH * 3}</div>'

    assert counts(joined(f"{container(3)}{other}")) == [3, 3]


def test_teasers_of_one_paragraph_stay_apart() -> None:
    assert counts(joined(container(3) + container(1) * 4)) == [3, 1, 1, 1, 1]
