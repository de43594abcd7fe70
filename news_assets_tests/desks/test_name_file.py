"""The file of names of a desk."""

from pathlib import Path

import pytest

from news_assets.desks.name_file import KnownNames, read_name_files
from news_assets.errors import DeskFileError

COLUMNS = "kind,name,aliases,wikidata\n"


def read(folder: Path, text: str) -> KnownNames:
    path = folder / "names.csv"
    path.write_text(text, encoding="utf-8")
    return read_name_files([path])


def test_a_file_has_aliases_spellings_and_wikidata_ids(tmp_path: Path) -> None:
    row = "body,Ministério da Educação,MEC|Ministério de Educação|,Q6867383\n"
    known = read(tmp_path, "\ufeff" + COLUMNS + row + "person,Ana Lima,,\n")
    own = "body/ministerio-da-educacao"
    assert known.same_as == {"body/mec": own, "body/ministerio-de-educacao": own}
    assert known.names == {own: "Ministério da Educação", "person/ana-lima": "Ana Lima"}
    assert known.wikidata == {own: "Q6867383"}


def test_mistakes_are_named_with_their_lines(tmp_path: Path) -> None:
    rows = "thing,A,,\nperson,,,\nperson,Ana,,X1\n"
    with pytest.raises(DeskFileError) as caught:
        read(tmp_path, COLUMNS + rows)
    lines = [one.partition("names.csv:")[2] for one in caught.value.mistakes]
    assert lines == [
        "2: kind: `thing` is none; write person, body, place",
        "3: name: it is empty; write the name",
        "4: wikidata: `X1` is no id; write one like Q155",
    ]


@pytest.mark.parametrize("text", ["", "kind,name\n", "\x00"])
def test_a_file_without_the_columns_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeskFileError, match=r"names\.csv:1: no column aliases"):
        read(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeskFileError, match="cannot be read"):
        read_name_files([tmp_path / "names.csv"])
