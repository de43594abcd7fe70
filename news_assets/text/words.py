"""Words of texts: splitting, folding of accents, stems and stop words.

Search, summaries, themes and near-duplicates compare texts by these functions.
"""

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import Stemmer  # type: ignore[import-not-found]  # PyStemmer carries no types

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

# Words whose stem is kept. More take 0.5 kB each, whoever sends them, and save no time:
# of 0.9 million words of news 45,000 differed; they took 0.4 s with all of them kept
# and with 20,000.
KEPT_WORDS = 20_000

_STEMMER_OF = {
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}

# Accented endings of folded words, so that a word has the same stem with and without
# accents: Snowball knows these endings only with accents. Plurals in -ões, -ães and
# -ãos become -ão, which Snowball stems differently. Longest first.
_ENDINGS = {
    "portuguese": (
        ("aveis", "ável"),
        ("iveis", "ível"),
        ("encias", "ência"),
        ("ancias", "ância"),
        ("encia", "ência"),
        ("ancia", "ância"),
        ("coes", "ção"),
        ("avel", "ável"),
        ("ivel", "ível"),
        ("cao", "ção"),
        ("oes", "ão"),
        ("aes", "ão"),
        ("aos", "ão"),
        ("ao", "ão"),
    ),
    "spanish": (("cion", "ción"), ("sion", "sión")),
}
_MIN_ENDING_STEM_CHARS = 2  # "aos" and "caos" are no plurals of -ão


def _marks() -> str:
    """Return the combining marks, which are part of words in Indic and other scripts,
    for a character class.
    """
    blocks = ((0x0300, 0x1E00), (0x20D0, 0x2100), (0xA800, 0xAC00), (0xFE20, 0xFE30))
    marks: list[str] = []
    for block in blocks:
        characters = map(chr, range(*block))
        marks += [one for one in characters if unicodedata.category(one)[0] == "M"]
    return "".join(marks)


_UNSPACED = (  # kana and Han: each character is a word
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(
    rf"[{_UNSPACED}]|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|[{_marks()}])*"
)
# Anything but Latin letters with one spelling, and dashes, quotes, bullets, ellipses
# and currency signs.
_BEYOND_LATIN = re.compile("[^\x00-\u02ff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]")
_LATIN_WORD = re.compile(
    f"[{re.escape(''.join(filter(str.isalnum, map(chr, range(0x300)))))}]+"
)
_LATIN_OR_GREEK_MARK = re.compile(
    "(?<=[A-Za-z\u0370-\u03ff\u0300-\u036f])[\u0300-\u036f]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")  # no stemmer takes them
_UNDECOMPOSED = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ı": "i",
        "Æ": "AE",
        "Ø": "O",
    }
)


def words(text: str) -> list[str]:
    """Return the words of a text in order, lower-cased, in NFC; digits count, hyphens
    and apostrophes separate.
    """
    lowered = text.lower()
    if not _BEYOND_LATIN.search(lowered):
        return _LATIN_WORD.findall(lowered)  # the same words in half the time
    return _WORD.findall(unicodedata.normalize("NFC", lowered))


@dataclass(frozen=True, slots=True)
class TextWords:
    """The words of several texts, as `words` returns them.

    `codes` are indexes into `distinct` for all texts in order; `counts` is the number
    of words of each text.
    """

    distinct: list[str]
    codes: "npt.NDArray[np.uint32]"
    counts: "npt.NDArray[np.int64]"


def words_of_texts(texts: Sequence[str]) -> TextWords:
    """Return the words of many texts, each distinct word as a string once."""
    import polars as pl

    found = _word_lists(texts)
    every = found.filter(found.list.len() > 0).explode()
    return TextWords(*_coded(every), found.list.len().cast(pl.Int64).to_numpy())


def _lowered(texts: Sequence[str]) -> "pl.Series":
    """Return the texts in lower case; lone surrogates are no words."""
    import polars as pl

    try:
        return pl.Series(texts, dtype=pl.String).str.to_lowercase()
    except UnicodeEncodeError:
        sound = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return pl.Series(sound, dtype=pl.String).str.to_lowercase()


