import pytest

from news_assets.pipeline.page.body_text import trimmed
from news_assets.pipeline.page.extract import extract
from news_assets.pipeline.page.markdown import Block
from news_assets_tests.pipeline.page.samples import BODY, FIRST, ZONE, html, page


def test_prompts_to_the_reader_are_left_out() -> None:
    notes = "<p>Leia também: Outra notícia do dia</p>"
    end = "<p>Compartilhe esta notícia com os amigos</p><h3>Comentários</h3>"
    text = extract(
        page(
            html(
                BODY.replace("</p><p>", f"</p>{notes}<p>").replace(
                    "</article>", f"{end}</article>"
                )
            )
        ),
        ZONE,
    )
    assert (text.text or "").count("\n\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        "Hospital regional, em Picos — Foto: Ana Lima/Jornal",
        "(crédito: Rui Melo / Agência)",
        "📲 Confira as últimas notícias da região",
    ],
)
def test_captions_with_a_credit_and_prompts_after_a_pictogram_are_left_out(
    line: str,
) -> None:
    text = (
        extract(page(html(BODY.replace("</p><p>", f"</p><p>{line}</p><p>"))), ZONE).text
        or ""
    )
    assert line not in text
    assert text.count("\n\n") == 1


def test_text_above_a_heading_like_the_title_is_not_cut() -> None:
    title = "<h1>Escolas técnicas recebem R$ 10 milhões</h1>"
    body = BODY.replace(title, "").replace(
        "<article>", f"<article><p>{FIRST * 2}</p>{title}"
    )
    head = "<title>Escolas técnicas recebem R$ 10 milhões</title>"
    assert FIRST in (extract(page(html(body, head)), ZONE).text or "")


def blocks_of(texts: list[str]) -> list[Block]:
    return [Block("paragraph", text) for text in texts]


TEASER = "A prefeitura anunciou nesta semana que a obra da ponte vai custar dez milhões e que o prazo foi adiado ..."


def test_teasers_of_other_articles_are_cut_also_where_they_are_most_of_the_text() -> (
    None
):
    article = blocks_of([FIRST, FIRST])

    assert (
        trimmed(
            [
                *article,
                *blocks_of([TEASER * 2, TEASER, "Leia na íntegra", TEASER, TEASER]),
            ],
            [],
            None,
        )
        == article
    )


def test_paragraphs_that_break_off_within_an_article_stay() -> None:
    blocks = blocks_of([FIRST, TEASER, FIRST, TEASER, FIRST, TEASER, FIRST])

    assert trimmed(blocks, [], None) == blocks
