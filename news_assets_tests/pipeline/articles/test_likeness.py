import json
import os
import subprocess
import sys

import pytest

from news_assets.pipeline.articles.likeness import dedupe_stream

LEAD = (
    "O governo do estado anunciou nesta segunda-feira a contratação de 300 professores para as escolas da rede pública "
    "do interior, depois de uma greve de duas semanas que parou as aulas em quarenta cidades, segundo a secretaria de "
    "Educação, que promete convocar os aprovados no concurso até o fim do mês que vem e pagar os salários atrasados."
)
REST = (
    "A greve começou em fevereiro, quando o sindicato recusou a proposta de reajuste apresentada pela secretaria. "
    "Desde então houve três reuniões sem acordo, uma passeata no centro da capital e uma decisão da Justiça que mandou "
    "manter metade dos professores em sala de aula, sob pena de multa diária ao sindicato da categoria."
)


def found(
    *documents: dict[str, str | None],
) -> list[tuple[str, str | None, str | None]]:
    return [
        (key, original, reason) for key, original, reason, _ in dedupe_stream(documents)
    ]


def test_copies_are_found_by_url_text_and_similar_text() -> None:
    assert found(
        {"id": "1", "url": "https://a.example/n/1", "text": f"{LEAD} {REST}"},
        {
            "id": "2",
            "url": "https://a.example/n/1?utm_source=x",
            "text": "Outro texto.",
        },
        {"id": "3", "url": "https://b.example/n", "text": f"{LEAD}\n\n{REST}".upper()},
        {
            "id": "4",
            "url": "https://c.example/n",
            "text": f"Da agência. {LEAD} {REST} Com informações da rádio.",
        },
        {"id": "5", "url": "https://d.example/n", "text": LEAD},
    ) == [
        ("1", None, None),
        ("2", "1", "same address"),
        ("3", "1", "same text"),
        ("4", "1", "nearly the same text"),
        ("5", "1", "nearly the same text"),
    ]


def test_a_follow_up_that_shares_the_background_is_not_a_duplicate() -> None:
    follow_up = (
        "Os professores voltaram às salas de aula nesta quinta-feira em todo o interior, e os diretores das escolas "
        f"começaram a refazer o calendário para repor os dias perdidos, inclusive aos sábados. {REST} {REST[:120]}"
    )
    assert found(
        {"id": "1", "text": f"{LEAD} {REST}"}, {"id": "2", "text": follow_up}
    ) == [
        ("1", None, None),
        ("2", None, None),
    ]


@pytest.mark.parametrize(("background_words", "original"), [(15, "1"), (90, None)])
def test_a_lead_with_other_words_is_a_copy_in_a_short_text_and_a_follow_up_in_a_long_one(
    background_words: int, original: str | None
) -> None:
    lead = [f"lead{n}" for n in range(60)]
    edited = [f"other{n}" if n % 9 == 4 else word for n, word in enumerate(lead)]
    background = [f"background{n}" for n in range(background_words)]
    first, second = " ".join(lead + background), " ".join(edited + background)
    [_, (_, duplicate_of, _)] = found(
        {"id": "1", "text": first}, {"id": "2", "text": second}
    )
    assert duplicate_of == original


def test_home_pages_and_missing_fields_match_nothing() -> None:
    home = "https://a.example/"
    assert found(
        {"id": "1", "url": home},
        {"id": "2", "url": home},
        {"id": "3"},
        {"id": "4", "text": ""},
    ) == [(key, None, None) for key in "1234"]


_COMPARE = """
import json, sys
from news_assets.pipeline.articles.likeness import dedupe_stream
print(json.dumps(list(dedupe_stream(json.load(sys.stdin)))))
"""


def test_every_process_finds_the_same_near_duplicates() -> None:
    documents = []
    # rotated texts: the leads share a fifth of their shingles, which MinHash finds or
    # misses
    for number in range(20):
        words = [f"word{number}x{position}" for position in range(120)]
        documents += [{"id": f"a{number}", "text": " ".join(words)}]
        documents += [{"id": f"b{number}", "text": " ".join(words[40:] + words[:40])}]

    first, second = (
        subprocess.run(
            [sys.executable, "-c", _COMPARE],
            input=json.dumps(documents),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    assert "nearly the same text" in first
