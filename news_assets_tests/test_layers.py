"""Import rules: packages import lower layers only; Dagster, environment and clock are
used in few places.
"""

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "news_assets"
LAYERS = (
    {"records", "errors", "ports", "retry_table"},
    {
        "text",
        "sources",
        "settings",
        "setting_values",
        "desks",
        "taxonomy",
        "folders",
    },
    {"pipeline"},
    {"clients", "store"},
    {"defs", "commands", "demo", "search", "web"},
    {"definitions", "cli"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"
)


def imports_of(path: Path) -> set[str]:
    """Return the dotted names a module imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "news_assets":
                found |= {f"news_assets.{alias.name}" for alias in node.names}
    return found


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def wrong_imports(part: str, imported: set[str]) -> set[str]:
    """Return the imports that a module of this package must not have."""
    parts = {name.split(".")[1] for name in imported if name.startswith("news_assets.")}
    upwards = {f"news_assets.{other}" for other in parts if LEVEL[other] > LEVEL[part]}
    outer = LEVEL[part] >= LEVEL["defs"]
    sideways = (
        set()
        if outer
        else {
            f"news_assets.{o}"
            for o in parts
            if LEVEL[o] == LEVEL[part] == 3 and o != part
        }
    )
    is_dagster = {name for name in imported if name.split(".")[0].startswith("dagster")}
    return (
        upwards | sideways | (set() if part in ("defs", "definitions") else is_dagster)
    )


def offenders(wrong: Callable[[Path], set[str]]) -> dict[str, set[str]]:
    """Return what is wrong in each module of the package that has something wrong."""
    found = {str(path.relative_to(PACKAGE)): wrong(path) for path in MODULES}
    return {name: names for name, names in found.items() if names}


def test_modules_import_only_downwards_and_only_defs_import_dagster() -> None:
    assert offenders(lambda path: wrong_imports(part_of(path), imports_of(path))) == {}


def test_each_kind_of_wrong_import_is_found() -> None:
    assert wrong_imports("text", {"news_assets.pipeline.poll.poll"}) == {
        "news_assets.pipeline"
    }
    assert wrong_imports("store", {"news_assets.clients.web.fetcher"}) == {
        "news_assets.clients"
    }
    assert wrong_imports("pipeline", {"dagster"}) == {"dagster"}
    assert wrong_imports("defs", {"dagster", "news_assets.store.lake"}) == set()


@cache
def names_used(path: Path) -> set[str]:
    """Return every `a.b` and every bare name a module uses."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    dotted = {_dotted(node) for node in nodes if isinstance(node, ast.Attribute)}
    return dotted | {node.id for node in nodes if isinstance(node, ast.Name)}


def _dotted(node: ast.expr) -> str:
    """Return `a.b.c`; an expression that is no name is left out of it."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def environment_read(path: Path) -> set[str]:
    if part_of(path) == "settings":
        return set()
    return names_used(path) & {"os.environ", "os.getenv", "environ", "getenv"}


def test_only_settings_reads_the_environment() -> None:
    assert offenders(environment_read) == {}


def date_read(path: Path) -> set[str]:
    if LEVEL[part_of(path)] >= LEVEL["clients"]:
        return set()
    return names_used(path) & {
        "datetime.now",
        "date.today",
        "datetime.today",
        "time.time",
    }


def test_no_policy_reads_the_date() -> None:
    # a desk file may name its first day as days before today
    assert offenders(date_read) == {"desks/desk_spec.py": {"datetime.now"}}


def monotonic_clock_read(path: Path) -> set[str]:
    if LEVEL[part_of(path)] >= LEVEL["clients"]:
        return set()
    return names_used(path) & {"time.monotonic", "time.perf_counter", "time.sleep"}


def test_policy_measures_durations_only_where_a_limit_of_time_is_kept() -> None:
    assert set(offenders(monotonic_clock_read)) == {
        "pipeline/articles/fetch.py",
        "pipeline/poll/poll.py",
        "pipeline/poll/poll_loop.py",
    }


def test_only_the_copies_of_a_catalog_open_it_with_pythons_sqlite() -> None:
    """DuckDB loses its locks on a catalog when Python's SQLite closes it in the same
    process.
    """
    found = {
        path
        for path in MODULES
        if part_of(path) != "clients" and "sqlite3" in imports_of(path)
    }
    assert {str(path.relative_to(PACKAGE)) for path in found} == {
        "store/catalog_copies.py",
    }
