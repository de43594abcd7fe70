import pytest

from news_assets.pipeline.page.extract import extract
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
