"""A client that openapi-python-client generates from the API's description reads what
the server answers.
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GENERATOR = Path(sys.prefix) / "tools" / "bin" / "openapi-python-client"


@pytest.fixture
def generated(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package `newsclient`, generated without a warning."""
    if not GENERATOR.exists():
        pytest.skip("the generator is not installed; `make test-all` installs it")
    folder = tmp_path / "newsclient"
    url = f"{site}/api/v1/openapi.json"
    made = [
        str(GENERATOR),
        "generate",
        "--url",
        url,
        "--meta",
        "none",
        "--output-path",
        str(folder),
    ]
    # it formats with the ruff beside it
    path = {"PATH": f"{GENERATOR.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [*made, "--fail-on-warning"],
        env=os.environ | path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def call(operation: str, client: Any, *path: str, **given: Any) -> Any:
    return importlib.import_module(f"newsclient.api.default.{operation}").sync(
        *path, client=client, **given
    )


@pytest.mark.slow  # generating takes some seconds
def test_a_generated_client_reads_searches_articles_and_errors(
    generated: Path, site: str
) -> None:
    with importlib.import_module("newsclient").Client(
        base_url=f"{site}/api/v1"
    ) as client:
        found = call(
            "search",
            client,
            q="bus",
            mode=importlib.import_module("newsclient.models").SearchMode.KEYWORD,
        )
        assert {hit.article_id for hit in found.items} == {"a-1", "a-2", "a-4"}
        listed = call("articles", client, limit=2)
        assert len(listed.items) == 2
        more = call("articles", client, limit=2, cursor=listed.next_)
        assert not {one.article_id for one in more.items} & {
            one.article_id for one in listed.items
        }
        view = call("articles_article_id", client, "a-1")
        assert (view.article.title, len(view.revisions)) == ("Bus", 1)
        changes = call("changes", client, limit=1)
        assert changes.items[0].change == "stored"
        problem = call("articles_article_id", client, "none")
        assert (problem.status, problem.title) == (404, "Not Found")
