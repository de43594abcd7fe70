from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.desks.desk_files import parse_desk
from news_assets.desks.import_plan import (
    Additions,
    ImportRow,
    extended_text,
    new_desk_text,
    plan_import,
    replace_file,
)
from news_assets.errors import DeskFileError

KINDS = ("feed",)
PATH = Path("mine.yaml")

OLD = """\
# Ours.
desk: mine
timezone: UTC
language: en
first_day: 2026-01-01
agencies:
  zoo:   # first, because it matters
    name: Zoo
    sources:
      - kind: feed
        url: https://zoo.example.org/rss   # the old one
      # nothing else

  ant:
    sources:
    - {kind: feed, url: "https://ant.example.org/rss"}
    name: Ant
# the end
"""

ADDITIONS = Additions(
    {
        "bee": {
            "name": "on: é",
            "sources": [{"kind": "feed", "url": "https://bee.example.org/rss"}],
        }
    },
    {
        "zoo": [{"kind": "feed", "url": "https://zoo.example.org/new"}],
        "ant": [
            {"kind": "feed", "url": "https://ant.example.org/new", "language": "pt"}
        ],
    },
    (),
)

NEW = """\
# Ours.
desk: mine
timezone: UTC
language: en
first_day: 2026-01-01
agencies:
  zoo:   # first, because it matters
    name: Zoo
    sources:
      - kind: feed
        url: https://zoo.example.org/rss   # the old one
      - kind: feed
        url: https://zoo.example.org/new
      # nothing else

  ant:
    sources:
    - {kind: feed, url: "https://ant.example.org/rss"}
    - kind: feed
      url: https://ant.example.org/new
      language: pt
    name: Ant
  bee:
    name: 'on: é'
    sources:
      - kind: feed
        url: https://bee.example.org/rss
# the end
"""


def test_additions_keep_comments_and_order() -> None:
    assert extended_text(OLD, PATH, ADDITIONS, KINDS) == NEW


def test_line_ends_are_kept() -> None:
    cut = OLD.removesuffix("# the end\n")
    assert extended_text(cut.rstrip("\n"), PATH, ADDITIONS, KINDS) == NEW.removesuffix(
        "# the end\n"
    )
    assert extended_text(
        OLD.replace("\n", "\r\n"), PATH, ADDITIONS, KINDS
    ) == NEW.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        (
            "    sources:\n      - kind: feed\n        url: https://zoo.example.org/rss   # the old one\n",
            "    sources: [{kind: feed, url: 'https://zoo.example.org/rss'}]\n",
            "mine.yaml:9: `sources` is not in block style; write one item per line",
        ),
        (
            OLD[OLD.index("agencies:") :],
            "agencies: {zoo: {name: Zoo, sources: [{kind: feed, url: 'https://zoo.example.org/rss'}]}}\n",
            "mine.yaml:6: `agencies` is not in block style; write one item per line",
        ),
    ],
)
def test_a_file_that_cannot_be_extended_is_an_error(
    old: str, new: str, mistake: str
) -> None:
    with pytest.raises(DeskFileError) as caught:
        extended_text(OLD.replace(old, new), PATH, ADDITIONS, KINDS)
    assert caught.value.mistakes == (mistake,)


def test_a_new_desk_file_has_the_additions() -> None:
    additions = Additions({"bee": ADDITIONS.agencies["bee"]}, {}, ())
    assert new_desk_text(
        "mine", "Europe/Lisbon", "pt-PT", date(2026, 1, 1), additions
    ) == (
        "desk: mine\ntimezone: Europe/Lisbon\nlanguage: pt-PT\nfirst_day: 2026-01-01\nagencies:\n"
        + NEW[NEW.index("  bee:") : NEW.index("# the end")]
    )


@given(st.lists(st.tuples(st.text(min_size=1), st.sampled_from("abcdef")), min_size=1))
def test_any_names_can_be_added(names: list[tuple[str, str]]) -> None:
    rows = [
        ImportRow(
            line=n,
            url=f"https://{host}.example.org/{n}",
            name=" ".join(name.split()) or None,
        )
        for n, (name, host) in enumerate(names)
        if name.isprintable()
    ] or [ImportRow(line=0, url="https://a.example.org/")]
    text = new_desk_text(
        "mine", "UTC", "en", date(2026, 1, 1), plan_import(rows[:1], None, (), KINDS)
    )
    desk = parse_desk(text, PATH, KINDS)
    additions = plan_import(rows[1:], desk, (), KINDS)
    grown = parse_desk(extended_text(text, PATH, additions, KINDS), PATH, KINDS)
    assert sorted(source.url for source in grown.sources) == sorted(
        row.url for row in rows
    )


def test_a_file_is_replaced_atomically_with_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mine.yaml"
    replace_file(path, OLD)
    path.chmod(0o640)
    replace_file(path, NEW)
    assert (path.read_text(encoding="utf-8"), path.stat().st_mode & 0o777) == (
        NEW,
        0o640,
    )
    assert [one.name for one in path.parent.iterdir()] == ["mine.yaml"]


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").mkdir()
    (tmp_path / "mine.yaml" / "x").touch()
    with pytest.raises(
        DeskFileError, match=r"mine\.yaml:1: cannot be written: .*; nothing was changed"
    ):
        replace_file(tmp_path / "mine.yaml", NEW)
    assert [one.name for one in tmp_path.iterdir()] == ["mine.yaml"]
