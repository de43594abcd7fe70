"""Finds the inputs that a regular expression takes longest for, and whether that time
grows faster than the input.

Attack strings come from the parsed pattern: what leads to a repeat, the repeat's body
many times, and an end that does not match. regexploit and dlint judge the pattern's
text alone, find only overlapping repeats within one match, and know neither how a
pattern is called nor what bounds its input; most slow patterns here were slow by
starting again at each character.
"""

import ast
import heapq
import re
import resource
import signal
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = Path(__file__).parents[2] / "news_assets"
CHARACTERS = " \t\n\va\u00e90_-.,;:!?'\"`~*#&=/\\|()[]{}<>%@+\0"
ENDS = ("", "\0", "\n\0", "!")
GENERIC = (
    "<!--",
    "<a ",
    "-->",
    "](",
    "![",
    "[a](",
    "a,",
    "a b ",
    "* ",
    "- ",
    "http://",
    "&amp;",
    '\\"',
    "/amp",
    "<b>",
)
MAX_PREFIXES, MAX_BODIES = 12, 60
SMALL, LARGE = 1000, 100_000  # characters
WORST = 3  # inputs that are slowest when small are tried with more characters
LIMIT_S, _SMALL_LIMIT_S = 1.0, 0.06
# What is over the limit has to grow faster than its input too, as on a slow or busy
# machine linear work takes longer; what is far over it is refused however it grows.
FAR_OVER = 4
FASTER_THAN_LINEAR = 8  # as a quarter of the input has a quarter of the work
CPU_LIMIT_S = 240  # of the whole process
_METHODS = {
    "sub": "finditer",
    "subn": "finditer",
    "findall": "finditer",
    "split": "finditer",
}
_CALLS = {"search", "match", "fullmatch", "finditer", *_METHODS}

Text = str | bytes
Attack = tuple[Text, Text, Text]  # beginning, repeated part, end


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern of the package: where it is, and the methods it is called with."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


# --- every pattern of the package -----------------------------------------------------


def modules(package: Path = PACKAGE) -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and tree of each module that imports `re`; the others hold no
    pattern of their own.
    """
    for file in sorted(package.rglob("*.py")):
        tree = ast.parse(file.read_text())
        if any(
            isinstance(node, ast.Import) and "re" in [one.name for one in node.names]
            for node in ast.walk(tree)
        ):
            parts = file.relative_to(package.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), tree


def patterns(skipped: Iterable[str] = ()) -> list[Pattern]:
    """Return the patterns that the package's modules hold, and those written out inside
    functions.
    """
    trees = [
        (name, tree) for name, tree in modules() if not name.startswith(tuple(skipped))
    ]
    public = _calls([tree for _, tree in trees])
    found: dict[tuple[Text, int], Pattern] = {}
    for name, tree in trees:
        module = import_module(name)
        # a private name is called in its own module
        calls = {
            **public,
            **_calls([tree]),
        }
        held = [
            (where, one, calls.get(where.split("[")[0], frozenset()))
            for where, one in _held(vars(module), name)
        ]
        for where, one, methods in (*held, *_written_out(tree, vars(module))):
            known = found.get((one.pattern, one.flags))
            every = (known.methods if known else frozenset()) | methods
            full_name = known.name if known else f"{name}.{where}"
            found[one.pattern, one.flags] = Pattern(full_name, one, frozenset(every))
    unknown = frozenset({"finditer", "match"})
    return [
        replace(one, methods=one.methods or unknown)
        for one in sorted(found.values(), key=lambda one: one.name)
    ]


def _held(names: dict[str, Any], module: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in names.items():
        if not isinstance(value, ModuleType):
            yield from _within(value, name, module, set())


def _within(
    value: Any, where: str, module: str, seen: set[int]
) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if id(value) in seen or len(seen) > 2000:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield where, value
        return
    for part in _parts(value, module):
        yield from _within(
            part, f"{where}[]" if not where.endswith("[]") else where, module, seen
        )


def _parts(value: Any, module: str) -> Iterable[Any]:
    if type(value) is dict:
        return [*value.keys(), *value.values()]
    if type(value) in (list, tuple, set, frozenset):
        return value  # type: ignore[no-any-return]
    if is_dataclass(value) and type(value).__module__.startswith(PACKAGE.name):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, FunctionType) and value.__module__ == module:
        return [
            cell.cell_contents
            for cell in value.__closure__ or ()
            if cell.cell_contents is not value
        ]
    if isinstance(value, type) and value.__module__ == module:
        return list(vars(value).values())
    return ()


def _calls(trees: Iterable[ast.Module]) -> dict[str, frozenset[str]]:
    """Return the methods called on each name, in all modules: `_NAME.search(...)` and
    `map(_NAME.match, ...)`.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.attr in _CALLS
            ):
                found[node.value.id].add(_METHODS.get(node.attr, node.attr))
    return {name: frozenset(methods) for name, methods in found.items()}


