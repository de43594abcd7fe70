"""What several publishers of a story say, and what only one says."""

from news_assets.pipeline.stories.statements import ArticleText, statements_of

FIRST = """# Fire

A fire destroyed 12 houses in Vila Serena on Monday night, said Mayor Ana Prado.

Nobody was hurt. The cause is not known yet, according to the fire brigade of the town.

The families sleep in the gymnasium of the João Braga school until further notice.
"""
SECOND = """Mayor Ana Prado said a fire had destroyed 15 houses in Vila Serena on Monday.

The regional governor Rui Sá promised new homes before the end of March.
"""
THIRD = "A fire in Vila Serena destroyed houses, Mayor Ana Prado said on Monday night."


def _article(publisher: str, text: str, language: str = "en") -> ArticleText:
    return ArticleText(f"{publisher}-1", f"d/{publisher}", language, text)


def test_sentences_that_several_publishers_have_stand_together_with_their_sources() -> (
    None
):
    articles = [_article("a", FIRST), _article("b", SECOND), _article("c", THIRD)]

    [statement] = statements_of(articles).shared

    said = [statement.sentence, *statement.others]
    assert sorted(one.publisher for one in said) == ["d/a", "d/b", "d/c"]
    assert all("Ana Prado" in one.text for one in said)
    assert sorted(one.article_id for one in said) == ["a-1", "b-1", "c-1"]


def test_a_statement_says_where_the_numbers_differ() -> None:
    differing = statements_of([_article("a", FIRST), _article("b", SECOND)])
    equal = statements_of([_article("a", FIRST), _article("b", FIRST)])

    assert [one.has_other_numbers for one in differing.shared] == [True]
    assert not any(one.has_other_numbers for one in equal.shared)


def test_a_sentence_with_a_fact_that_no_other_publisher_has_is_named() -> None:
    alone = statements_of([_article("a", FIRST), _article("b", SECOND)]).alone

    assert [one.text.split()[1] for one in alone] == ["families", "regional"]


def test_no_sentence_is_alone_where_nobody_else_writes_in_the_language() -> None:
    found = statements_of([_article("a", FIRST), _article("b", SECOND, "pt")])

    assert (found.shared, found.alone) == ([], [])
    assert statements_of([]).shared == ()
