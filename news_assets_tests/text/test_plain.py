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
def test_markdown_syntax_is_removed_and_the_words_stay(
    markdown: str, text: str
) -> None:
    assert strip_markdown(markdown) == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("**um *dois* três** e ***quatro***", "um dois três e quatro"),
        ("_um_ e __dois__ e _a_b_ e a_b_c e _c", "um e dois e a_b e a_b_c e _c"),
        ("``um`` ` dois ` * três * ~~~", "um ` dois ` * três * ~~~"),
        ("* * *\n- - -\n___\n| :-- | --- |\n--\n``` py\num", "--\n\num"),
    ],
)
def test_emphasis_is_removed_two_levels_deep_and_rules_whole(
    markdown: str, text: str
) -> None:
    assert strip_markdown(markdown) == text