def _written_out(
    tree: ast.Module, names: dict[str, Any]
) -> Iterator[tuple[str, re.Pattern[Any], frozenset[str]]]:
    """Yield the patterns of `re.sub("...", ...)` and the like; parts that only exist at
    run time are left out.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                args=[written, *_],
            ):
                try:
                    expression = compile(ast.Expression(written), "<pattern>", "eval")
                    value = eval(expression, dict(names))
                    flags = sum(_flags(node, names))
                    one = re.compile(value, flags)
                except (NameError, TypeError, AttributeError):
                    continue
                called = frozenset({_METHODS.get(method, method)} & _CALLS)
                yield f"line {node.lineno}", one, called


def _flags(call: ast.Call, names: dict[str, Any]) -> Iterator[int]:
    written = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
        written += call.args[1:2]
    yield from (
        int(eval(compile(ast.Expression(one), "<flags>", "eval"), dict(names)))
        for one in written
    )


# --- attack strings -------------------------------------------------------------------


def attacks(pattern: re.Pattern[Any]) -> list[Attack]:
    """Return (beginning, repeated part, end) of the strings to try."""
    parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    samples = [
        sample for sample in dict.fromkeys(_samples(parsed, "")) if len(sample) < 300
    ]
    prefixes = [
        "",
        *sorted({before for before, _ in _repeats(parsed, "")} - {""}, key=len),
    ][:MAX_PREFIXES]
    bodies = [body for _, body in _repeats(parsed, "")]
    repeated = [" ", "\n", *bodies, *prefixes[1:], *samples, *GENERIC]
    found = [
        (before, body, end)
        for body in islice(dict.fromkeys(filter(None, repeated)), MAX_BODIES)
        for before in prefixes
        for end in (ENDS if not before else ENDS[1:3])
    ]
    if isinstance(pattern.pattern, bytes):
        return [
            tuple(part.encode("latin-1", "replace") for part in parts)
            for parts in found
        ]  # type: ignore[misc]
    return found  # type: ignore[return-value]


def _samples(parsed: Any, before: str) -> Iterator[str]:
    """Yield beginnings of matches: the sample of each prefix of the sequence."""
    text = before
    for node in parsed:
        text += _sample(node)
        yield text


def _repeats(parsed: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield what comes before each repeat, and one round of it, for each of its
    alternatives.
    """
    for node in parsed:
        kind, value = node
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            for body in _alternatives(value[2]):
                yield before, body
        for part in _parts_of(kind, value):
            yield from _repeats(part, before)
        before += _sample(node)


