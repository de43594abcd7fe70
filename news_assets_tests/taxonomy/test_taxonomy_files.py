"""Loading taxonomy files, and reporting all their mistakes at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from news_assets.errors import MAX_MISTAKES, TaxonomyError
from news_assets.taxonomy import (
    BUILT_IN,
    CIVIC_TOPICS,
    Theme,
    lender_of,
    load_taxonomy,
    taxonomy_file,
)
from news_assets.text.words import stopwords, words
from news_assets_tests.desks.test_yaml_nodes import BOMBS
from news_assets_tests.support.council_room import desk_of
from news_assets_tests.support.model_enrichment import desk

SAMPLE = """
themes:
- code: 01
  label: {pt: Saúde, en: Health}
  keywords: {pt: [vacina], en: [vaccine]}
  children:
  - code: 01.10
    label: Hospitals
    keywords: [hospital]
    excludes: [private clinics (see Economy)]
- code: '07'
  label: Transport
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "themes.yaml"
    path.write_text(SAMPLE, encoding="utf-8")
    return path


def mistakes_of(path: Path, text: str) -> list[str]:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TaxonomyError) as caught:
        load_taxonomy(path)
    return str(caught.value).splitlines()


def test_a_theme_is_read_with_its_code_as_written(file: Path) -> None:
    taxonomy = load_taxonomy(file)

    assert tuple(taxonomy.themes) == ("01", "01.10", "07")
    assert taxonomy.themes["01.10"] == Theme(
        code="01.10",
        level=2,
        parent="01",
        labels={"": ("Hospitals",)},
        descriptions={},
        keywords={"": ("hospital",)},
        hints={},
        includes={},
        excludes={"": ("private clinics (see Economy)",)},
        examples={},
        children=(),
    )


def test_paths_roots_and_labels_follow_the_tree(file: Path) -> None:
    taxonomy = load_taxonomy(file)

    assert (taxonomy.roots, taxonomy.path("01.10")) == (("01", "07"), ("01", "01.10"))
    assert [
        taxonomy.themes["01"].label(language) for language in ("pt", "en", "de", None)
    ] == [
        "Saúde",
        "Health",
        "Saúde",
        "Saúde",
    ]


def test_the_version_depends_on_content_and_not_layout(file: Path) -> None:
    version = load_taxonomy(file).version

    file.write_text("# a comment\n" + SAMPLE, encoding="utf-8")
    assert load_taxonomy(file).version == version
    file.write_text(SAMPLE.replace("vaccine", "vaccines"), encoding="utf-8")
    assert load_taxonomy(file).version != version


def test_all_mistakes_are_reported_with_line_and_fix(tmp_path: Path) -> None:
    text = """themes:
- code: a
  label: First
  keyword: [x]
- code: a
  label: Second
- label: No code
- code: d
  keywords: word
- just text
- code: e
  label: {pt: Cidades, moradia e água, en: Cities}
"""
    assert mistakes_of(tmp_path / "t.yaml", text) == [
        "t.yaml:4: unknown key `keyword`; did you mean `keywords`?",
        "t.yaml:5: code a is already used in line 2; give every theme its own",
        "t.yaml:7: a theme has no code; add `code:`",
        "t.yaml:9: `keywords` takes a list; write `keywords: [first, second]`",
        "t.yaml:8: theme d has no label; add `label:`",
        "t.yaml:10: a theme that is not a mapping; write `code:` and `label:`",
        "t.yaml:12: `moradia e água` under `label` is not a language with a text; quote a text that contains a comma",
    ]


def test_a_fourth_level_is_a_mistake(tmp_path: Path) -> None:
    text = "- {code: a, label: A, children: [{code: b, label: B, children: [{code: c, label: C, children: [{code: d}]}]}]}"

    assert mistakes_of(tmp_path / "t.yaml", text) == [
        "t.yaml:1: a theme at level 4; keep to 3 levels"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no themes"),
        ("themes: []", "no themes"),
        ("themes: [", "not YAML"),
        ("a: &a [*a]\nthemes: 3", "an alias"),
        ("themes:\n- code: a\n  label: \x01", "not YAML"),
    ],
)
def test_a_file_without_themes_is_one_line(
    tmp_path: Path, text: str, reason: str
) -> None:
    lines = mistakes_of(tmp_path / "t.yaml", text)

    assert len(lines) == 1
    assert lines[0].startswith("t.yaml")
    assert reason in lines[0]


def test_an_unreadable_file_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("themes: saúde".encode("latin-1"))

    with pytest.raises(TaxonomyError, match="cannot be read"):
        load_taxonomy(tmp_path / "none.yaml")
    with pytest.raises(TaxonomyError, match="not UTF-8"):
        load_taxonomy(tmp_path / "latin.yaml")


def test_every_built_in_theme_has_both_languages() -> None:
    taxonomy = load_taxonomy()

    assert [
        theme.code
        for theme in taxonomy.themes.values()
        if set(theme.labels) != {"pt", "en"}
    ] == []
    assert [
        theme.code
        for theme in taxonomy.themes.values()
        if set(theme.keywords) - {"pt", "en"}
    ] == []


def test_every_built_in_phrase_keeps_two_words_without_stop_words() -> None:
    dead = [
        (theme.code, keyword)
        for theme in load_taxonomy().themes.values()
        for by_language in (theme.keywords, theme.hints)
        for language, keywords in by_language.items()
        for keyword in keywords
        if len(found := words(keyword)) != 1
        and sum(
            (len(word) > 1 or word.isdigit()) and word not in stopwords(language)
            for word in found
        )
        < 2
    ]

    assert dead == []


def test_the_theme_tree_of_gov_br_is_accepted(shared: Path) -> None:
    taxonomy = load_taxonomy(
        shared / "corpus/themes_govbr/common/themes_tree_enriched_full.yaml"
    )

    assert (len(taxonomy.themes), len(taxonomy.roots)) == (588, 23)
    assert taxonomy.path("01.02.03") == ("01", "01.02", "01.02.03")


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_one_error_with_its_line(tmp_path: Path, name: str) -> None:
    text, line, problem = BOMBS[name]
    (mistake,) = mistakes_of(tmp_path / "t.yaml", text)
    assert mistake.startswith(f"t.yaml:{line}: {problem}")


def test_thousands_of_mistakes_are_a_short_list(tmp_path: Path) -> None:
    assert (
        len(mistakes_of(tmp_path / "t.yaml", "themes:\n" + "- {cod: 1}\n" * 5000))
        == MAX_MISTAKES + 1
    )


def test_the_desk_file_comes_before_the_setting_and_the_setting_before_what_is_built_in(
    tmp_path: Path,
) -> None:
    news, city, own, setting = (
        desk(),
        desk_of("https://example.org/"),
        tmp_path / "own.yaml",
        tmp_path / "setting.yaml",
    )
    assert [taxonomy_file(one, None) for one in (news, city)] == [
        BUILT_IN,
        CIVIC_TOPICS,
    ]
    assert [taxonomy_file(one, setting) for one in (news, city)] == [setting, setting]
    assert [
        taxonomy_file(replace(one, taxonomy=own), setting) for one in (news, city)
    ] == [own, own]


def test_the_built_in_taxonomy_lends_its_words_to_files_of_ones_own_only(
    file: Path,
) -> None:
    lenders = [lender_of(path) for path in (None, BUILT_IN, CIVIC_TOPICS, file)]
    assert [lender and lender.version for lender in lenders] == [
        None,
        None,
        None,
        load_taxonomy().version,
    ]
