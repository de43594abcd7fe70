from news_assets.pipeline.page.extract import extract
from news_assets_tests.pipeline.page.samples import BODY, ZONE, html, page


def test_prompts_to_the_reader_are_left_out() -> None:
    notes = "<p>Leia também: Outra notícia do dia</p>"
    end = "<p>Compartilhe esta notícia com os amigos</p><h3>Comentários</h3>"
    text = extract(
        page(html(BODY.replace("</p><p>", f"</p>{notes}<p>").replace("</article>", f"{end}</article>"))), ZONE
    )
    assert (text.text or "").count("\n\n") == 1
