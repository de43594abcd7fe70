"""`feed_entries` run by hand: cooldown, past days, and metadata about the sources."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.defs.asset_checks import build_freshness_checks
from news_assets.defs.feed_entries import PollConfig, build_feed_entries
from news_assets.defs.resources import CooldownResource, build_resources
from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest
from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.records.desks import Agency, Desk, Source
from news_assets.records.reading import Page
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

# backfill policies, as in definitions.py
pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
DAY = date(2026, 11, 2)
FEED = b"<rss version='2.0'><channel><item><title>One</title><link>https://example.org/1</link></item></channel></rss>"
POSTS = b'[{"id": 7, "date_gmt": "2026-11-02T09:00:00", "link": "https://example.org/7", "title": {"rendered": "7"}}]'


def source(agency: str, kind: str = "feed") -> Source:
    return Source(
        source_id=f"d/{agency}/{kind}",
        desk="d",
        agency=agency,
        kind=kind,
        url=f"https://example.org/{agency}",
        timezone="UTC",
        language="en",
    )


def desk(**kinds: str) -> Desk:
    agencies = tuple(
        Agency(
            key=key,
            name=key,
            timezone="UTC",
            language="en",
            sources=(source(key, kind),),
        )
        for key, kind in kinds.items()
    )
    return Desk(
        key="d",
        timezone="UTC",
        language="en",
        first_day=date(2026, 1, 1),
        agencies=agencies,
    )


@dataclass
class Web(ScriptedFetcher):
    """A fetcher with the same body for every request, or an error."""

    body: bytes | None = FEED
    requested: list[str] = field(default_factory=list)

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.requested.append(request.url)
        if self.body is None:
            return FetchError(request.url, "no answer in time")
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=self.body,
            fetched_at=datetime.now(UTC),
        )


@dataclass
class ByHand:
    """A desk's `feed_entries` over a lake, run as from the UI."""

    desk: Desk
    lake: Lake
    web: Web = field(default_factory=Web)
    cooldown: timedelta = timedelta(minutes=1)

    def run(self, agency: str = "mec", **config: Any) -> dg.ExecuteInProcessResult:
        """Materialise one agency with this configuration."""
        resources = {
            "lake": self.lake,
            "fetcher": self.web,
            "sandbox": InlineSandbox(),
            "cooldown": self.cooldown,
        }
        run_config = {"ops": {"d__feed_entries": {"config": config}}}
        with dg.DagsterInstance.ephemeral() as instance:
            asset = build_feed_entries(self.desk)
            result = dg.materialize(
                [asset],
                partition_key=agency,
                resources=resources,
                run_config=run_config,
                instance=instance,
                raise_on_error=False,
            )
            self.log = "\n".join(
                entry.user_message for entry in instance.all_logs(result.run_id)
            )
            return result


def reason_of(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = result.get_step_failure_events()
    assert failure.step_failure_data.error is not None
    return failure.step_failure_data.error.message


def test_a_source_polled_a_moment_ago_is_skipped_unless_ask_again_is_set(
    lake: Lake,
) -> None:
    made = ByHand(desk(mec="feed"), lake)
    assert made.run().success
    state = lake.read(SourceState)
    again = made.run()
    assert (
        again.success,
        again.asset_materializations_for_node("d__feed_entries"),
    ) == (True, [])
    assert "d/mec/feed | skipped | polled " in made.log
    assert "every source was skipped; the first: polled " in made.log
    assert (lake.read(SourceState), len(made.web.requested)) == (state, 1)
    assert made.run(ask_again=True).success
    made.cooldown = timedelta(0)
    assert made.run().success
    assert [poll.outcome for poll in lake.read(Poll)] == [
        "ok",
        "unchanged",
        "unchanged",
    ]
    assert len(made.web.requested) == 3


def test_the_run_fails_if_every_poll_failed(lake: Lake) -> None:
    made = ByHand(desk(mec="feed"), lake, Web(None))
    assert (
        "none of 1 sources could be read; the first: d/mec/feed: no answer in time"
        in reason_of(made.run())
    )
    assert made.run().success, "a skipped source is not a failed poll"


@pytest.mark.parametrize(
    ("delay_s", "seconds"), [(1.0, 60.0), (0.0, 0.0), (30.0, 1800.0)]
)
def test_the_cooldown_is_sixty_pauses_between_requests(
    delay_s: float, seconds: float
) -> None:
    settings = Settings.model_validate({"host_delay_s": delay_s})
    assert build_resources(settings)["cooldown"] == CooldownResource(seconds=seconds)


# --- past days ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("from_day", "to_day", "past"),
    [
        ("", "", None),
        ("2026-11-01", "2026-11-03", (date(2026, 11, 1), date(2026, 11, 3))),
        ("2026-11-01", "", (date(2026, 11, 1), date(2026, 11, 19))),
        ("2026-11-19", "2026-11-19", (date(2026, 11, 19), date(2026, 11, 19))),
    ],
)
def test_past_days_end_yesterday_by_default(
    from_day: str, to_day: str, past: tuple[date, date] | None
) -> None:
    assert PollConfig(from_day=from_day, to_day=to_day).past(NOW) == past


