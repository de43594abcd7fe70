"""How dense the code is, how many modules and names it has, and import cycles.

    python -m news_assets_tests.quality.structure

Prints each figure beside its goal and exits with 1 where one is missed. Tokens are
those of the tokenizer without comments, docstrings, line ends and indentation; a figure
per line counts only lines that hold code. The number of lines is no goal.
"""

import ast
import graphlib
import io
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "news_assets"
WIDE = 100  # columns
GOALS = {
    "modules": 330,
    "modules that share a basename": 20,
    "public names": 1500,
    "tokens": 335_000,
    "lines over 100 columns, %": 0.5,
    "tokens of a function, median": 55,
    "tokens of a function, 90 % below": 150,
    "tokens of a line in functions, mean": 9.5,
    "tokens of a line in functions, 90 % below": 14,
    "comprehensions, per 1,000 statements": 35,
    "comprehensions with two `for`, per 1,000 statements": 0.5,
    "conditional expressions, per 1,000 statements": 24,
    "`and` and `or`, per 1,000 statements": 38,
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass
class Counts:
    """What is counted over all modules."""

    statements: int = 0
    comprehensions: int = 0
    with_two_for: int = 0
    conditionals: int = 0
    and_or: int = 0
    public_names: int = 0
    tokens: int = 0
    filled_lines: int = 0
    wide_lines: int = 0
    of_functions: list[int] = field(default_factory=list)
    of_lines: list[float] = field(default_factory=list)  # the mean of each function


def count_module(source: str, counts: Counts) -> None:
    """Add a module's figures to `counts`."""
    tree = ast.parse(source)
    tokens = tokens_by_line(source, docstring_lines(tree))
    lines = [line for line in source.splitlines() if line.strip()]
    counts.filled_lines += len(lines)
    counts.wide_lines += sum(len(line) > WIDE for line in lines)
    counts.tokens += tokens.total()
    counts.public_names += len([name for name in names_of(tree) if name[0] != "_"])
    for node in ast.walk(tree):
        count_node(node, counts)
        if isinstance(node, Function):
            count_function(node, tokens, counts)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that belong to docstrings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node, clean=False):
            text = node.body[0]
            found.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return found


def tokens_by_line(source: str, skipped: set[int]) -> Counter[int]:
    """Return the number of tokens of each line that has any, without skipped lines."""
    found: Counter[int] = Counter()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT and token.start[0] not in skipped:
            found[token.start[0]] += 1
    return found


def names_of(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines at its top."""
    for node in tree.body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.Assign():
                yield from (one.id for one in node.targets if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def count_node(node: ast.AST, counts: Counts) -> None:
    """Add a node of the syntax tree to `counts`."""
    match node:
        case ast.stmt():
            counts.statements += 1
        case ast.IfExp():
            counts.conditionals += 1
        case ast.BoolOp():
            counts.and_or += 1
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            counts.comprehensions += 1
            counts.with_two_for += len(node.generators) > 1


def count_function(node: Function, tokens: Counter[int], counts: Counts) -> None:
    """Add a function's tokens to `counts`."""
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    filled = [tokens[number] for number in lines if tokens[number]]
    counts.of_functions.append(sum(filled))
    counts.of_lines.append(sum(filled) / max(1, len(filled)))


def figures(files: list[Path]) -> dict[str, float]:
    """Return the figures of some modules by the names in GOALS."""
    counts = Counts()
    for file in files:
        count_module(file.read_text(encoding="utf-8"), counts)
    basenames = Counter(file.name for file in files if file.name != "__init__.py")
    per_1000 = 1000 / max(1, counts.statements)
    values = [
        len(files),
        sum(number for number in basenames.values() if number > 1),
        counts.public_names,
        counts.tokens,
        100 * counts.wide_lines / max(1, counts.filled_lines),
        statistics.median(counts.of_functions),
        statistics.quantiles(counts.of_functions, n=10)[-1],
        statistics.mean(counts.of_lines),
        statistics.quantiles(counts.of_lines, n=10)[-1],
        counts.comprehensions * per_1000,
        counts.with_two_for * per_1000,
        counts.conditionals * per_1000,
        counts.and_or * per_1000,
    ]
    return dict(zip(GOALS, values, strict=True))


# --- import cycles --------------------------------------------------------------------


def import_cycle(files: list[Path]) -> list[str]:
    """Return the modules of one import cycle; none where there is none."""
    names = {name_of(file): file for file in files}
    graph = {}
    for name, file in names.items():
        imported = set(imports_of(ast.parse(file.read_text()), set(names)))
        graph[name] = imported & names.keys() - {name}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def name_of(file: Path) -> str:
    """Return the dotted name of a module."""
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports_of(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """Yield the modules that are imported with this one, and those inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in modules else node.module


def main() -> int:
    files = sorted(PACKAGE.rglob("*.py"))
    missed = 0
    print(f"{'':54}{'now':>12}{'goal':>12}")
    for name, value in figures(files).items():
        is_missed = value > GOALS[name]
        missed += is_missed
        print(f"{name:54}{value:>12,.1f}{GOALS[name]:>12,.1f}{'  missed' * is_missed}")
    cycle = import_cycle(files)
    print(f"import cycle: {' -> '.join(cycle) or 'none'}")
    return int(missed > 0 or bool(cycle))


if __name__ == "__main__":
    sys.exit(main())
