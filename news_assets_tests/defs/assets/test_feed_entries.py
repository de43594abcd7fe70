"""`feed_entries` run by hand: what it passes over, what it asks of the past, and what it shows of the sources."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.defs.assets.feed_entries import PollConfig, build_feed_entries
from news_assets.defs.checks import build_freshness_checks
from news_assets.defs.resources import CooldownResource, build_resources
from news_assets.errors import FetchError
from news_assets.ports import PageRequest
from news_assets.records import Agency, Desk, FeedEntry, Page, Poll, Source, SourceState
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import sparse
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")  # backfill policies, as in definitions.py

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
        Agency(key=key, name=key, timezone="UTC", language="en", sources=(source(key, kind),))
        for key, kind in kinds.items()
    )
    return Desk(key="d", timezone="UTC", language="en", first_day=date(2026, 1, 1), agencies=agencies)


@dataclass
class Web(ScriptedFetcher):
    """A fetcher with one body for everything, or none."""

    body: bytes | None = FEED
    asked: list[str] = field(default_factory=list)

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.asked.append(request.url)
        if self.body is None:
            return FetchError(request.url, "no answer in time")
        return Page(url=request.url, final_url=request.url, status=200, body=self.body, fetched_at=NOW)


@dataclass
class ByHand:
    """A desk's `feed_entries` over a lake, run as one does from the UI."""

    desk: Desk
    lake: Lake
    web: Web = field(default_factory=Web)
    cooldown: timedelta = timedelta(minutes=1)

    def run(self, agency: str = "mec", **config: Any) -> dg.ExecuteInProcessResult:
        """Materialise one agency with this configuration."""
        resources = {"lake": self.lake, "fetcher": self.web, "cooldown": self.cooldown}
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
            self.log = "\n".join(entry.user_message for entry in instance.all_logs(result.run_id))
            return result


def reason_of(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = result.get_step_failure_events()
    assert failure.step_failure_data.error is not None
    return failure.step_failure_data.error.message


def test_a_source_asked_a_moment_ago_is_passed_over_unless_it_is_to_be_asked_again(lake: Lake) -> None:
    made = ByHand(desk(mec="feed"), lake)
    assert made.run().success
    state = lake.read(SourceState)
    again = made.run()
    assert (again.success, again.asset_materializations_for_node("d__feed_entries")) == (True, [])
    assert "d/mec/feed | skipped | asked " in made.log
    assert "no source was asked: each was asked a moment ago; the first: asked " in made.log
    assert (lake.read(SourceState), len(made.web.asked)) == (state, 1)
    assert made.run(ask_again=True).success
    made.cooldown = timedelta(0)
    assert made.run().success
    assert ([poll.outcome for poll in lake.read(Poll)], len(made.web.asked)) == (["ok", "unchanged", "unchanged"], 3)


def test_the_run_fails_where_every_source_that_was_asked_failed(lake: Lake) -> None:
    made = ByHand(desk(mec="feed"), lake, Web(None))
    assert "none of 1 sources could be read; the first: d/mec/feed: no answer in time" in reason_of(made.run())
    assert made.run().success, "it is not asked again at once, which is no failure"


@pytest.mark.parametrize(("delay_s", "seconds"), [(1.0, 60.0), (0.0, 0.0), (30.0, 1800.0)])
def test_the_cooldown_is_sixty_pauses_between_requests(delay_s: float, seconds: float) -> None:
    settings = Settings.model_validate({"host_delay_s": delay_s})
    assert build_resources(settings)["cooldown"] == CooldownResource(seconds=seconds)


# --- days gone by ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("from_day", "to_day", "past"),
    [
        ("", "", None),
        ("2026-11-01", "2026-11-03", (date(2026, 11, 1), date(2026, 11, 3))),
        ("2026-11-01", "", (date(2026, 11, 1), date(2026, 11, 19))),
        ("2026-11-19", "2026-11-19", (date(2026, 11, 19), date(2026, 11, 19))),
    ],
)
def test_a_span_of_the_past_ends_yesterday_at_the_latest(
    from_day: str, to_day: str, past: tuple[date, date] | None
) -> None:
    assert PollConfig(from_day=from_day, to_day=to_day).past(NOW) == past


