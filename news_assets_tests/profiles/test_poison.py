"""Articles that hang a process cost only themselves, in the local profile with its real
limits and supervisor.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    Failure,
    IndexedDocument,
)
from news_assets.store.lake import Lake
from news_assets_tests.profiles.conftest import home_in
from news_assets_tests.support import poisoned, profiles
from news_assets_tests.support.profiles import Profile, Site
from news_assets_tests.support.waiting import wait_for

pytestmark = [
    # the real limit of reading, and a worker that is ended three times
    pytest.mark.slow,
    pytest.mark.exhaustive,
    pytest.mark.timeout(600),
]
POISON = {
    "obras-ponte-rio-claro": poisoned.READER_POISON,
    "night-buses-vote": poisoned.WORKER_POISON,
}
READER_POISON, WORKER_POISON = POISON
NEIGHBOURS = 3  # of the same agency
HEALED_WITHIN_S = 300.0


class PoisonedSite(Site):
    """The sample site with two articles that hang what reads them."""

    def response(self, path: str) -> tuple[int, str, bytes]:
        status, content_type, body = super().response(path)
        slug = path.rpartition("/")[2].removesuffix(".html")
        if slug not in POISON:
            return status, content_type, body
        return (
            status,
            content_type,
            body.replace(b"<p>", f"<p>{POISON[slug]} ".encode(), 1),
        )


@pytest.fixture(scope="module")
def place(
    tmp_path_factory: pytest.TempPathFactory, models_dir: Path
) -> Iterator[tuple[Profile, Lake]]:
    """The running profile with its sensors, and its lake."""
    home = home_in(tmp_path_factory.mktemp("poison"), models_dir)
    env = profiles.importing(home, poisoned.__name__)
    with (
        PoisonedSite(home) as site,
        profiles.local(home, {**site.env, **env}) as profile,
        Lake.open(home / ".news" / "catalog.sqlite", home / ".news" / "data") as lake,
    ):
        yield profile, lake


def outcomes(lake: Lake, record: type, column: str = "reason") -> dict[str, str | None]:
    """Return outcome or reason of every row by article id."""
    return dict(lake.frame(record, None, ("article_id", column)).iter_rows())


def test_a_page_that_hangs_its_reader_is_one_failure_and_its_neighbours_are_stored(
    place: tuple[Profile, Lake],
) -> None:
    profile, lake = place

    def failures() -> list[Failure]:
        return [
            one
            for one in lake.read(Failure, stage=["raw_articles"])
            if one.reason.startswith("not read")
        ]

    (failed,) = wait_for(failures, limit_s=HEALED_WITHIN_S, log=profile.log)
    (article,) = lake.read(RawArticle, article_id=[failed.article_id])
    assert (article.outcome, failed.attempts) == ("failed", 1)
    assert READER_POISON in article.url
    assert failed.reason.startswith("not read in 20 s (in hang, poisoned.py:")

    def neighbours() -> list[EnrichedArticle]:
        rows = lake.read(EnrichedArticle, agency=[failed.agency])
        return rows if len(rows) == NEIGHBOURS else []

    wait_for(neighbours, limit_s=HEALED_WITHIN_S, log=profile.log)


def test_a_text_that_hangs_the_worker_is_one_failure_and_its_neighbours_are_indexed(
    place: tuple[Profile, Lake],
) -> None:
    profile, lake = place

    def failure() -> Failure | None:
        """Return the failure of the poisoned text; neighbours have one while a later
        attempt works on them.
        """
        failures = lake.read(Failure, stage=["article_embeddings"])
        return next(
            (one for one in failures if WORKER_POISON.split("-")[0] in one.article_id),
            None,
        )

    failed = wait_for(failure, limit_s=HEALED_WITHIN_S, log=profile.log)
    assert (failed.reason, failed.attempts) == (
        "the process ended while it worked on this",
        1,
    )

    articles = {
        key
        for key, outcome in outcomes(lake, RawArticle, "outcome").items()
        if outcome == "ok"
    }
    neighbours = articles - {failed.article_id}

    def embedded() -> bool:
        rows = outcomes(lake, ArticleEmbedding, "outcome")
        return neighbours <= {key for key, outcome in rows.items() if outcome == "ok"}

    wait_for(embedded, limit_s=HEALED_WITHIN_S, log=profile.log)
    wait_for(
        lambda: neighbours <= set(outcomes(lake, IndexedDocument)),
        limit_s=HEALED_WITHIN_S,
        log=profile.log,
    )
    assert failed.article_id not in outcomes(lake, ArticleEmbedding)
    stacks = f"Timeout (0:00:0{poisoned.WATCHDOG_S:.0f})!"
    run_logs = (profile.home / ".news" / "dagster" / "compute_logs").rglob("*.err")
    assert any(stacks in log.read_text() for log in run_logs)
    assert len(profile.worker_pids()) == 2
