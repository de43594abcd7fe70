import hashlib
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.text.fingerprint import article_id, jaccard, minhash, minhash_similarity, shingles, text_hash

LONG = "O ministério anunciou nesta terça-feira novas vagas em escolas técnicas de três estados do Nordeste."


@pytest.mark.parametrize(
    "copy",
    [
        LONG.upper(),
        LONG.replace("é", "e").replace("ç", "c").replace("ê", "e"),
        LONG.replace(" ", "\n\n  "),
        "**" + LONG.replace("novas vagas", "[novas vagas](https://example.org/vagas?a=1)") + "**",
        LONG.replace("é", "&amp;eacute;"),
        "“" + LONG.replace("-", "–") + "”",
    ],
)
def test_case_accents_spaces_marks_and_escapes_do_not_make_another_text(copy: str) -> None:
    assert text_hash(copy) == text_hash(LONG)


def test_another_number_is_another_text() -> None:
    assert text_hash("São 10 vagas abertas") != text_hash("São 12 vagas abertas")


@pytest.mark.parametrize("text", ["", "  \n", "… — !!!", "***"])
def test_a_text_without_words_has_no_fingerprint(text: str) -> None:
    assert (text_hash(text), minhash(text), shingles(text)) == (None, None, frozenset())


def test_the_signature_is_the_same_in_every_process() -> None:
    assert hashlib.sha256(minhash("um dois tres quatro cinco seis") or b"").hexdigest()[:16] == "906f58fcfbd4f3d2"


@given(st.text(), st.text())
def test_similarities_lie_between_none_and_all_and_do_not_depend_on_the_order(one: str, other: str) -> None:
    assert jaccard(one, other) == jaccard(other, one)
    assert 0.0 <= jaccard(one, other) <= 1.0
    first, second = minhash(one), minhash(other)
    if first and second:
        assert 0.0 <= minhash_similarity(first, second) <= 1.0


def test_the_estimate_is_near_the_exact_similarity() -> None:
    words = [f"palavra{number}" for number in range(300)]
    one, other = " ".join(words[:250]), " ".join(words[50:])
    exact = jaccard(one, other)
    estimate = minhash_similarity(minhash(one) or b"", minhash(other) or b"")
    assert abs(estimate - exact) < 0.2


def test_signatures_of_two_sizes_are_not_compared() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        minhash_similarity(b"1234", b"12345678")


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
def test_an_article_id_reads_as_agency_day_title_and_address(title: str | None, slug: str) -> None:
    assert article_id("mec", date(2026, 2, 27), title, "1a2b3c4d5e6f") == f"mec-2026-02-27-{slug}-1a2b3c4d5e"


@given(st.text())
def test_an_article_id_is_ascii_without_spaces_for_any_title(title: str) -> None:
    made = article_id("mec", date(2026, 2, 27), title, "0" * 64)
    assert made.isascii()
    assert not any(character.isspace() for character in made)
    assert len(made) <= len("mec-2026-02-27-") + 80 + 11
