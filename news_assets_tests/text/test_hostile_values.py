"""Every function of `text/` gives None or a value for any text from outside, and never
an exception.

The functions are found in the package, and their arguments are drawn by name and type,
so that a new function is tried without a line here. Those that read something else, or
say in their docstring what they raise, are listed below.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from importlib import import_module
from typing import Any, Final, get_args, get_type_hints
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import news_assets.text as package
from news_assets.errors import QueryError
from news_assets.ports.search_index import SearchDocument
from news_assets.text.query_tree import (
    And,
    Days,
    FieldValue,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Prefix,
    Searchable,
    ValueField,
    Word,
    Written,
    searchable_of,
)
from news_assets_tests.clients.search.contract.examples import document

# Parts of texts that broke readers, here or elsewhere; a drawn text joins some of them
# with any characters.
PARTS: Final = (
    *(
        "2026-11-23T10:00:00",
        "+99:99",
        "-24:00",
        "+05:75:61",
        "Z",
        " GMT+99",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01",
    ),
    *(
        "0000-00-00",
        "31/02/2026 24h61",
        "Fri, 13 Foo 20026 25:61:61 PST8",
        "1e999999",
        "9" * 5000,
        "-0",
        "NaN",
        "٣٣",
    ),
    *(
        "às 10h",
        "há 9999999999 dias",
        "ontem",
        "12 de abril de 99999",
        "\u2160\u00b2",
        "1767225600000000000000",
    ),
    *(
        "http://",
        "https://[::",
        "//",
        "://",
        "http://[::ffff:1.2.3.4]:99999/",
        "xn--",
        "xn--a.xn--",
        ".",
        "..",
        "%",
        "%zz",
    ),
    *(
        "%00",
        "%ed%a0%80",
        "?",
        "#",
        "&utm_source=",
        ";",
        "@",
        ":",
        "\\",
        "javascript:",
        "data:,",
        "http://user:p@x/",
        "。",
    ),
    *(
        "http://\u2488.example/",
        "http://a" + "b" * 70 + ".example",
        "http://0x7f.1/",
        "mailto:",
        "url=http://x/&url=",
    ),
    *(
        "\x00",
        "\ud800",
        "\udfff",
        "\ufffe",
        "\ufdd0",
        "\u202e",
        "\u2066",
        "\x1b[2J",
        "\x85",
        "\u2028",
        "\r",
        "\n",
        "\t",
    ),
    *(
        "<",
        "</",
        "<!--",
        "-->",
        "<![CDATA[",
        "<a href=",
        "<svg/onload=",
        "&#xd800;",
        "&#99999999999;",
        "&;",
        "<p",
        ">",
    ),
    *(
        "![",
        "](",
        "**",
        "__",
        "```",
        "|",
        "- ",
        "1. ",
        "> ",
        "# ",
        "\\",
        "$",
        "=1+1",
        "@SUM(",
        "'",
        '"',
        "\uff1d",
    ),
    *(
        "{",
        "}",
        "[",
        "]",
        "[" * 3000,
        "{" * 500,
        "null",
        "1e5",
        "- &a [*a]",
        "!!python/object:x",
        "? :",
        "-",
        "(",
        ")",
    ),
    *(
        "e\u0301" * 40,
        "\u0301" * 200,
        "ﷺ" * 20,
        "İ",
        "ß",
        "ﬀ",
        "𝕏",
        "漢字",
        "ไทย",
        "नमस्ते",
        "👩‍👩‍👧‍👦",
        "\u200d",
        "\u00ad",
        "pt-BR",
        "x-",
    ),
)
TEXTS: Final = st.lists(
    st.one_of(st.sampled_from(PARTS), st.text(max_size=6)), max_size=6
).map("".join)
ZONES: Final = st.sampled_from(
    ("UTC", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Kiritimati", "Etc/GMT+12")
)
TIMES: Final = st.datetimes() | st.sampled_from((datetime.min, datetime.max))  # noqa: DTZ901 - the zone is drawn apart

WORDS: Final = st.lists(TEXTS, max_size=3).map(tuple)
WRITTEN: Final = (
    st.builds(Word, TEXTS, st.booleans())
    | st.builds(Phrase, WORDS, st.booleans())
    | st.builds(Prefix, TEXTS, st.booleans())
)
VALUES: Final = st.builds(
    FieldValue, st.sampled_from(get_args(ValueField)), TEXTS, WORDS
)
DAYS: Final = st.builds(Days, st.none() | st.dates(), st.none() | st.dates())
DOCUMENTS: Final = st.builds(
    document, st.integers(1, 99), title=TEXTS, text=TEXTS, summary=st.none() | TEXTS
)


def _joined(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    parts = st.lists(nodes, min_size=1, max_size=3).map(tuple)
    return (
        st.builds(Not, nodes)
        | st.builds(And, parts)
        | st.builds(Or, parts)
        | st.builds(Near, WRITTEN, WRITTEN, st.integers(1, 100))
    )


NODES: Final = st.recursive(WRITTEN | VALUES | DAYS, _joined, max_leaves=6)

# Arguments that are not from outside: of the desk file, or of the program.
BY_NAME: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "timezone": ZONES,
    "source_zone": ZONES,
    "languages": st.sampled_from(((), ("pt",), ("pt", "en", "xx"))),
    "phrases": st.lists(
        st.lists(TEXTS, min_size=1, max_size=3).map(tuple), max_size=3
    ).map(tuple),
    "agency": st.just("mec"),
    "url_hash": st.just("0" * 64),
    "strict": st.booleans(),
    "at": st.builds(datetime.replace, TIMES, tzinfo=ZONES.map(ZoneInfo)),
    "found": st.lists(TEXTS, max_size=9),
}
BY_TYPE: Final[Mapping[Any, st.SearchStrategy[Any]]] = {
    str: TEXTS,
    str | None: st.none() | TEXTS,
    bytes: st.binary(max_size=60)
    | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
    str | bytes: TEXTS | st.binary(max_size=60),
    object: TEXTS
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TIMES
    | st.lists(TEXTS, max_size=3),
    date: st.dates(),
    datetime: TIMES,
    SearchDocument: DOCUMENTS,
    Searchable: DOCUMENTS.map(searchable_of),
    Node: NODES,
    Written: WRITTEN,
    FieldValue: VALUES,
    Days: DAYS,
    Callable[[Node], bool]: st.just(bool),
    frozenset[str]: st.frozensets(TEXTS, max_size=4),
    Sequence[str]: st.lists(TEXTS, max_size=4),
    Iterable[str]: st.lists(TEXTS, max_size=4),
}

# Functions of which an exception is a documented answer, and those that read nothing
# from outside.
RAISES: Final[Mapping[str, tuple[type[Exception], ...]]] = {
    "limits.loads": (ValueError, RecursionError),
    "dates.placed": (ValueError,),
    "query_parser.has_meaning": (QueryError,),
    "query_parser.parse_operators": (QueryError,),
    "query_parser.plain_words": (QueryError,),
}
NOT_TRIED: Final[Mapping[str, str]] = {
    "defuse.escape_unencodable": "is called by codecs, with an error; test_defuse.py",
    "limits.most": "takes the name of a limit",
    "limits.line": "takes the name of a limit; tried through `lines`",
    "limits.lines": "takes the name of a limit; test_limits.py",
    "url_tables.target_in": "takes a parsed address; tried through urls.canonical_url",
    "defuse.write_csv": "writes a file; test_defuse.py",
    "defuse.write_xlsx": "writes a file; test_defuse.py",
}


def public_functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions of the package by module and name."""
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, function in vars(import_module(module.name)).items():
            is_own = getattr(function, "__module__", "") == module.name
            if (
                is_own
                and not name.startswith("_")
                and inspect.isroutine(inspect.unwrap(function))
            ):
                found[f"{module.name.removeprefix(package.__name__ + '.')}.{name}"] = (
                    function
                )
    return found


