from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.fingerprint import article_id, normal_words, shingles, text_hash

LONG = "O ministério anunciou nesta terça-feira novas vagas em escolas técnicas de três estados do Nordeste."


@pytest.mark.parametrize(
    "copy",
    [
        LONG.upper(),
        LONG.replace("é", "e").replace("ç", "c").replace("ê", "e"),
        LONG.replace(" ", "\n\n  "),
        "**"
        + LONG.replace("novas vagas", "[novas vagas](https://example.org/vagas?a=1)")
        + "**",
        LONG.replace("é", "&amp;eacute;"),
        "“" + LONG.replace("-", "–") + "”",
    ],
)
def test_case_accents_spaces_markdown_and_escapes_do_not_change_the_hash(
    copy: str,
) -> None:
    assert text_hash(copy) == text_hash(LONG)


def test_another_number_changes_the_hash() -> None:
    assert text_hash("São 10 vagas abertas") != text_hash("São 12 vagas abertas")


@pytest.mark.parametrize("text", ["", "  \n", "… — !!!", "***"])
def test_a_text_without_words_has_no_fingerprint(text: str) -> None:
    assert (text_hash(text), shingles(normal_words(text))) == (None, frozenset())


def test_shingles_are_the_runs_of_four_words() -> None:
    assert shingles(["a", "b", "c", "d", "e"]) == {"a b c d", "b c d e"}
    assert shingles(["a", "b"]) == {"a b"}


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Ministério anuncia vagas", "ministerio-anuncia-vagas"),
        ("  “Já” às 10h!  ", "ja-as-10h"),
        (None, "untitled"),
        ("!!!", "untitled"),
        ("新闻发布会", "untitled"),
        ("Conselho " * 20, "-".join(["conselho"] * 9)),
        ("x" * 200, "x" * 80),
    ],
)
def test_an_article_id_holds_agency_day_title_and_url_hash(
    title: str | None, slug: str
) -> None:
    assert (
        article_id("mec", date(2026, 2, 27), title, "1a2b3c4d5e6f")
        == f"mec-2026-02-27-{slug}-1a2b3c4d5e"
    )


@given(st.text())
def test_an_article_id_is_ascii_without_spaces_for_any_title(title: str) -> None:
    made = article_id("mec", date(2026, 2, 27), title, "0" * 64)
    assert made.isascii()
    assert not any(character.isspace() for character in made)
    assert len(made) <= len("mec-2026-02-27-") + 80 + 11