@pytest.mark.parametrize(
    ("from_day", "to_day", "message"),
    [
        (
            "yesterday",
            "",
            "from_day and to_day are dates such as 2026-01-31: Invalid isoformat string: 'yesterday'",
        ),
        (
            "2026-11-01",
            "2026-02-30",
            "from_day and to_day are dates such as 2026-01-31: day is out of range for month",
        ),
        (
            "2026-11-03",
            "2026-11-01",
            "from_day 2026-11-03 to to_day 2026-11-01 is not a range of days before today",
        ),
        (
            "2026-11-20",
            "",
            "from_day 2026-11-20 to to_day 2026-11-19 is not a range of days before today",
        ),
        (
            "2026-11-01",
            "2026-11-20",
            "from_day 2026-11-01 to to_day 2026-11-20 is not a range of days before today",
        ),
        (
            "",
            "2026-11-01",
            "to_day 2026-11-01 is set without from_day, the first day to poll",
        ),
    ],
)
def test_days_that_are_not_past_days_are_a_failure(
    from_day: str, to_day: str, message: str
) -> None:
    with pytest.raises(dg.Failure) as caught:
        PollConfig(from_day=from_day, to_day=to_day).past(NOW)
    assert caught.value.description == message


def test_a_run_for_past_days_stores_their_entries_without_a_cooldown(
    lake: Lake,
) -> None:
    made = ByHand(desk(mec="wordpress"), lake, Web(POSTS))
    assert made.run().success
    state = lake.read(SourceState)
    lake.transact(lambda rows: rows.delete(FeedEntry, desk=["d"]))
    assert made.run(from_day=str(DAY), to_day=str(DAY)).success
    assert [(entry.day, entry.url) for entry in lake.read(FeedEntry)] == [
        (DAY, "https://example.org/7")
    ]
    assert lake.read(SourceState) == state
    assert len({*made.web.requested}) == 2, "the day has its own URL"


def test_a_run_for_past_days_fails_if_no_source_can_list_them(lake: Lake) -> None:
    made = ByHand(desk(mec="feed", anp="wordpress"), lake)
    assert (
        "none of the 1 sources of these agencies can list past days (kinds: feed); "
        "run without from_day to poll what they list now"
    ) in reason_of(made.run(from_day="2026-11-01"))
    assert (made.web.requested, lake.read(Poll)) == ([], [])


# --- metadata -------------------------------------------------------------------------


def test_a_materialisation_shows_the_last_polls_and_intervals_of_its_sources(
    lake: Lake,
) -> None:
    result = ByHand(desk(mec="feed"), lake).run()
    (event,) = result.asset_materializations_for_node("d__feed_entries")
    (poll,) = lake.read(Poll)
    assert event.metadata["polled_at"].value == poll.polled_at.timestamp()
    lines = str(event.metadata["sources"].value).splitlines()
    assert lines[0].startswith(
        "polls, newest last: + new entries, o listed nothing new"
    )
    assert (
        lines[2]
        == "| source | polls | every | next | new | last new | silent | reason |"
    )
    assert lines[4].startswith("| d/mec/feed | + | 30 min | in ")
    assert len(lines) == 5


def test_the_check_of_sources_shows_each_source_of_an_active_agency(
    lake: Lake, tmp_path: Path
) -> None:
    two = desk(anp="feed", mec="feed", on="feed")
    anp, mec, closed = two.agencies
    two = replace(
        two, agencies=(anp, mec, replace(closed, is_active=False, reason="closed"))
    )
    now = datetime.now(UTC)
    base = {
        "source_id": "d/mec/feed",
        "desk": "d",
        "agency": "mec",
        "last_polled_at": now,
        "next_poll_at": now,
    }
    state = sparse(
        SourceState,
        **base,
        interval_s=7 * 86_400.0,
        last_outcome="failed",
        last_reason="a|b",
    )
    polls = [
        sparse(
            Poll,
            source_id="d/mec/feed",
            desk="d",
            agency="mec",
            polled_at=now - timedelta(hours=ago),
            outcome=outcome,
        )
        for ago, outcome in ((3, "ok"), (2, "unchanged"), (1, "failed"))
    ]
    lake.transact(lambda rows: (rows.upsert([state]), rows.append(polls)))
    checks = build_freshness_checks(two)
    with (
        dg.DagsterInstance.ephemeral() as instance,
        SqliteSearchIndex.open(tmp_path / "search.sqlite") as index,
    ):
        definitions = dg.Definitions(
            assets=[build_feed_entries(two)],
            asset_checks=[checks],
            jobs=[dg.define_asset_job("look", dg.AssetSelection.checks(checks))],
            resources={
                "lake": lake,
                "search": index,
                "fetcher": Web(),
                "sandbox": InlineSandbox(),
                "cooldown": timedelta(0),
            },
        )
        result = definitions.resolve_job_def("look").execute_in_process(
            instance=instance, raise_on_error=False
        )
    (check,) = [
        one
        for one in result.get_asset_check_evaluations()
        if one.check_name == "sources_answer"
    ]
    assert str(check.metadata["sources"].value).splitlines()[4:] == [
        "| d/anp/feed |  |  |  |  |  |  |  |",
        "| d/mec/feed | o=F | 7 days | due |  |  |  | a\\|b |",
    ]