FUNCTIONS: Final = public_functions()
TRIED: Final = sorted(FUNCTIONS.keys() - NOT_TRIED.keys())


def arguments(function: Callable[..., Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return the strategy of a function's arguments by name; KeyError for a type that
    has none yet.
    """
    hints = get_type_hints(inspect.unwrap(function))
    names = inspect.signature(function).parameters
    return st.fixed_dictionaries(
        {
            name: BY_NAME[name] if name in BY_NAME else BY_TYPE[hints[name]]
            for name in names
        }
    )


def check(name: str, examples: int) -> None:
    function, expected = FUNCTIONS[name], RAISES.get(name, ())

    @settings(max_examples=examples, database=None, deadline=None, derandomize=True)
    @given(arguments(function))
    def gives_a_value(given_ones: dict[str, Any]) -> None:
        try:
            function(**given_ones)
        except expected:
            return

    gives_a_value()


@pytest.mark.parametrize("name", TRIED)
def test_a_function_gives_none_or_a_value_for_any_text(name: str) -> None:
    check(name, 25)


@pytest.mark.slow  # 400 texts for each function, 25 above
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TRIED)
def test_a_function_gives_none_or_a_value_for_many_texts(name: str) -> None:
    check(name, 400)


def test_every_function_that_is_not_tried_exists() -> None:
    assert NOT_TRIED.keys() | RAISES.keys() <= FUNCTIONS.keys()
