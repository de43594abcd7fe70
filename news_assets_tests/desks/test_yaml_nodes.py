from pathlib import Path

import pytest
import yaml

from news_assets.desks.yaml_nodes import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    MAX_TEXT_CHARS,
    MAX_VALUES,
    YamlLimitError,
    bounded_nodes,
    read_bytes,
)

LOADERS = [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)]
LAUGHS = "".join(
    f"{this}: &{this} [{', '.join([f'*{one}'] * 9)}]\n"
    for one, this in zip("abcdefgh", "bcdefghi", strict=True)
)
BOMBS = {
    "aliases": (f"a: &a [x]\n{LAUGHS}", 2, "an alias, `*a`"),
    "itself": ("a: &a [*a]", 1, "an alias"),
    "merged": ("a: &a {b: 1}\nc:\n  <<: *a", 3, "an alias"),
    "brackets": (
        "x: 1\na: " + "[" * 100_000,
        2,
        f"nested more than {MAX_DEPTH} levels",
    ),
    "braces": ("a: " + "{a: " * 50_000, 1, "nested more than"),
    "dashes": ("- " * 50_000 + "x", 1, "nested more than"),
    "indents": (
        "\n".join(" " * n + "a:" for n in range(500)),
        MAX_DEPTH + 1,
        "nested more than",
    ),
    "base 60": (
        "a: " + "1:" * 400_000 + "1",
        1,
        f"a text of more than {MAX_TEXT_CHARS:,} characters",
    ),
    "base 16": ("a: 0x" + "f" * 400_000, 1, "a text of more than"),
    "open quote": ('a: "' + "b\n" * 2000 + '"', 1, "a text of more than"),
    "list as key": ("x: 1\n? [a]\n: 1", 2, "a key that is not a text"),
    "mapping as key": ("? {a: 1}\n: 1", 1, "a key that is not a text"),
}


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_at_its_line(name: str, loader: type) -> None:
    text, line, problem = BOMBS[name]
    with pytest.raises(YamlLimitError) as raised:
        bounded_nodes(text, loader)
    assert (raised.value.problem or "").startswith(problem)
    assert raised.value.problem_mark is not None
    assert raised.value.problem_mark.line + 1 == line


def test_many_values_are_refused_and_as_many_as_allowed_are_not() -> None:
    loader = LOADERS[-1]
    with pytest.raises(YamlLimitError, match="more than 200,000 keys and values"):
        bounded_nodes("[" + "1," * MAX_VALUES + "]", loader)
    node = bounded_nodes("[" + "1," * (MAX_VALUES - 5) + "]", loader)
    assert node is not None
    assert len(node.value) == MAX_VALUES - 5


def test_large_and_endless_files_are_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    for path in (large, Path("/dev/zero")):
        with pytest.raises(YamlLimitError, match="larger than 5 MB"):
            read_bytes(path)


def test_other_documents_are_read_as_by_pyyaml() -> None:
    text = "a: [1, {b: c}]\n? d\n: |\n  e\n? ''\n: &anchor null\n"
    for loader in LOADERS:
        assert yaml.serialize(bounded_nodes(text, loader)) == yaml.serialize(
            yaml.compose(text, loader)
        )
        assert bounded_nodes("", loader) is None
