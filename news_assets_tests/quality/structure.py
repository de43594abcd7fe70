"""The shape of the code: lengths of functions and modules, modules by folder, import
cycles.

python -m news_assets_tests.quality.structure
"""

import ast
import graphlib
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "news_assets"
MAX_MEDIAN_LINES, MAX_P90_LINES = 8, 20
MAX_MODULE_LINES = 300
MAX_MODULES = 14

Function = ast.FunctionDef | ast.AsyncFunctionDef


def body_lines(function: Function) -> int:
    """Return the lines from the signature to the end, without the docstring."""
    docstring = (
        function.body[0]
        if ast.get_docstring(function, clean=False) is not None
        else None
    )
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    return lines - (
        (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
    )


def imports_of(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """Yield the modules of the package that are imported when this one is, and those
    imported inside functions.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in modules else node.module


def import_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of one import cycle; none where there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def main() -> int:
    files = sorted(PACKAGE.rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    names = {
        file: ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
        for file in files
    }
    names = {file: name.removesuffix(".__init__") for file, name in names.items()}
    modules = set(names.values())
    graph = {
        names[file]: set(imports_of(trees[file], modules)) & modules - {names[file]}
        for file in files
    }
    lines = {file: len(file.read_text().splitlines()) for file in files}
    functions = [
        body_lines(node)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    ]
    median, p90 = (
        statistics.median(functions),
        statistics.quantiles(functions, n=10)[-1],
    )
    long = [
        f"{file.relative_to(PACKAGE)} {n}"
        for file, n in lines.items()
        if n > MAX_MODULE_LINES
    ]
    folders = {
        folder: len(list(folder.glob("[!_]*.py")))
        for folder in {file.parent for file in files}
    }
    crowded = [
        f"{folder.relative_to(PACKAGE.parent)} {n}"
        for folder, n in folders.items()
        if n > MAX_MODULES
    ]
    cycle = import_cycle(graph)
    print(f"lines            {sum(lines.values()):6,} in {len(files)} modules")
    print(
        f"function lines   median {median:.0f} (at most {MAX_MEDIAN_LINES}), p90 {p90:.0f} (at most {MAX_P90_LINES})"
    )
    print(
        f"long modules     {', '.join(long) or 'none'} (at most {MAX_MODULE_LINES} lines)"
    )
    print(
        f"crowded folders  {', '.join(crowded) or 'none'} (at most {MAX_MODULES} modules)"
    )
    print(f"import cycle     {' -> '.join(cycle) or 'none'}")
    return int(
        bool(
            median > MAX_MEDIAN_LINES or p90 > MAX_P90_LINES or long or crowded or cycle
        )
    )


if __name__ == "__main__":
    sys.exit(main())
