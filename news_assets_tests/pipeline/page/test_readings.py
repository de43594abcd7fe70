"""Which reading of a page becomes the article's text."""

import json

import pytest
from lxml.html import HtmlElement, document_fromstring

from news_assets.pipeline.page.body_text import (
    best_reading,
    join_containers,
    long_texts,
    trimmed,
)
from news_assets.pipeline.page.extract import extract, page_tree
from news_assets.pipeline.page.markdown import Block, markdown_of
from news_assets_tests.pipeline.page.samples import ZONE, html, page

TITLE = "Câmara aprova novo plano de transporte da cidade"
NAMES = (
    "ponte",
    "escola",
    "praça",
    "linha",
    "garagem",
    "rua",
    "estação",
    "oficina",
    "terminal",
    "viaduto",
    "bairro",
)
PARAGRAPHS = [
    f"A obra da {name} número {n} custará {n * 7 + 3} milhões de reais e deve ficar pronta em {2026 + n}, segundo o "
    f"relatório que a comissão de transporte publicou no dia {n + 2} depois de ouvir moradores."
    for n, name in enumerate(NAMES)
]
AUTHOR = (
    "Ana Lima escreve sobre cidades há vinte anos. Formada em jornalismo, passou por três redações e ganhou dois "
    "prêmios de reportagem. Mora no centro, anda de ônibus e coleciona mapas antigos de linhas de bonde."
)


def blocks(texts: list[str]) -> list[Block]:
    return [Block("paragraph", text) for text in texts]


def choose(default: list[str], recall: list[str], long: list[str]) -> list[str]:
    readings = {"default": blocks(default), "recall": blocks(recall)}
    return [block.markdown for block in best_reading(lambda mode: readings[mode], long)]


@pytest.mark.parametrize(
    "part", [[PARAGRAPHS[2][:200]], []], ids=["a sentence", "nothing"]
)
def test_a_short_text_gives_way_to_a_longer_one_that_holds_it(part: list[str]) -> None:
    assert choose(part, PARAGRAPHS, PARAGRAPHS) == PARAGRAPHS


def test_sections_left_out_in_the_middle_are_read_again() -> None:
    partial = [*PARAGRAPHS[:3], *PARAGRAPHS[7:]]
    assert choose(partial, PARAGRAPHS, PARAGRAPHS) == PARAGRAPHS


def test_a_longer_text_without_the_first_one_is_not_taken() -> None:
    partial = [*PARAGRAPHS[:3], *PARAGRAPHS[7:]]
    menus = [
        f"Página {n} de notícias da cidade e da região, com tudo o que acontece no bairro {n}"
        for n in range(90)
    ]
    assert choose(partial, menus, PARAGRAPHS) == partial


def test_texts_above_and_below_the_article_are_no_reason_to_read_again() -> None:
    article = PARAGRAPHS[2:8]
    assert choose(article, PARAGRAPHS, PARAGRAPHS) == article


def test_a_script_in_a_frame_that_is_not_closed_is_no_text() -> None:
    script = "var a = 'a long line of a script that a parser takes for text, as nothing closes the frame above it';"
    tree = page_tree(
        page(html(f"<noscript><iframe src='x'>{script}</noscript><p>{AUTHOR}</p>"))
    )
    assert tree is not None
    assert not any("var a" in text for text in long_texts(tree))


def test_a_page_with_an_authors_box_yields_the_whole_article() -> None:
    article = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
    box = "".join(f"<p>{AUTHOR[start:]}</p>" for start in (0, 20, 40))
    body = f'<h1>{TITLE}</h1><div class="widget">{article}</div><div class="entry-content">{box}</div>'
    text = extract(page(html(body)), ZONE).text or ""
    assert [one for one in PARAGRAPHS if one not in text] == []


def test_a_stated_body_that_is_a_teaser_does_not_cut_the_article() -> None:
    stated = json.dumps(
        {
            "@type": "NewsArticle",
            "headline": TITLE,
            "articleBody": " ".join(PARAGRAPHS[:5]),
        }
    )
    body = f"<article><h1>{TITLE}</h1>{''.join(f'<p>{text}</p>' for text in PARAGRAPHS)}</article>"
    text = extract(
        page(html(body, f'<script type="application/ld+json">{stated}</script>')), ZONE
    ).text
    assert text == "\n\n".join(PARAGRAPHS)


def test_a_stated_body_cuts_the_blocks_below_it() -> None:
    other = "Outra notícia do dia fala da greve dos professores, que entra na segunda semana sem acordo com o governo."
    assert trimmed(
        blocks([*PARAGRAPHS, other]), [TITLE], "\n".join(PARAGRAPHS)
    ) == blocks(PARAGRAPHS)


def test_a_stated_body_replaces_another_text_unless_it_is_shorter() -> None:
    wrong = [
        f"Leitor {n} comenta que o preço da passagem subiu {n} vezes sem explicação nenhuma."
        for n in range(60)
    ]
    stated = "\n".join(PARAGRAPHS)
    assert trimmed(blocks(wrong[:15]), [TITLE], stated) == blocks(PARAGRAPHS)
    assert markdown_of(trimmed(blocks(wrong), [TITLE], stated)) == markdown_of(
        blocks(wrong)
    )


# --- test containers ---

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