@pytest.mark.parametrize(
    ("from_day", "to_day", "said"),
    [
        ("yesterday", "", "from_day and to_day take days such as 2026-01-31: Invalid isoformat string: 'yesterday'"),
        ("2026-11-01", "2026-02-30", "from_day and to_day take days such as 2026-01-31: day is out of range for month"),
        ("2026-11-03", "2026-11-01", "from_day 2026-11-03 to to_day 2026-11-01 is no span of days before today"),
        ("2026-11-20", "", "from_day 2026-11-20 to to_day 2026-11-19 is no span of days before today"),
        ("2026-11-01", "2026-11-20", "from_day 2026-11-01 to to_day 2026-11-20 is no span of days before today"),
        ("", "2026-11-01", "to_day 2026-11-01 is the last of the days to ask for; name the first in from_day"),
    ],
)
def test_what_is_no_span_of_the_past_is_a_failure_that_says_what_is(from_day: str, to_day: str, said: str) -> None:
    with pytest.raises(dg.Failure) as caught:
        PollConfig(from_day=from_day, to_day=to_day).past(NOW)
    assert caught.value.description == said


def test_a_run_for_the_past_stores_the_entries_of_those_days_and_no_cooldown_holds_it(lake: Lake) -> None:
    made = ByHand(desk(mec="wordpress"), lake, Web(POSTS))
    assert made.run().success
    state = lake.read(SourceState)
    lake.transact(lambda rows: rows.delete(FeedEntry, desk=["d"]))
    assert made.run(from_day=str(DAY), to_day=str(DAY)).success
    assert [(entry.day, entry.url) for entry in lake.read(FeedEntry)] == [(DAY, "https://example.org/7")]
    assert lake.read(SourceState) == state
    assert len({*made.web.asked}) == 2, "the day has an address of its own"


def test_where_no_source_can_list_its_past_the_run_says_so_and_asks_nothing(lake: Lake) -> None:
    made = ByHand(desk(mec="feed", anp="wordpress"), lake)
    assert (
        "none of the 1 sources of these agencies can list its past (kinds: feed); "
        "without from_day they are asked what they list now"
    ) in reason_of(made.run(from_day="2026-11-01"))
    assert (made.web.asked, lake.read(Poll)) == ([], [])


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_an_agency_with_news_is_shown_with_its_sources_last_polls_and_rhythm(lake: Lake) -> None:
    result = ByHand(desk(mec="feed"), lake).run()
    (event,) = result.asset_materializations_for_node("d__feed_entries")
    lines = str(event.metadata["sources"].value).splitlines()
    assert lines[0].startswith("polls, newest last: + new entries, o listed nothing new")
    assert lines[2] == "| source | polls | every | next | new | last new | silent | reason |"
    assert lines[4].startswith("| d/mec/feed | + | 30 min | in ")
    assert len(lines) == 5


def test_the_check_of_sources_shows_how_each_of_an_active_agency_is_going(lake: Lake, tmp_path: Path) -> None:
    two = desk(anp="feed", mec="feed", on="feed")
    anp, mec, closed = two.agencies
    two = replace(two, agencies=(anp, mec, replace(closed, is_active=False, reason="closed")))
    now = datetime.now(UTC)
    base = {"source_id": "d/mec/feed", "desk": "d", "agency": "mec", "last_polled_at": now, "next_poll_at": now}
    state = sparse(SourceState, **base, interval_s=7 * 86_400.0, last_outcome="failed", last_reason="a|b")
    polls = [
        sparse(
            Poll, source_id="d/mec/feed", desk="d", agency="mec", polled_at=now - timedelta(hours=ago), outcome=outcome
        )
        for ago, outcome in ((3, "ok"), (2, "unchanged"), (1, "failed"))
    ]
    lake.transact(lambda rows: (rows.upsert([state]), rows.append(polls)))
    checks = build_freshness_checks(two)
    with dg.DagsterInstance.ephemeral() as instance, SqliteSearchIndex.open(tmp_path / "search.sqlite") as index:
        definitions = dg.Definitions(
            assets=[build_feed_entries(two)],
            asset_checks=[checks],
            jobs=[dg.define_asset_job("look", dg.AssetSelection.checks(checks))],
            resources={"lake": lake, "search": index, "fetcher": Web(), "cooldown": timedelta(0)},
        )
        result = definitions.resolve_job_def("look").execute_in_process(instance=instance, raise_on_error=False)
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "sources_answer"]
    assert str(check.metadata["sources"].value).splitlines()[4:] == [
        "| d/anp/feed |  |  |  |  |  |  |  |",
        "| d/mec/feed | o=F | 7 days | due |  |  |  | a\\|b |",
    ]
