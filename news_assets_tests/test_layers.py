"""Import rules: packages import lower layers only; Dagster, environment and clock are used in few places."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "news_assets"
LAYERS = (
    {"records", "errors", "ports", "lazy"},
    {"text", "sources", "settings", "setting_values", "desks", "taxonomy", "folders"},
    {"pipeline"},
    {"clients", "store"},
    {"defs", "commands", "demo", "search", "terminal", "web"},
    {"definitions", "cli"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


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
    sideways = set() if outer else {f"news_assets.{o}" for o in parts if LEVEL[o] == LEVEL[part] == 3 and o != part}
    is_dagster = {name for name in imported if name.split(".")[0].startswith("dagster")}
    return upwards | sideways | (set() if part in ("defs", "definitions") else is_dagster)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_downwards_and_only_defs_import_dagster(path: Path) -> None:
    assert wrong_imports(part_of(path), imports_of(path)) == set()


def test_each_kind_of_wrong_import_is_found() -> None:
    assert wrong_imports("text", {"news_assets.pipeline.poll.poll"}) == {"news_assets.pipeline"}
    assert wrong_imports("store", {"news_assets.clients.web.fetcher"}) == {"news_assets.clients"}
    assert wrong_imports("pipeline", {"dagster"}) == {"dagster"}
    assert wrong_imports("defs", {"dagster", "news_assets.store.lake"}) == set()


def names_used(path: Path) -> set[str]:
    """Return every `a.b` and every bare name a module uses."""
    tree = ast.parse(path.read_text())
    dotted = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return dotted | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_settings_reads_the_environment(path: Path) -> None:
    used = names_used(path) & {"os.environ", "os.getenv", "environ", "getenv"}
    assert used == set() or part_of(path) == "settings"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_policy_reads_the_clock(path: Path) -> None:
    used = names_used(path) & {"datetime.now", "date.today", "datetime.today", "time.time"}
    assert used == set() or LEVEL[part_of(path)] >= LEVEL["clients"]