def _word_lists(texts: Sequence[str]) -> "pl.Series":
    import polars as pl

    lowered = _lowered(texts)
    has_other = lowered.str.contains(_BEYOND_LATIN.pattern)
    if not has_other.any():
        return lowered.str.extract_all(_LATIN_WORD.pattern)
    latin = (~has_other).arg_true()
    other = has_other.arg_true()
    of_latin = lowered.gather(latin).str.extract_all(_LATIN_WORD.pattern)
    of_other = [words(texts[position]) for position in other]
    found = of_latin.append(pl.Series(of_other, dtype=pl.List(pl.String)))
    return found.gather(latin.append(other).arg_sort())


def _coded(every: "pl.Series") -> "tuple[list[str], npt.NDArray[np.uint32]]":
    import polars as pl

    distinct = every.unique()
    codes = every
    if len(distinct):
        codes = every.cast(pl.Enum(distinct)).to_physical()
    return distinct.to_list(), codes.cast(pl.UInt32).to_numpy()


def alphabetic_length(text: str) -> int:
    """Return a text's length in characters of an alphabet: one of kana or Han says as
    much as two and a half.
    """
    if text.isascii():
        return len(text)
    return len(text) + len(_UNSPACED_CHARACTER.findall(text)) * 3 // 2


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """Return each word of an NFC text, lower-cased, with its start and end."""
    found: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(text):
        found.append((match[0].lower(), match.start(), match.end()))
    return found


def fold(text: str) -> str:
    """Return the text without accents and compatibility forms (NFKD).

    Only Latin and Greek letters lose their marks; in other scripts a mark makes another
    letter.
    """
    if text.isascii():
        return text
    bare = _LATIN_OR_GREEK_MARK.sub("", unicodedata.normalize("NFKD", text)).translate(
        _UNDECOMPOSED
    )
    return unicodedata.normalize("NFC", bare)


@lru_cache(KEPT_WORDS)
def stem(word: str, language: str | None) -> str:
    """Return the folded stem of a lower-cased word; the folded word for a language
    without a stemmer, and for None.
    """
    folded = fold(word)
    name = _STEMMER_OF.get(_code_of(language))
    if name is None:
        return folded
    if _SURROGATES.search(folded):
        return folded
    return fold(_stemmer(name).stemWord(_with_ending(folded, name))) or folded


def _code_of(language: str | None) -> str:
    return (language or "").partition("-")[0].lower()


def has_stemmer(language: str | None) -> bool:
    """Return whether `stem` knows the inflection of this language."""
    return _code_of(language) in _STEMMER_OF


@lru_cache(KEPT_WORDS)
def shared_stem(word: str, languages: tuple[str, ...]) -> str:
    """Return the stem of a lower-cased word by the stemmers of all these languages, one
    after the other.

    For an index that cannot search a word in several forms: documents and queries of
    any of them have the same stem.
    """
    if not languages:
        return fold(word)
    for language in languages:
        word = stem(word, language)
    return word


def _with_ending(folded: str, name: str) -> str:
    for bare, accented in _ENDINGS.get(name, ()):
        if not folded.endswith(bare):
            continue
        start = folded[: -len(bare)]
        if len(start) < _MIN_ENDING_STEM_CHARS:
            return folded
        return start + accented
    return folded


_local = threading.local()  # a Snowball stemmer is not thread-safe


def _stemmer(name: str) -> Stemmer.Stemmer:
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__
    if name not in stemmers:
        stemmers[name] = Stemmer.Stemmer(name, 0)
    return stemmers[name]


def stopwords(language: str | None) -> frozenset[str]:
    """Return the stop words of a language, as written; none for an unknown language."""
    return _stopword_set(_code_of(language))


@lru_cache
def _stopword_set(code: str) -> frozenset[str]:
    return frozenset(_STOPWORDS.get(code, "").split())


