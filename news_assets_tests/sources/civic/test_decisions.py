"""Decisions in the text of minutes."""

import pytest

from news_assets.records.meetings import Outcome, Vote
from news_assets.sources.civic.reading.prose import ItemName, decision_of, decisions_of
from news_assets_tests.sources.civic.answers import one


def item(number: str, title: str, matter_file: str | None = None) -> ItemName:
    return ItemName(item_id=number, number=number, title=title, matter_file=matter_file)


BUSES = item("4.A", "An ordinance on the contract for night buses", "ORD 2026-101")
PAVING = item(
    "4.B", "Award of the paving of Oak Street to Delta Paving LLC", "RES 2026-077"
)
SIGN = item("5", "Stop sign at Elm Street and Fifth Avenue")
LABELLED = """\
MINUTES OF THE CITY COUNCIL

4.A. ORD-2026-101 An ordinance on the contract for night buses

RESULT: ADOPTED [2 TO 1]
MOVER: Rosa Ruiz
AYES: Ruiz, Chen
NAYS: Okafor

4.B. RES-2026-077 Award of the paving of Oak Street
to Delta Paving LLC
RESULT: TABLED
"""


def test_labelled_lines_are_the_decision_of_the_item_above() -> None:
    assert decisions_of(LABELLED, [BUSES, PAVING, SIGN]) == {
        "4.A": "RESULT: ADOPTED [2 TO 1] MOVER: Rosa Ruiz AYES: Ruiz, Chen NAYS: Okafor",
        "4.B": "RESULT: TABLED",
    }


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        (
            "5. Stop sign at Elm Street\nMany spoke. Motion by Chen, seconded by Ruiz, carried 5-0. All left.",
            "Motion by Chen, seconded by Ruiz, carried 5-0.",
        ),
        (
            "Item 5: Stop sign at Elm Street and Fifth Avenue\nVote: 3-2, failed",
            "Vote: 3-2, failed",
        ),
        (
            "## 5) Stop sign, Elm Street\n**Action taken:** Continued to May 4",
            "Action taken: Continued to May 4",
        ),
        ("5. Stop sign at Elm Street\nThe committee moved on.", None),
        ("5. Adjournment\nMotion carried.", None),
        ("The five members met. Motion carried.", None),
    ],
)
def test_sentences_about_motions_are_decisions_where_number_and_title_agree(
    text: str, decision: str | None
) -> None:
    assert decisions_of(text, [SIGN]).get("5") == decision


@pytest.mark.parametrize(
    "written", ["ORD 2026-101", "Ord. 2026-101", "ord2026-101", "File #ORD-2026-101:"]
)
def test_a_file_number_is_found_as_people_write_it(written: str) -> None:
    assert decisions_of(f"{written} buses\nMotion approved, vote 3-0.", [BUSES]) == {
        "4.A": "Motion approved, vote 3-0."
    }


def test_a_decision_of_an_item_that_is_not_known_is_not_given_to_the_one_before() -> (
    None
):
    text = "4.A Contract for night buses, an ordinance\nNo action.\n5. Stop sign at Elm Street\nRESULT: DENIED"
    assert decisions_of(text, [BUSES, SIGN]) == {"5": "RESULT: DENIED"}


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
