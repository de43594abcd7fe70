from pathlib import Path

import pytest

from news_assets.errors import SettingsError
from news_assets.pipeline.alerts.query_file import (
    Alerts,
    Operators,
    SavedQuery,
    Webhook,
    load_alerts,
)

FILE = """
channels:
  hook: {kind: webhook, url: "https://example.org/news", secret_env: HOOK_SECRET}
queries:
  - {name: vaccines, query: vaccination, language: pt, to: [hook]}
operators: {to: [hook], quiet: "22:00-07:00"}
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "queries.yaml"
    path.write_text(FILE)

    assert load_alerts(path) == Alerts(
        channels={
            "hook": Webhook(
                kind="webhook", url="https://example.org/news", secret_env="HOOK_SECRET"
            )
        },
        queries=(
            SavedQuery(
                name="vaccines", query="vaccination", language="pt", to=("hook",)
            ),
        ),
        operators=Operators(to=("hook",), quiet="22:00-07:00"),
    )
    assert load_alerts(None) == Alerts()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "vaccines, ",
            "vaccines, desks: x, ",
            "5: queries.0.desks: unknown key; remove it",
        ),
        (
            "to: [hook]}\nop",
            "to: [desk]}\nop",
            "`vaccines` names a channel `desk` that is not among channels; add it",
        ),
        ("kind: webhook", "kind: pager", "3: channels.hook: Input tag 'pager'"),
        (
            "HOOK_SECRET",
            "'s3cret!'",
            "3: channels.hook.secret_env: not the name of an environment variable",
        ),
        (
            "https://example.org",
            "ftp://example.org",
            "3: channels.hook.url: `ftp://example.org/news` is not a web",
        ),
        (
            "https://example.org",
            "https://a:b@example.org",
            "channels.hook.url: the address has a user or password",
        ),
        (
            "22:00-07:00",
            "at night",
            "6: operators.quiet: `at night` is not a range of hours; write 22:00-07:00",
        ),
        ("name: vaccines, ", "", "5: queries.0.name is missing; add it"),
        (
            "query: vaccination",
            "query: vaccination OR",
            "the query `vaccines`, column 13 of the search: OR has nothing after it",
        ),
        (
            "query: vac",
            "when: monthly, query: vac",
            "5: queries.0.when: Input should be 'at_once', 'hourly', 'daily' or 'weekly'",
        ),
        ("queries:", "queries: [\n", "not YAML"),
        (FILE, "- a", "no queries in this file; begin with `queries:`"),
    ],
)
def test_a_mistake_is_shown_with_its_line_and_fix(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    path = tmp_path / "queries.yaml"
    path.write_text(FILE.replace(before, after))

    with pytest.raises(SettingsError) as caught:
        load_alerts(path)

    assert f"{path}:" in str(caught.value)
    assert message in str(caught.value)


def test_two_queries_cannot_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "queries.yaml"
    path.write_text(
        FILE.replace("queries:\n", "queries:\n  - {name: vaccines, to: [hook]}\n")
    )

    with pytest.raises(
        SettingsError, match="two queries have the name `vaccines`; rename one"
    ):
        load_alerts(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml:1: cannot be read"):
        load_alerts(tmp_path / "none.yaml")
