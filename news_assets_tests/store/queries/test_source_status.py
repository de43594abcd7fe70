from datetime import UTC, datetime, timedelta
from typing import Any

from news_assets.records.articles import Poll, SourceState
from news_assets.store.lake import Lake
from news_assets.store.queries.poll_health import source_records
from news_assets_tests.store.examples import sparse

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def poll(
    ago: timedelta, outcome: str, entry_count: int = 0, new_count: int = 0, **given: Any
) -> Poll:
    values = {
        "source_id": "govbr/mec/1",
        "desk": "govbr",
        "polled_at": NOW - ago,
        "outcome": outcome,
    }
    return sparse(
        Poll, **values | {"entry_count": entry_count, "new_count": new_count} | given
    )


def state(source_id: str, desk: str = "govbr", **given: Any) -> SourceState:
    values = {
        "next_poll_at": NOW + HOUR,
        "last_polled_at": NOW,
        "interval_s": 900.0,
        "last_outcome": "unchanged",
    }
    return sparse(SourceState, source_id=source_id, desk=desk, **values | given)


def store(lake: Lake, *rows: Any) -> None:
    def work(transaction: Any) -> None:
        transaction.upsert([row for row in rows if isinstance(row, SourceState)])
        transaction.append([row for row in rows if isinstance(row, Poll)])

    lake.transact(work)


def test_each_source_has_its_last_ten_polls_oldest_first_and_its_share_of_new_entries(
    lake: Lake,
) -> None:
    store(
        lake,
        state("govbr/mec/1", last_new_at=NOW - HOUR),
        state("govbr/anp/1"),
        state("g1/mec/1", "g1"),
    )
    store(lake, *(poll(hours * HOUR, "unchanged") for hours in range(3, 20)))
    store(
        lake,
        poll(2 * HOUR, "failed"),
        poll(HOUR, "ok", 20, 5),
        poll(48 * HOUR, "ok", 30, 5),
    )
    store(
        lake,
        poll(timedelta(days=31), "ok", 500, 500),
        poll(HOUR, "ok", 9, 9, desk="g1", source_id="g1/mec/1"),
    )

    anp, mec = source_records(lake, NOW, "govbr").iter_rows(named=True)
    assert [(one["outcome"], one["new_count"]) for one in mec["polls"]] == [
        *[("unchanged", 0)] * 8,
        ("failed", 0),
        ("ok", 5),
    ]
    assert mec["polls"][-1]["polled_at"] == NOW - HOUR
    assert (mec["new_ratio"], mec["last_new_at"], mec["interval_s"]) == (
        0.2,
        NOW - HOUR,
        900.0,
    )
    assert (anp["polls"], anp["new_ratio"], anp["next_poll_at"]) == (
        [],
        None,
        NOW + HOUR,
    )


def test_without_a_desk_the_sources_of_all_desks_are_returned(lake: Lake) -> None:
    store(lake, state("govbr/mec/1"), state("g1/mec/1", "g1"))
    assert source_records(lake, NOW)["source_id"].to_list() == [
        "g1/mec/1",
        "govbr/mec/1",
    ]
    assert source_records(lake, NOW, "nowhere").is_empty()


def test_only_sources_and_polls_of_the_given_agencies_are_returned(lake: Lake) -> None:
    store(
        lake,
        state("govbr/mec/1", agency="mec"),
        state("govbr/anp/1", agency="anp"),
        state("g1/mec/1", "g1"),
    )
    store(
        lake,
        poll(HOUR, "ok", 9, 3, agency="mec"),
        poll(HOUR, "ok", 9, 9, agency="anp", source_id="govbr/anp/1"),
    )
    (found,) = source_records(lake, NOW, "govbr", ["mec"]).iter_rows(named=True)
    assert (found["source_id"], len(found["polls"]), found["new_ratio"]) == (
        "govbr/mec/1",
        1,
        1 / 3,
    )
    assert source_records(lake, NOW, "govbr", []).is_empty()
