from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.articles.dedupe import KnownArticle, dedupe_stream, mark_duplicates
from news_assets.records import RawArticle

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
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


def article(key: str, *, url: str = "", text: str | None = "t1", minutes: int = 0, chars: int = 500) -> RawArticle:
    return RawArticle(
        article_id=key, desk="d", agency=key[0], day=date(2026, 3, 2), source_id="s", entry_id=key, entry_hash="h",
        url="u", canonical_url="u", url_hash=url or key, text_hash=text, title=None, subtitle=None,
        authors=(), section=None, category=None, tags=(), article_type=None, language=None,
        published_at=NOW + timedelta(minutes=minutes), updated_at=None, first_seen_at=NOW, fetched_at=NOW,
        image_url=None, video_url=None, text=text and "x" * chars, text_origin="page", text_chars=chars, word_count=9,
        out_links=(), outcome="ok" if text else "failed", reason=None, duplicate_of=None, rev_n=1, attempts=0,
        next_try_at=None, trace_id="t",
    )  # fmt: skip


def marks(rows: list[RawArticle], originals: list[KnownArticle] | None = None) -> dict[str, str | None]:
    return {row.article_id: row.duplicate_of for row in mark_duplicates(rows, originals or [])}


def test_of_two_new_articles_with_one_text_the_later_one_is_the_copy() -> None:
    assert marks([article("b", minutes=5), article("a", minutes=9)]) == {"b": None, "a": "b"}


def test_the_same_address_is_the_same_article_whatever_its_text() -> None:
    rows = [article("a", url="same", text="t1"), article("b", url="same", text="t2", minutes=1)]
    assert marks(rows) == {"a": None, "b": "a"}


def test_a_stored_article_is_the_original_even_of_one_that_was_published_earlier() -> None:
    assert marks([article("a", minutes=-90)], [KnownArticle("z", "zz", "t1")]) == {"a": "z"}


def test_a_copy_of_a_copy_points_to_the_original() -> None:
    known = [KnownArticle("y", "yy", "t1", "x"), KnownArticle("x", "xx", "t0", None)]
    assert marks([article("a")], known) == {"a": "x"}


def test_an_article_is_no_copy_of_itself() -> None:
    assert marks([article("a")], [KnownArticle("a", "a", "t1")]) == {"a": None}


def test_an_original_that_is_fetched_again_is_no_copy_of_its_copy() -> None:
    assert marks([article("a")], [KnownArticle("a", "a", "t1"), KnownArticle("b", "b", "t1", "a")]) == {"a": None}


def test_two_stored_articles_that_are_fetched_again_do_not_point_to_each_other() -> None:
    known = [KnownArticle("a", "a", "t1"), KnownArticle("b", "b", "t1")]
    assert marks([article("a"), article("b", minutes=1)], known) == {"a": None, "b": "a"}


def test_a_copy_whose_text_changes_loses_its_mark() -> None:
    row = replace(article("a", text="t2"), duplicate_of="b")
    assert marks([row], [KnownArticle("b", "b", "t1")]) == {"a": None}


def test_texts_too_short_to_tell_are_no_copies() -> None:
    assert marks([article("a", chars=99), article("b", chars=99, minutes=1)]) == {"a": None, "b": None}


def test_an_article_without_text_is_neither_copy_nor_original() -> None:
    rows = [article("a", url="same", text=None), article("b", url="same", minutes=1)]
    assert marks(rows) == {"a": None, "b": None}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(0, 9)), max_size=9))
def test_marks_point_to_originals_whatever_the_order(drawn: list[tuple[str, str, int]]) -> None:
    rows = [article(f"r{n}", url=url, text=text, minutes=at) for n, (url, text, at) in enumerate(drawn)]
    found = marks(rows)
    assert all(found[original] is None for original in found.values() if original)
    assert marks(rows[::-1]) == found


def found(*documents: dict[str, str | None]) -> list[tuple[str, str | None, str | None]]:
    return [(key, original, reason) for key, original, reason, _ in dedupe_stream(documents)]


def test_copies_by_address_text_and_near_text_are_found() -> None:
    assert found(
        {"id": "1", "url": "https://a.example/n/1", "text": f"{LEAD} {REST}"},
        {"id": "2", "url": "https://a.example/n/1?utm_source=x", "text": "Outro texto."},
        {"id": "3", "url": "https://b.example/n", "text": f"{LEAD}\n\n{REST}".upper()},
        {"id": "4", "url": "https://c.example/n", "text": f"Da agência. {LEAD} {REST} Com informações da rádio."},
        {"id": "5", "url": "https://d.example/n", "text": LEAD},
    ) == [
        ("1", None, None),
        ("2", "1", "same address"),
        ("3", "1", "same text"),
        ("4", "1", "nearly the same text"),
        ("5", "1", "nearly the same text"),
    ]


def test_a_follow_up_that_shares_the_background_is_a_story_of_its_own() -> None:
    follow_up = (
        "Os professores voltaram às salas de aula nesta quinta-feira em todo o interior, e os diretores das escolas "
        f"começaram a refazer o calendário para repor os dias perdidos, inclusive aos sábados. {REST} {REST[:120]}"
    )
    assert found({"id": "1", "text": f"{LEAD} {REST}"}, {"id": "2", "text": follow_up}) == [
        ("1", None, None),
        ("2", None, None),
    ]


def test_home_pages_and_missing_fields_make_no_copies() -> None:
    home = "https://a.example/"
    assert found({"id": "1", "url": home}, {"id": "2", "url": home}, {"id": "3"}, {"id": "4", "text": ""}) == [
        (key, None, None) for key in "1234"
    ]