_STOPWORDS = {
    "de": (
        """
        ab aber alle allem allen aller alles als also am an andere anderen auch auf aus
        bei beim bereits bis bin bist
        da dabei dafür damit dann das dass dazu dem den denen der deren des dessen dich
        die dies diese diesem diesen
        dieser dieses doch dort du durch ein eine einem einen einer eines er es etwa für
        gegen habe haben hat hatte
        hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede
        jedem jeden jeder jedes jedoch
        jetzt kann kein keine keinem keinen keiner können könnte man mehr mein meine mit
        muss müssen nach nachdem nicht
        nichts noch nun nur ob oder ohne schon sehr sei sein seine seinem seinen seiner
        seit selbst sich sie sind so
        sogar soll sollen sollte sowie über um und uns unser unsere unter viel viele vom
        von vor war waren was weil
        weiter weitere welche wenn wer werde werden wie wieder will wir wird wo wurde
        wurden würde während zu zum zur
        zwei zwischen
    """
    ),
    "it": (
        """
        a ad agli ai al alla alle allo anche ancora avere aveva che chi ci come con
        contro cosa cui da dagli dai dal
        dalla dalle dallo degli dei del dell della delle dello di dopo dove due e è ed
        era erano essere fa fra già gli
        ha hanno ho i il in io la le lei lo loro lui ma mi mia molto nei nel nella nelle
        nello noi non nostro o ogni per
        perché più poi prima può quale quando quello quella quelli quelle quest questa
        queste questi questo qui sarà se
        sei sempre senza si sia sono sua sue sui sul sulla sulle suo suoi su tra tutti
        tutto un una uno vi
    """
    ),
    "pt": (
        """
        a à ao aos aquela aquelas aquele aqueles aquilo as às até com como contra cada
        cujo cuja da das de dela
        delas dele deles depois desde dessa dessas desse desses desta destas deste
        destes disso disto do dos e é
        ela elas ele eles em entre era eram essa essas esse esses esta está estamos
        estão estas estava estavam
        este esteja estes esteve estiveram estou eu foi fomos for fora foram fosse
        fossem fui há haja havia hoje
        isso isto já lhe lhes mais mas me mesma mesmas mesmo mesmos meu meus mim minha
        minhas muito muita muitas
        muitos na não nas nem nessa nesse nesta neste nisso no nos nós nossa nossas
        nosso nossos num numa o onde
        os ou outra outras outro outros para pela pelas pelo pelos per perante pode
        podem por porque pois qual
        quais quando que quem quer são se seja sejam sem sendo ser será serão seria
        seriam seu seus só sob sobre
        sua suas também tão te tem têm temos tenha tenham ter teve tinha tinham tive
        toda todas todo todos tu
        tua tuas tudo um uma umas uns vai vão você vocês vos ainda além após assim
        através apenas antes bem
        durante enquanto então ante cerca ontem conforme segundo sempre outrem
        """
    ),
    "en": (
        """
        a about above after again against all also am an and any are as at be because
        been before being below
        between both but by can could did do does doing down during each few for from
        further had has have
        having he her here hers herself him himself his how i if in into is it its
        itself just may me might more
        most must my myself no nor not now of off on once one only or other our ours
        ourselves out over own per
        s said same shall she should since so some such t than that the their theirs
        them themselves then there
        these they this those through to too under until up upon us very was we were
        what when where whether
        which while who whom why will with within without would yet you your yours
        yourself yourselves
        """
    ),
    "es": (
        """
        a al algo algunas algunos ante antes aquel aquella aquellas aquellos aunque cada
        como con contra cual
        cuales cuando de del desde donde dos durante e el él ella ellas ellos en entre
        era eran es esa esas ese
        eso esos esta está están estas estado este esto estos estaba estaban fue fueron
        ha había habían han
        hasta hay he la las le les lo los más me mi mis mientras mismo muy nada ni no
        nos nosotros nuestra
        nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque
        pues que qué quien
        quienes se sea según ser si sí sido sin sino sobre son su sus también tan tanto
        te tener tengo tiene
        tienen toda todas todo todos tras tu tus un una unas uno unos usted ustedes va
        vosotros y ya yo
        """
    ),
    "fr": (
        """
        a à ai ainsi après au aussi autre autres aux avait avant avec avoir c ce cela
        ces cet cette ceux chez
        comme comment d dans de depuis des deux donc dont du elle elles en encore entre
        est et était été être eu
        eux fait il ils j je l la le les leur leurs lors lui m ma mais me même mes moins
        mon n ne ni nos notre
        nous on ont ou où par parce pas pendant peu plus pour pourquoi qu quand que quel
        quelle quelles quels
        qui quoi s sa sans se selon sera ses si son sont sous sur t ta te tes toi ton
        tous tout toute toutes
        très tu un une vers vos votre vous y
        """
    ),
}
