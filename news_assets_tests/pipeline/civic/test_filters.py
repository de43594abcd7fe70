import pytest

from news_assets.pipeline.civic.item_words import Filtered, filtered
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
        (
            "Contract with Acme Inc. for the taking of minutes and the recording of all hearings for five years",
            None,
        ),
        ("A ten-minute parking zone", None),
        ("", None),
        ("Public Comment", "dropped"),
        ("5.A Communications", "dropped"),
        ("Approve the agenda", "dropped"),
        ("Call to Order - 6:00 PM", "dropped"),
        ("Invocation by Pastor John Smith", "dropped"),
        ("Pledge of Allegiance (Troop 12)", "dropped"),
        ("Roll Call Vote on the Budget Ordinance", None),
        ("Amendment to the Minutes Retention Ordinance", None),
        ("Public Comment Policy Ordinance", None),
        ("Communications tower at 12 Oak Street", None),
        ("Closing of Elm Street for the parade", None),
        ("Reports of flooding on River Road", None),
        ("Proclamation of a Local Emergency", None),
        ("Proclamation declaring December as Adopt a Pet Month", "not_enriched"),
        ("Resolution of Commendation for Ann Lee", "not_enriched"),
        ("Approve liquor license for Acme Tavern", "not_enriched"),
        ("Ordinance on liquor licenses", None),
        ("Hearing on the appointment of a receiver", None),
    ],
)
def test_a_filter_fits_a_whole_title_and_never_a_word_in_one(
    title: str, tier: str | None
) -> None:
    found = filtered(title, ItemFilters())
    assert (found.tier if found else None) == tier


def test_the_reason_quotes_the_words_that_fit() -> None:
    assert filtered("Roll  Call", ItemFilters()) == Filtered(
        "dropped", 'procedural: "roll call"'
    )


def test_a_desks_own_phrases_replace_the_defaults() -> None:
    own = ItemFilters(dropped=("safety briefing",), not_enriched=())
    assert filtered("Safety briefing (C++)", own) == Filtered(
        "dropped", 'procedural: "safety briefing"'
    )
    assert filtered("Roll call", own) is None
    assert filtered("Proclamation", own) is None
