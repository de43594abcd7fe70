"""Outcomes and votes in the pages of Legistar, IQM2 and eScribe."""

import pytest

from news_assets.records.meetings import Outcome, Vote
from news_assets.sources.civic.reading.labelled import decision_of
from news_assets_tests.sources.civic.answers import one

DECIDED = Outcome(result="Carried", tally="4 to 1", mover="A. Ruiz", seconder="B. Chen")
VOTES = (Vote(person="A. Ruiz", value="Aye"), Vote(person="C. Okafor", value="Nay"))


def test_labels_give_the_outcome_and_each_members_vote() -> None:
    facts = {
        "RESULT:": "Carried [4 to 1]",
        "MOVER:": "A. Ruiz",
        "SECONDER:": "B. Chen",
        "AYES:": "A. Ruiz",
        "NAYS (1):": "C. Okafor",
    }
    assert decision_of(facts) == (DECIDED, VOTES)


@pytest.mark.parametrize(
    "names", ["Bee, Cee, Dee", "Bee, Cee, and Dee", "Bee, Cee and Dee", "Bee; Cee; Dee"]
)
def test_names_are_told_apart(names: str) -> None:
    _, votes = decision_of({"ayes": names})
    assert [vote.person for vote in votes] == ["Bee", "Cee", "Dee"]


def test_iqm2_shows_the_last_decision_on_the_page_of_a_file() -> None:
    results = "".join(
        f"<table class=VoteRecord><tr><td>RESULT:</td><td>{result}</td></tr>"
        "<tr><td>MOVER:</td><td>A. Ruiz</td></tr><tr><td>SECONDER:</td><td>B. Chen</td></tr>"
        "<tr><td>AYES:</td><td>A. Ruiz</td></tr><tr><td>NAYS:</td><td>C. Okafor</td></tr></table>"
        for result in ("Tabled [5 to 0]", "Carried [4 to 1]")
    )
    facts = "<table id=tblLegiFileInfo><tr><th>Category:</th><td>Bill</td></tr></table>"
    meeting = one(
        "iqm2", facts + results, "https://x.iqm2.com/Citizens/Detail_LegiFile.aspx?ID=5"
    )
    [item] = meeting.items
    assert (item.outcome, item.votes) == (DECIDED, VOTES)


def test_legistar_shows_votes_on_the_page_of_an_action() -> None:
    page = """<a id="x_hypMover">A. Ruiz</a><a id="x_hypSeconder">B. Chen</a>
    <table class="rgMasterTable" id="x_gridVote_ctl00"><tr><th class="rgHeader">Person Name</th>
    <th class="rgHeader">Vote</th></tr><tr class="rgRow"><td>A. Ruiz</td><td>Aye</td></tr>
    <tr class="rgAltRow"><td>C. Okafor</td><td>Nay</td></tr></table>"""
    url = "https://x.legistar.com/HistoryDetail.aspx?ID=5&GUID=G"
    [item] = one("legistar_html", page, url).items
    assert (item.outcome.mover, item.votes, item.details_urls) == (
        "A. Ruiz",
        VOTES,
        (url,),
    )


def test_escribe_shows_motions_in_the_minutes() -> None:
    page = """<div class="AgendaItemContainer"><div class="AgendaItem AgendaItem7">
    <div class="AgendaItemCounter">1</div><div class="AgendaItemTitle">Lease</div>
    <ul class="AgendaItemMotions"><li class="AgendaItemMotion"><div class="MovedBy">Moved by: A. Ruiz</div>
    <div class="SecondedBy">Seconded by: B. Chen</div><table class="MotionVoters">
    <tr><td class="VoterVote">For (1)</td><td class="VotesUsers">A. Ruiz</td></tr></table>
    <div class="MotionResult">Carried (4 to 1)</div></li></ul></div></div>"""
    url = "https://pub-x.escribemeetings.com/Meeting.aspx?Id=ab&Agenda=PostMinutes&lang=English"
    [item] = one("escribe", page, url).items
    assert (item.sequence, item.vendor_id, item.outcome) == (0, "7", DECIDED)
    assert item.votes == (Vote(person="A. Ruiz", value="For"),)
