import pytest

from news_assets.pipeline.civic.filters import Filtered, filtered
from news_assets.records.desks import ItemFilters


@pytest.mark.parametrize(
    ("title", "tier"),
    [
        ("ROLL CALL", "dropped"),
        ("1. Pledge of Allegiance", "dropped"),
        ("Approval of Minutes of the Regular Meeting of March 3, 2026", "dropped"),
        ("ADJOURN", "dropped"),
        ("Proclamation: Arbor Day", "not_enriched"),
        ("Commendation of Officer Bee", "not_enriched"),
        ("Re-appointments to the Library Board", "not_enriched"),
        ("Liquor License for Acme Tavern", "not_enriched"),
        ("Recommendation to award a contract", None),
        ("Adopt recommendations on the budget of the parks department", None),
        ("Lease of the barn", None),
        ("Contract with Acme Inc. for the taking of minutes and the recording of all hearings for five years", None),
        ("A ten-minute parking zone", None),
        ("", None),
    ],
)
def test_only_whole_words_filter_an_item(title: str, tier: str | None) -> None:
    found = filtered(title, ItemFilters())
    assert (found.tier if found else None) == tier


def test_the_reason_quotes_the_words_that_fit() -> None:
    assert filtered("Roll  Call", ItemFilters()) == Filtered("dropped", 'procedural: "roll call"')


def test_a_desks_own_phrases_replace_the_defaults() -> None:
    own = ItemFilters(dropped=("safety briefing",), not_enriched=())
    assert filtered("Safety briefing (C++)", own) == Filtered("dropped", 'procedural: "safety briefing"')
    assert filtered("Roll call", own) is None
    assert filtered("Proclamation", own) is None
