"""What an article of news names of councils and laws, found by rules in its text: numbers
of matters and laws, addresses of agendas, and meetings by body and day.

Which matter or meeting that is depends on what is stored: `news_links.py`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from news_assets.sources.civic.numbering import canonical_file
from news_assets.text.prose import prose, sentences
from news_assets.text.words import fold

_TEXT_CHARS: Final = 30_000  # that is read
_PASSAGE_CHARS: Final = 600
_MOST: Final = 30  # of each kind, of an article

_Found = tuple[str, str, str]  # kind, what is named, passage


def mentions_of(
    title: str | None, text: str, links: Sequence[str], day: date
) -> list[_Found]:
    """Return what an article of a day names: `number`, `address` or `meeting`; the number
    in one form, the address or the ISO day; and the sentence.
    """
    plain = f"{title or ''}\n{prose(text[:_TEXT_CHARS])}"
    passages: dict[tuple[str, str], str] = {}
    for kind, named, passage in (*_in_lines(plain, day), *_addresses(links)):
        passages.setdefault((kind, named), passage[:_PASSAGE_CHARS])
    counts: Counter[str] = Counter()
    found: list[_Found] = []
    for (kind, named), passage in passages.items():
        counts[kind] += 1
        if counts[kind] <= _MOST:
            found.append((kind, named, passage))
    return found


def _in_lines(text: str, day: date) -> Iterator[_Found]:
    for line in text.split("\n"):
        has_number = any(map(str.isdigit, line))
        if not has_number and not _BODY.search(line):
            continue
        for sentence in _sentences(" ".join(line.split())):
            yield from _in_sentence(sentence, day)


def _in_sentence(sentence: str, day: date) -> Iterator[_Found]:
    for number in numbers_in(sentence):
        yield "number", number, sentence
    if _BODY.search(sentence):
        for named in _days_in(sentence, day):
            yield "meeting", named.isoformat(), sentence


_ABBREVIATED = re.compile(
    r"\b(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|ord|res|no|art)\.$",
    re.IGNORECASE,
)


def _sentences(line: str) -> Iterator[str]:
    """Yield the sentences of a line; "Dec. 1" and "Ord. 5123" are in one."""
    begun = ""
    for sentence in sentences(line):
        begun = f"{begun} {sentence}".lstrip()
        if not _ABBREVIATED.search(begun[-6:]):
            yield begun
            begun = ""
    if begun:
        yield begun


# --- numbers --------------------------------------------------------------------------

# what numbers of matters and laws are called, and the letters that stand for it
_CALLED: Final = {
    "ordinance": "ORD",
    "ord": "ORD",
    "resolution": "RES",
    "reso": "RES",
    "res": "RES",
    "council bill": "CB",
    "house bill": "HB",
    "senate bill": "SB",
    "assembly bill": "AB",
    "bill": "BILL",
    "local law": "LL",
    "introduction": "INT",
    "intro": "INT",
    "int": "INT",
    "public law": "PUBLIC LAW",
    "council file": "FILE",
    "file": "FILE",
    "legislation": "FILE",
    "matter": "FILE",
    "motion": "MOT",
    "petition": "PETITION",
    "site plan": "SP",
    "variance": "VAR",
    "communication": "COM",
    "projeto de lei complementar": "PLP",
    "projeto de lei ordinaria": "PL",
    "projeto de lei do executivo": "PLE",
    "projeto de lei do legislativo": "PLL",
    "projeto de lei": "PL",
    "projeto de decreto legislativo": "PDL",
    "projeto de resolucao": "PR",
    "proposta de emenda a constituicao": "PEC",
    "proposta de emenda constitucional": "PEC",
    "medida provisoria": "MP",
    "mpv": "MP",
    "emenda constitucional": "EC",
    "lei complementar": "LC",
    "lei municipal": "LEI MUNICIPAL",
    "lei estadual": "LEI ESTADUAL",
    "lei distrital": "LEI DISTRITAL",
    "lei federal": "LEI",
    "lei": "LEI",
    "decreto lei": "DECRETO-LEI",
    "decreto municipal": "DECRETO MUNICIPAL",
    "decreto estadual": "DECRETO ESTADUAL",
    "decreto": "DECRETO",
    "resolucao": "RESOLUCAO",
    "portaria": "PORTARIA",
    "requerimento": "REQ",
    "indicacao": "IND",
    "mocao": "MOC",
}
# bills and laws of a country, which are in no agenda
_NATIONAL: Final = frozenset(
    ("LEI", "LC", "EC", "MP", "PEC", "PLP", "PDL", "PUBLIC LAW", "DECRETO-LEI")
)
_WORDS = "|".join(
    name.replace(" ", r"[\s-]") for name in sorted(_CALLED, key=len, reverse=True)
)
_SIGN = r"\.?(?:\s{0,2}(?:n[ºo°.]{1,2}|number|nr\.?|#)){0,2}\s{0,2}"
_YEARLY = r"\d{2,4}-(?:[A-Z]{1,3}-)?\d{1,8}(?:-S?\d{1,4})?[A-Z]?"
_DIGITS = (
    rf"(?P<number>{_YEARLY}|\d{{1,3}}(?:[.,]\d{{3}}){{1,2}}|\d{{1,6}})"
    r"(?:/(?P<year>\d{4}|\d\d)\b|,?\sde\s(?:\d{1,2}o?\sde\s[a-z]{4,9}\sde\s)?"
    r"(?P<of>(?:19|20)\d\d)\b)?(?!\w|[.,/-]\d)"
)
_CALLED_SO = re.compile(rf"\b(?P<kind>{_WORDS})s?{_SIGN}{_DIGITS}", re.IGNORECASE)
_LETTERS = re.compile(
    rf"\b(?P<kind>[A-Z]{{1,6}})(?:\s?n[o.]{{1,2}})?[\s#-]{{0,2}}"
    rf"(?P<number>{_YEARLY}|\d{{1,3}}\.\d{{3}}|\d{{1,6}})(?:/(?P<year>\d{{4}}|\d\d))?"
    r"(?!\w|[.,/-]\d)"
)
_A_YEAR = re.compile(r"(?:19|20)\d\d")
_CENTURY: Final = "20"


def numbers_in(text: str) -> list[str]:
    """Return the numbers of matters and laws that a text names, each in one form:
    "Ordinance No. 2026-14" is `ORD 2026-14`, "Lei nº 14.133, de 1º de abril de 2021" is
    `LEI 14133/2021`.
    """
    folded = fold(text.replace("º", "o").replace("°", "o"))
    found: dict[str, None] = {}
    for match in _CALLED_SO.finditer(folded):
        year = match["year"] or match["of"]
        found[_one_form(match["kind"], match["number"], year)] = None
    for match in _LETTERS.finditer(folded):
        has_year = match["year"] or "-" in match["number"]
        if has_year:
            number = _one_form(match["kind"], match["number"], match["year"])
            found[number] = None
    found.pop("", None)
    return list(found)


def _one_form(kind: str, digits: str, year: str | None) -> str:
    """Return the letters of a kind with the number; empty for a year alone."""
    number = digits.replace(".", "").replace(",", "").upper()
    if year:
        century = "" if len(year) > 2 else _CENTURY
        number = f"{number}/{century}{year}"
    elif _A_YEAR.fullmatch(number):
        return ""
    name = " ".join(kind.lower().replace("-", " ").split())
    return f"{_CALLED.get(name, kind)} {_without_zeros(number)}"


_ZEROS = re.compile(r"(?<![0-9])0{1,6}(?=[0-9])")


def _without_zeros(number: str) -> str:
    """Return a number without the zeros that its parts begin with."""
    return _ZEROS.sub("", number)


def number_of_matter(matter_file: str) -> str:
    """Return the public number of a matter in the same form; without letters where it has
    none.
    """
    named = numbers_in(matter_file)
    if named:
        return named[0]
    return _without_zeros(canonical_file(matter_file))


def letters_of_type(matter_type: str | None) -> str:
    """Return the letters that stand for a kind of matter; empty where none do."""
    return _CALLED.get(fold(matter_type or "").lower().strip(), "")


# Federal laws of Brazil by year; a number far from them is that of a city or state.
_FEDERAL: Final = (
    (1950, 1079),
    (1964, 4320),
    (1976, 6404),
    (1990, 8069),
    (1998, 9605),
    (2003, 10826),
    (2011, 12527),
    (2018, 13709),
    (2024, 15042),
    (2030, 16000),
)
_FEDERAL_MARGIN: Final = 500


def is_national(named: str) -> bool:
    """Return whether a number is that of a law or bill of a country, with its year."""
    kind, _, number = named.rpartition(" ")
    digits, _, year = number.partition("/")
    if kind == "PUBLIC LAW":
        return "-" in number
    if kind not in _NATIONAL or not (digits.isdigit() and year):
        return False
    return kind != "LEI" or _is_federal(int(digits), int(year))


def _is_federal(number: int, year: int) -> bool:
    for (first, low), (last, high) in pairwise(_FEDERAL):
        if first <= year <= last:
            expected = low + (high - low) * (year - first) / (last - first)
            return abs(number - expected) <= _FEDERAL_MARGIN
    return False


def label_of(named: str) -> str:
    """Return a number as it is written: `LEI 14133/2021` is "Lei 14.133/2021"."""
    kind, _, number = named.rpartition(" ")
    digits, slash, year = number.partition("/")
    if digits.isdigit():
        digits = f"{int(digits):,}".replace(",", ".")
    words = kind.title() if kind in _WRITTEN_OUT else kind
    return f"{words} {digits}{slash}{year}"


_WRITTEN_OUT: Final = frozenset(("LEI", "PUBLIC LAW", "DECRETO-LEI"))

# --- addresses ------------------------------------------------------------------------

_OF_COUNCILS = re.compile(
    r"agenda|meeting|legis|minutes|packet|council|ordinance|resolution|primegov|civic|granicus"
    r"|escribe|iqm2|municode|boarddocs|onbase|camara|sapl|sessao|pauta|viewfile|attachment",
    re.IGNORECASE,
)


def _addresses(links: Iterable[str]) -> Iterator[_Found]:
    for url in links:
        if _OF_COUNCILS.search(url):
            yield "address", url.partition("#")[0], url


# --- meetings -------------------------------------------------------------------------

_BODY = re.compile(
    r"\b(?:council|commission|committee|board|authority|legislature|aldermen|supervisors"
    r"|trustees|selectmen|c[âa]mara|comiss[ãa]o|conselho|assembleia)\b",
    re.IGNORECASE,
)
_MONTHS: Final = (
    ("jan", "janeiro"),
    ("feb", "fevereiro"),
    ("mar", "marco"),
    ("apr", "abril"),
    ("may", "maio"),
    ("jun", "junho"),
    ("jul", "julho"),
    ("aug", "agosto"),
    ("sep", "setembro"),
    ("oct", "outubro"),
    ("nov", "novembro"),
    ("dec", "dezembro"),
)
_WEEKDAYS: Final = (
    ("monday", "segunda"),
    ("tuesday", "terca"),
    ("wednesday", "quarta"),
    ("thursday", "quinta"),
    ("friday", "sexta"),
    ("saturday", "sabado"),
    ("sunday", "domingo"),
)
_NEAR_DAYS: Final = {
    "today": 0,
    "tonight": 0,
    "hoje": 0,
    "yesterday": -1,
    "ontem": -1,
    "tomorrow": 1,
    "amanha": 1,
}
_NEAR = re.compile(rf"\b(?:{'|'.join(_NEAR_DAYS)})\b")
_WEEKDAY = re.compile(
    r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|(?:segunda|terca|quarta|quinta|sexta)(?:-feira)?|sabado|domingo)\b"
)
_MONTH_DAY = re.compile(
    r"\b(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s"
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b(?:,\s(?P<year>20\d\d)\b)?"
)
_DAY_MONTH = re.compile(
    r"\b(?P<day>\d{1,2})o?\sde\s(?P<month>janeiro|fevereiro|marco|abril|maio|junho|julho"
    r"|agosto|setembro|outubro|novembro|dezembro)\b(?:\sde\s(?P<year>20\d\d)\b)?"
)
_FARTHEST: Final = timedelta(days=60)  # between an article and a meeting that it names


class _Named(NamedTuple):
    day: int
    month: int
    year: int | None


def _days_in(sentence: str, day: date) -> list[date]:
    """Return the days that a sentence of an article of a day may name: of a weekday the
    last one and the next one.
    """
    folded = fold(sentence.replace("º", "o")).lower()
    found: dict[date, None] = {}
    for match in _NEAR.finditer(folded):
        found[day + timedelta(days=_NEAR_DAYS[match[0]])] = None
    for match in _WEEKDAY.finditer(folded):
        ahead = (_weekday(match[0]) - day.weekday()) % len(_WEEKDAYS)
        found[day + timedelta(days=ahead)] = None
        found[day + timedelta(days=ahead - len(_WEEKDAYS))] = None
    for named in _dates_in(folded):
        if nearest := _nearest(named, day):
            found[nearest] = None
    return list(found)


def _dates_in(folded: str) -> Iterator[_Named]:
    for pattern in (_MONTH_DAY, _DAY_MONTH):
        for match in pattern.finditer(folded):
            year = int(match["year"]) if match["year"] else None
            yield _Named(int(match["day"]), _month(match["month"]), year)


def _weekday(name: str) -> int:
    bare = name.removesuffix("-feira")
    return next(n for n, names in enumerate(_WEEKDAYS) if bare in names)


def _month(name: str) -> int:
    return next(n for n, names in enumerate(_MONTHS, 1) if name in names)


def _nearest(named: _Named, day: date) -> date | None:
    """Return the named day that is nearest to an article's; None without one near it."""
    found: list[date] = []
    for year in (day.year - 1, day.year, day.year + 1):
        try:
            found.append(date(year, named.month, named.day))
        except ValueError:
            continue
    if named.year:
        found = [one for one in found if one.year == named.year]
    near = min(found, key=lambda one: abs(one - day), default=None)
    if near is None or abs(near - day) > _FARTHEST:
        return None
    return near