def _parts_of(kind: Any, value: Any) -> list[Any]:
    """Return the sequences in a node."""
    if kind is sre.BRANCH:
        return list(value[1])
    at = {
        sre.SUBPATTERN: 3,
        sre.ASSERT: 1,
        sre.ASSERT_NOT: 1,
        sre.MAX_REPEAT: 2,
        sre.MIN_REPEAT: 2,
    }.get(kind)
    at = 2 if kind is sre.POSSESSIVE_REPEAT else at
    return (
        [value] if kind is sre.ATOMIC_GROUP else [value[at]] if at is not None else []
    )


def _alternatives(parsed: Any) -> Iterator[str]:
    whole = "".join(map(_sample, parsed))
    yield whole
    for kind, value in parsed:
        if kind is sre.BRANCH:
            yield from ("".join(map(_sample, branch)) for branch in value[1])
        elif kind is sre.SUBPATTERN:
            yield from _alternatives(value[3])
        elif kind is sre.IN:
            yield from islice(filter(_in(value), CHARACTERS), 6)


def repeats_group(pattern: re.Pattern[Any]) -> bool:
    """Whether a pattern has a possessive repeat of more than a single character."""
    waiting = [_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)]
    while waiting:
        for kind, value in waiting.pop():
            if kind is sre.POSSESSIVE_REPEAT and not _is_character(value[2]):
                return True
            waiting += _parts_of(kind, value)
    return False


def _is_character(parsed: Any) -> bool:
    characters = (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN)
    return len(parsed) == 1 and parsed[0][0] in characters


def _sample(node: Any) -> str:
    """Return a short text that the node matches."""
    kind, value = node
    if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
        return _sample_character(kind, value)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return "".join(map(_sample, value[2])) * max(min(value[0], 20), 1)
    if kind is sre.SUBPATTERN:
        return "".join(map(_sample, value[3]))
    if kind is sre.ATOMIC_GROUP:
        return "".join(map(_sample, value))
    if kind is sre.BRANCH:
        return "".join(map(_sample, value[1][0]))
    return ""  # positions, assertions, back references


def _sample_character(kind: Any, value: Any) -> str:
    if kind is sre.IN:
        return next(filter(_in(value), "a0 -\u00e9" + CHARACTERS), "") or _first_of(
            value
        )
    if kind is sre.LITERAL:
        return chr(value)
    return "b" if kind is sre.NOT_LITERAL and value == ord("a") else "a"


def _first_of(value: Any) -> str:
    for kind, argument in value:
        if kind is sre.LITERAL:
            return chr(argument)
        if kind is sre.RANGE:
            return chr(argument[0])
    return ""


def _in(value: Any) -> Callable[[str], bool]:
    """Return whether a character is in a parsed class."""
    is_negated = value[0][0] is sre.NEGATE
    tests = [_test(*item) for item in value if item[0] is not sre.NEGATE]
    return lambda character: any(test(character) for test in tests) is not is_negated


def _test(kind: Any, argument: Any) -> Callable[[str], bool]:
    if kind is sre.LITERAL:
        return lambda character: ord(character) == argument
    if kind is sre.RANGE:
        return lambda character: argument[0] <= ord(character) <= argument[1]
    name = str(argument).rpartition("_")[2]
    classes = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    one = re.compile(classes.get(name, "."), re.DOTALL)
    is_not = "_NOT_" in str(argument)
    return lambda character: (one.match(character) is not None) is not is_not


# --- time -----------------------------------------------------------------------------


class _Late(BaseException):
    pass


# The most characters that a pattern is ever given, where other code has bounded its
# input.
BOUNDS = {
    # an address in a file that the operator wrote
    "news_assets.desks.import_plan._USUAL_END": 2000,
    "news_assets.desks.site_lists._COMMENT": 2000,  # a line of such a file
    "news_assets.pipeline.page.visible_dates._SOURCED": 80,  # _MAX_PLAIN_CHARS
    # a message of the lake's own database
    "news_assets.store.address._PASSWORD_OF_ADDRESS": 2000,
    "news_assets.text.prose._LAST_WORD": 24,  # _NEAR_CHARS
    "news_assets.text.url_tables._REDIRECTING": 64,  # _MAX_NAME_CHARS
    "news_assets.text.url_tables._TARGET": 64,
}


