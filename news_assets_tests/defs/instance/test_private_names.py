"""Canary for upgrades of Dagster: each private name that is used still exists, and none
is used that is not in the table of `deploy/README.md`.

Private are modules and attributes with a leading underscore, and submodules of
dagster_celery and dagster_postgres.
"""

import ast
import importlib
import re
from typing import Any

import pytest

from news_assets_tests.test_layers import MODULES, PACKAGE

_TABLE = PACKAGE.parent / "deploy" / "README.md"
_ROW = re.compile(r"^\| `(dagster\w*[.:][\w.:]+)` \| ([\w, ]+) \|", re.MULTILINE)
USERS = dict(_ROW.findall(_TABLE.read_text()))
NAMES = sorted(USERS)
OF_NAMED_TUPLES = ("_replace",)  # which Python documents


def resolve(name: str) -> Any:
    """Return what `module:attribute.attribute` names.

    Raises:
        ImportError, AttributeError: It does not exist.
    """
    module, _, attributes = name.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in filter(None, attributes.split(".")):
        if isinstance(found, type) and is_set_in_init(found, attribute):
            return None
        found = getattr(found, attribute)
    return found


def is_set_in_init(cls: type, attribute: str) -> bool:
    """Return whether a constructor of the class or of its bases names the attribute."""
    constructors = (vars(base).get("__init__") for base in cls.__mro__)
    return any(
        attribute in init.__code__.co_names
        for init in constructors
        if hasattr(init, "__code__")
    )


@pytest.mark.parametrize("name", NAMES)
def test_dagster_has_the_private_name(name: str) -> None:
    try:
        resolve(name)
    except (ImportError, AttributeError) as error:
        pytest.fail(f"{name} is gone ({error}); used by {USERS[name]}", pytrace=False)


def is_private(module: str, name: str = "") -> bool:
    return (
        module.startswith(("dagster_celery.", "dagster_postgres."))
        or "._" in f"{module}.{name}"
    )


def imported(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name of Dagster stands for, such as `dagster:` for
    `dg`.
    """
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "dagster"
        ):
            found |= {
                alias.asname or alias.name: f"{node.module}:{alias.name}"
                for alias in node.names
            }
        elif isinstance(node, ast.Import):
            found |= {
                a.asname or a.name: f"{a.name}:"
                for a in node.names
                if a.name.startswith("dagster")
            }
    return found


def private_imports(tree: ast.Module) -> set[str]:
    """Return the private names that a module imports, and private modules that it names
    in a string.
    """
    found = {name for name in imported(tree).values() if is_private(*name.split(":"))}
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return found | {
        text
        for text in texts
        if re.fullmatch(r"dagster\w*(\.\w+)+", text) and is_private(text)
    }


def private_attributes(tree: ast.Module) -> set[str]:
    """Return the underscored attributes of other objects than `self`, and those that
    `self` has from Dagster.
    """
    names = imported(tree)
    if not names:
        return set()
    found = {
        name
        for owner, name in underscored(tree)
        if owner not in ("self", "cls") and name not in OF_NAMED_TUPLES
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = [cls for base in node.bases if (cls := dagster_class(base, names))]
            own = {name for _, name in underscored(node)}
            found |= {
                name
                for name in own
                for base in bases
                if hasattr(base, name) or is_set_in_init(base, name)
            }
    return found


def underscored(tree: ast.AST) -> set[tuple[str, str]]:
    """Return each `owner._name` as owner and name."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {
        (ast.unparse(node.value), node.attr)
        for node in nodes
        if re.match("_[^_]", node.attr)
    }


def dagster_class(base: ast.expr, names: dict[str, str]) -> type | None:
    """Return the class of Dagster that a base in a class statement names."""
    text = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
    head, _, rest = text.partition(".")
    found = resolve(f"{names[head]}{rest}") if head in names else None
    return found if isinstance(found, type) else None


def listed_attributes() -> set[str]:
    """Return the attributes in the table, without their classes."""
    names = {name.partition(":")[2] for name in NAMES}
    return {name.rpartition(".")[2] for name in names if "." in name}


def listed_imports() -> set[str]:
    """Return the modules, classes and functions in the table."""
    return {name for name in NAMES if "." not in name.partition(":")[2]}


def test_the_package_uses_exactly_the_private_names_of_the_table() -> None:
    imports, attributes = set[str](), set[str]()
    for path in MODULES:
        tree = ast.parse(path.read_text())
        imports |= private_imports(tree)
        attributes |= private_attributes(tree)
    # modules that are only preloaded, of which a name is listed
    preloaded = {name.partition(":")[0] for name in NAMES if ":" in name}

    assert imports - preloaded == listed_imports()
    assert attributes == listed_attributes()


def test_at_most_thirty_private_names_are_used() -> None:
    assert len(NAMES) <= 30
