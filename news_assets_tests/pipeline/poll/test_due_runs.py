from dataclasses import replace
from datetime import timedelta

from news_assets.pipeline.poll.due_runs import most_overdue_first
from news_assets_tests.pipeline.poll.poll_cases import NOW, SOURCE, STATE


def test_of_due_sources_the_one_that_is_most_intervals_late_is_first() -> None:
    quiet, active, new = (
        replace(SOURCE, source_id=key) for key in ("quiet", "active", "new")
    )
    states = {
        key: replace(
            STATE,
            source_id=key,
            interval_s=interval_s,
            next_poll_at=NOW - timedelta(seconds=late_s),
        )
        for key, interval_s, late_s in (
            ("quiet", 3600.0, 900.0),
            ("active", 600.0, 300.0),
        )
    }
    assert most_overdue_first([quiet, active, new], states, NOW) == [new, active, quiet]
    an_hour_later = NOW + timedelta(hours=1)
    states["active"] = replace(states["active"], next_poll_at=an_hour_later)
    assert most_overdue_first([active, quiet], states, an_hour_later) == [quiet, active]
