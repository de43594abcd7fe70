"""How soon a new article is found, as a multiple of what the profile takes for a run
that does nothing.
"""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.settings import Settings
from news_assets_tests.bench.latency import (
    RATIO,
    Waiter,
    by_poll,
    entry_and_empty_run,
    ratio_of,
)
from news_assets_tests.support.profile_with_desk import profile_with_desk

pytestmark = [
    pytest.mark.slow,  # starts the local profile with its workers
    pytest.mark.exhaustive,  # a measurement, which a busy machine can spoil
    pytest.mark.timeout(600),
]

_AGENCIES = ("a001", "a002", "a003")


def test_an_article_is_found_within_twice_as_many_empty_runs_as_when_this_was_measured(
    models_dir: Path,
) -> None:
    embedder = OnnxEmbedder.open(Settings.read().embedding_model, models_dir, 1)
    with profile_with_desk(
        "local", models_dir, date(datetime.now(UTC).year, 1, 1), 8
    ) as running:
        running.profile.switch("due_sources", on=False)
        running.wait_until_quiet()
        waiter = Waiter(running, embedder)
        for agency in ("a000", "a007"):  # each worker has then executed a run
            by_poll(running, waiter, agency)
        rows = [entry_and_empty_run(running, waiter, agency) for agency in _AGENCIES]
    ratio = ratio_of(rows)
    assert ratio < 2 * RATIO, rows