def slowest(pattern: re.Pattern[Any], method: str, limit: int = LARGE) -> str | None:
    """Return the input for which this call takes longer than linear time, or far longer
    than LIMIT_S; None if none was found.

    `limit` is the most characters that the pattern is ever given.
    """
    signal.signal(signal.SIGVTALRM, _stop)
    worst: list[tuple[float, int]] = []
    tried = attacks(pattern)
    for number, attack in enumerate(tried):
        text = pumped(attack, min(SMALL, limit))
        took = _time_s(pattern, method, text, _SMALL_LIMIT_S)
        if (
            took > _SMALL_LIMIT_S
            and _cpu_s(pattern, method, text, _SMALL_LIMIT_S) > _SMALL_LIMIT_S
        ):
            return f"{_shown(attack)}: over {took:.2f} s for {SMALL:,} characters"
        worst = heapq.nlargest(WORST, [*worst, (took, number)])
    for _, number in worst:
        if _is_quick(pattern, method, tried[number], limit):
            continue
        if grown := _growth(pattern, method, tried[number], limit):
            return f"{_shown(tried[number])}: {grown}"
    return None


def _is_quick(
    pattern: re.Pattern[Any], method: str, attack: Attack, limit: int
) -> bool:
    """Whether the largest input takes so little that no smaller one has to be tried."""
    size = min(LARGE, limit)
    most_s = _most_s(size)
    text = pumped(attack, size)
    return _time_s(pattern, method, text, most_s, time.process_time) <= most_s


def _most_s(size: int) -> float:
    return LIMIT_S * size / LARGE + 0.02


def _growth(
    pattern: re.Pattern[Any], method: str, attack: Attack, limit: int
) -> str | None:
    every = (LARGE // 64, LARGE // 16, LARGE // 4, LARGE)
    sizes = [size for size in every if size <= limit] or [limit]
    before = float("inf")
    for size in sizes:
        far_over = FAR_OVER * LIMIT_S
        took = _cpu_s(pattern, method, pumped(attack, size), far_over)
        if took > _most_s(size) and (
            took > far_over or took > FASTER_THAN_LINEAR * before
        ):
            return f"{took:.2f} s for {size:,} characters, {before:.3f} s for a quarter of them"
        before = took
    return None


def _cpu_s(pattern: re.Pattern[Any], method: str, text: Text, limit_s: float) -> float:
    return min(
        _time_s(pattern, method, text, limit_s, time.process_time) for _ in range(2)
    )


def _time_s(
    pattern: re.Pattern[Any],
    method: str,
    text: Text,
    limit_s: float,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return how long a call takes; a little more than the limit if it is stopped
    there.

    `perf_counter` is exact, and tells the slowest of many short calls; `process_time`
    is right on a busy machine.
    """
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    started = clock()
    try:
        if method == "finditer":
            deque(pattern.finditer(text), maxlen=0)
        else:
            getattr(pattern, method)(text)
    except _Late:
        return 1.1 * limit_s
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return clock() - started


def _stop(*_: object) -> None:
    raise _Late


def pumped(attack: Attack, chars: int) -> Text:
    before, body, end = attack
    return before + body * max((chars - len(before)) // len(body), 1) + end  # type: ignore[operator]


def _shown(attack: Attack) -> str:
    before, body, end = (
        part.decode("latin-1") if isinstance(part, bytes) else part for part in attack
    )
    return f"{before[:40]!r} + {body[:40]!r} * n + {end!r}"


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    slow = 0
    for one in patterns():
        for method in sorted(one.methods):
            print(f"RUNS {one.name} .{method}", flush=True)
            if found := slowest(one.pattern, method, BOUNDS.get(one.name, LARGE)):
                print(f"{one.name} .{method}: {found}", flush=True)
                slow += 1
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
