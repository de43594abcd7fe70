import pytest

from news_assets.text.plain import strip_markdown


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# Um\n\n- dois\n* três\n\n> quatro", "Um\n\ndois\ntrês\n\nquatro"),
        ("**um** e *dois* e `três` e ~~quatro~~", "um e dois e três e quatro"),
        ("[um](https://example.org/a_(b)) ![dois](x.png)", "um dois"),
        ("| a | b |\n|---|---|\n| c | d |", "a   b \n\nc   d"),
        ("um\n\n---\n\ndois", "um\n\ndois"),
        ("snake_case_name 2*3*4 #tag 1. - x", "snake_case_name 2*3*4 #tag 1. - x"),
    ],
)
def test_markdown_syntax_is_removed_and_the_words_stay(markdown: str, text: str) -> None:
    assert strip_markdown(markdown) == text
