"""Sentences against the passages that they quote: what is refused, and what is only
marked.
"""

import pytest

from news_assets.pipeline.enrich.model.contradictions import Comparison, compared

PASSAGE = "Segundo Vaccari, os pagamentos a 126 alunos da UFPR começam em março, com aprovação do Congresso."
ARTICLE = f"{PASSAGE} Eles foram anunciados na terça-feira em Curitiba e custam R$ 1,2 milhão."


@pytest.mark.parametrize(
    ("sentence", "contradiction"),
    [
        ("Os pagamentos não começam em março.", "a negation: comecam"),
        ("Os pagamentos a 1260 alunos começam em março.", "the number 1260"),
        ("Os pagamentos começam em abril.", "the date abril"),
        (
            "Os pagamentos começam em março, disse Guilherme Wanderley.",
            "the name Guilherme",
        ),
        ("Os pagamentos custam R$ 12 milhões.", "the number 12 milhoes"),
        (
            "Os pagamentos começam em março, com rejeição do Congresso.",
            "rejeicao, against its evidence",
        ),
    ],
)
def test_what_the_article_cannot_mean_is_refused(
    sentence: str, contradiction: str
) -> None:
    assert compared(sentence, PASSAGE, ARTICLE).contradiction == contradiction


@pytest.mark.parametrize(
    ("sentence", "doubt"),
    [
        ("Os pagamentos começam em março, disse João Vaccari Neto.", "the name João"),
        ("Os alunos são da Universidade Federal do Paraná.", "the name Universidade"),
        ("Mais de 100 alunos recebem os pagamentos.", "the number 100"),
        ("Os alunos de três cursos recebem os pagamentos.", "the number tres"),
        ("Os pagamentos não demoram.", "a negation that its evidence puts otherwise"),
        ("Os pagamentos custam R$ 1,2 milhão.", "the number 1,2 milhao"),
    ],
)
def test_what_rephrasing_can_explain_is_only_marked(sentence: str, doubt: str) -> None:
    assert compared(sentence, PASSAGE, ARTICLE) == Comparison(doubt=doubt)


def test_a_passage_as_it_stands_is_neither() -> None:
    assert (
        compared(PASSAGE, f"{PASSAGE} O projeto não custa mais.", ARTICLE)
        == Comparison()
    )
