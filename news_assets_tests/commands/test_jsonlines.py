"""Items on standard input that are not what a command reads: an error line each, and
the others go on.
"""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from news_assets.commands import jsonlines
from news_assets.commands.jsonlines import read_file, read_items, write_results
from news_assets.errors import NewsAssetsError

GOOD = {"id": 1, "text": "A text."}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))

    return give


@pytest.mark.parametrize(
    ("line", "identified", "mistake"),
    [
        ("[" * 100_000 + "]" * 100_000, None, "nested too deeply"),
        (
            '{"id": 2, "text": ' + "[" * 5000 + "]" * 5000 + "}",
            None,
            "nested too deeply",
        ),
        (
            json.dumps({"id": 2, "text": "x" * 3000}),
            None,
            "longer than 2,000 characters",
        ),
        ('{"id": 2, "text": "\\ud800"}', 2, "text holds half of a surrogate pair"),
        (
            '{"id": "\\udc00", "text": "x"}',
            "\udc00",
            "id holds half of a surrogate pair",
        ),
        ('{"id": 2, "text": NaN}', None, "NaN is not a JSON value"),
        ('{"id": -Infinity, "text": "x"}', None, "-Infinity is not a JSON value"),
        ('{"id": 1e999, "text": "x"}', None, "id is neither"),
        ('{"id": ["a"], "text": "x"}', None, "id is neither a text nor a whole number"),
        ('{"id": {}, "text": "x"}', None, "id is neither"),
        ('{"id": true, "text": "x"}', None, "id is neither"),
        ('{"id": 2, "text": ["x"]}', 2, "text is not a text"),
        (
            '{"id": 2, "text": "x", "url": {}, "language": 5}',
            2,
            "url, language is not a text",
        ),
        ('{"id": 1, "text": "again"}', 1, "this id is repeated"),
        ('{"id": ' + "9" * 5000 + ', "text": "x"}', None, "longer than"),
        ('"text"', None, "not a JSON object"),
        ("\udcff", None, "not UTF-8"),
    ],
)
def test_a_bad_item_is_an_error_line_and_the_others_go_on(
    given: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    identified: Any,
    mistake: str,
) -> None:
    if "longer" in mistake:
        monkeypatch.setattr(jsonlines, "MAX_LINE_CHARS", 2000)
    given(json.dumps(GOOD), line, json.dumps(GOOD | {"id": "3"}))
    assert [item["id"] for item in read_items("id", "text")] == [1, "3"]
    (error,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert error["id"] == identified
    assert error["error"].startswith("line 2: ")
    assert mistake in error["error"]


@pytest.mark.parametrize(
    "error",
    [
        RecursionError("deep"),
        KeyError("Nowhere/Zone"),
        ValueError("a\nb"),
        NewsAssetsError("page"),
        OSError(),
    ],
)
def test_an_item_that_fails_is_an_error_line(
    capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(item: dict[str, Any]) -> object:
        if item["id"] == 1:
            raise error
        return item

    write_results([{"id": 1}, {"id": 2}], fail, "")
    failed, fine = map(json.loads, capsys.readouterr().out.splitlines())
    assert (failed["id"], sorted(failed), fine) == (1, ["error", "id"], {"id": 2})


def test_files_are_read_up_to_a_limit(tmp_path: Path) -> None:
    bomb, broken = tmp_path / "bomb.gz", tmp_path / "broken.gz"
    bomb.write_bytes(gzip.compress(bytes(1_000_000)))
    broken.write_bytes(gzip.compress(b"x" * 500)[:-20])
    for path in (str(bomb), "/dev/zero"):
        with pytest.raises(NewsAssetsError, match="larger than"):
            read_file(path, max_bytes=100)
    with pytest.raises(EOFError):
        read_file(str(broken), max_bytes=100)
