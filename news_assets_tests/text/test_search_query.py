import pytest

from news_assets.text.search_query import MAX_WORDS, ParsedQuery, parse_query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O governo do Brasil", ParsedQuery(("governo", "brasil"))),
        ("o que é", ParsedQuery(("o", "que", "é"))),
        ('"Ensino Superior" já', ParsedQuery(("ensino", "superior"), (("ensino", "superior"),))),
        ("vacina -idosos -\"duas doses\"", ParsedQuery(("vacina",), (), ("idosos", "duas", "doses"))),
        ("guarda-chuva", ParsedQuery(("guarda", "chuva"))),
        ('vacina "aberta', ParsedQuery(("vacina", "aberta"))),
        ('"uma"', ParsedQuery(("uma",))),
        ("vacina vacina", ParsedQuery(("vacina",))),
        ("-", ParsedQuery(())),
        ("", ParsedQuery(())),
    ],
)  # fmt: skip
def test_words_phrases_and_exclusions_are_parsed(
    text: str, expected: ParsedQuery
) -> None:
    assert parse_query(text, ("pt-BR",)) == expected


def test_a_pasted_article_is_cut_to_its_first_words() -> None:
    assert (
        len(parse_query(" ".join(f"palavra{n}" for n in range(5_000)), ()).words)
        == MAX_WORDS
    )
