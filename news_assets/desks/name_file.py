"""The file of names that a desk has: which names are of the same person, body or place, and
their ids in Wikidata. It is a CSV with the columns kind, name, aliases and wikidata.

    kind,name,aliases,wikidata
    body,Ministério da Educação,Ministério de Educação|MEC,Q6867383
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from news_assets.errors import DeskFileError
from news_assets.text.fingerprint import name_id

_KINDS: Final = ("person", "body", "place")
_COLUMNS: Final = {"kind", "name", "aliases", "wikidata"}
_WIKIDATA: Final = re.compile(r"Q[1-9][0-9]{0,12}")


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What the files of desks say about names, by their ids.

    `same_as` leads from the id of an alias to that of the name; `names` are written as
    in the file.
    """

    same_as: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    wikidata: Mapping[str, str] = field(default_factory=dict)


def read_name_files(paths: Sequence[Path]) -> KnownNames:
    """Return what these files say; of what two say the first counts. Raises
    DeskFileError with all mistakes.
    """
    same_as: dict[str, str] = {}
    names: dict[str, str] = {}
    wikidata: dict[str, str] = {}
    mistakes: list[str] = []
    for path in paths:
        for line, row in _rows(path):
            if mistake := _mistake(row):
                mistakes.append(f"{path}:{line}: {mistake}")
                continue
            own = name_id(row["kind"], row["name"])
            names.setdefault(own, row["name"])
            if row["wikidata"]:
                wikidata.setdefault(own, row["wikidata"])
            for alias in filter(None, row["aliases"].split("|")):
                other = name_id(row["kind"], alias)
                if other != own:
                    same_as.setdefault(other, own)
    if mistakes:
        raise DeskFileError(mistakes)
    return KnownNames(same_as, names, wikidata)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows with their lines. Raises DeskFileError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = _COLUMNS - set(reader.fieldnames or ())
            if missing:
                what = (
                    f"no column {', '.join(sorted(missing))}; add it to the first line"
                )
                raise DeskFileError([f"{path}:1: {what}"])
            for row in reader:
                values = {name: (row[name] or "").strip() for name in _COLUMNS}
                yield reader.line_num, values
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DeskFileError([f"{path}:1: cannot be read: {error}"]) from error


def _mistake(row: Mapping[str, str]) -> str:
    if row["kind"] not in _KINDS:
        return f"kind: `{row['kind'][:40]}` is none; write {', '.join(_KINDS)}"
    if not row["name"]:
        return "name: it is empty; write the name"
    if row["wikidata"] and not _WIKIDATA.fullmatch(row["wikidata"]):
        return f"wikidata: `{row['wikidata'][:40]}` is no id; write one like Q155"
    return ""
