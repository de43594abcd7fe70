"""The delay from publication to listing on a small set of made histories;
`bench/promptness.py` has the large ones.
"""

import numpy as np

from news_assets.pipeline.schedule import REQUEST_PRICE_MINUTES
from news_assets_tests.bench.promptness import fixed, learnt, replay, result_of
from news_assets_tests.support.publication_histories import (
    DAY_S,
    MONDAY_S,
    History,
    made_histories,
)


def test_a_mixed_desk_is_listed_twice_as_fast_with_fewer_requests_than_every_15_minutes() -> (
    None
):
    histories = made_histories(seed=3, of_each=1, weeks=7)
    usual = result_of((replay(one, fixed(15)) for one in histories), is_warm=True)
    found = result_of(
        (replay(one, learnt(REQUEST_PRICE_MINUTES)) for one in histories), is_warm=True
    )
    assert found.requests < usual.requests
    assert found.median < usual.median / 2
    assert found.p90 < 10


def test_a_replay_lists_each_entry_at_the_first_poll_after_its_publication() -> None:
    times = MONDAY_S + np.array([0.0, 100.0, 1000.0, 1900.0])
    played = replay(History("", times, MONDAY_S + 50, MONDAY_S + DAY_S), fixed(15))
    assert (played.polls_s - MONDAY_S)[:3].tolist() == [950, 1850, 2750]
    assert (played.listed_s - MONDAY_S).tolist() == [950, 1850, 2750]
    assert (played.published_s - MONDAY_S).tolist() == [100, 1000, 1900]
