"""`withdraw` over a small lake, called as the command line calls it."""

from pathlib import Path

import pytest

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.commands.conftest import Call


def outcomes(home: Path) -> dict[str, tuple[str, str | None]]:
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        return {
            row.article_id: (row.outcome, row.reason) for row in lake.read(RawArticle)
        }


def test_an_article_is_withdrawn_by_any_spelling_of_its_address_and_brought_back(
    home: Path, call: Call
) -> None:
    before = outcomes(home)
    assert "a-1" in call("search", "line1", "--mode", "keyword", "--json")[1]

    code, said, _ = call(
        "withdraw",
        "HTTPS://Example.org:443/1?utm_source=x",
        "--reason",
        "ordered by a court",
    )

    assert (code, said.splitlines()[0]) == (0, "withdrawn: a-1: Bus")
    assert outcomes(home) == before | {"a-1": ("withdrawn", "ordered by a court")}
    assert "a-1" not in call("search", "line1", "--mode", "keyword", "--json")[1]
    assert call("withdraw", "a-1")[1] == "withdrawn already\n"

    code, said, _ = call("withdraw", "a-1", "--undo")
    assert (code, said.splitlines()[0]) == (0, "brought back: a-1: Bus")
    assert outcomes(home) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a-1", "a-9"), "no article `a-9`; nothing was changed"),
        (
            ("https://example.org/none",),
            "no article `https://example.org/none`; nothing was changed",
        ),
        (("a-1", "--undo"), "none of these articles is withdrawn"),
        ((), "Missing argument"),
    ],
)
def test_a_wrong_name_changes_nothing(
    home: Path, call: Call, words: tuple[str, ...], message: str
) -> None:
    before = outcomes(home)
    code, _, error = call("withdraw", *words)
    assert code != 0
    assert message in error
    assert outcomes(home) == before
