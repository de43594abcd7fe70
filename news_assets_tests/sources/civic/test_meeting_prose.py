"""How to take part, and decisions in the text of minutes."""

import pytest

from news_assets.records.meetings import ItemOutcome, Vote
from news_assets.sources.civic.meeting_prose import (
    ItemName,
    decision_of,
    decisions_of,
    participation_of,
)
from news_assets_tests.sources.civic.answers import one

# --- how to take part -----------------------------------------------------------------

NOTICE = """The City Council will hold a hybrid meeting in the Council Chamber and via Zoom.
Join at https://us02web.zoom.us/j/81122334455?pwd=abc. Meeting ID: 811 2233 4455 / Login Password: 123 987
or dial +1 312 555 0199. Watch at www.youtube.com/springfield.
To submit written comments, e-mail clerk@springfield.gov no later than 5:00 p.m. on Monday, March 9. For disability
accommodations call (217) 555-0142 (TTY 217-555-0143)."""


def found(text: str, kind: str) -> list[tuple[str, str]]:
    return [
        (fact.value, fact.purpose)
        for fact in participation_of(text)
        if fact.kind == kind
    ]


def test_a_notice_is_read_with_the_purpose_of_each_address() -> None:
    assert found(NOTICE, "format") == [("hybrid", "")]
    assert found(NOTICE, "meeting_link") == [
        ("https://us02web.zoom.us/j/81122334455?pwd=abc", "")
    ]
    assert found(NOTICE, "stream_link") == [("https://www.youtube.com/springfield", "")]
    assert found(NOTICE, "meeting_id") == [("81122334455", "")]
    assert found(NOTICE, "passcode") == [("123 987", "")]
    assert found(NOTICE, "email") == [("clerk@springfield.gov", "comment")]
    assert found(NOTICE, "phone") == [
        ("+13125550199", "dial_in"),
        ("+12175550142", "accommodation"),
        ("+12175550143", "tty"),
    ]
    assert found(NOTICE, "deadline") == [
        ("no later than 5:00 p.m. on Monday, March 9", "")
    ]
    assert [value[:26] for value, _ in found(NOTICE, "instruction")] == [
        "To submit written comments"
    ]


def test_each_span_is_where_the_text_says_it() -> None:
    for fact in participation_of(NOTICE):
        written = NOTICE[fact.start : fact.end]
        if fact.kind in ("email", "passcode", "deadline", "instruction"):
            assert written == fact.value
        elif fact.kind in ("phone", "meeting_id"):
            assert "".join(filter(str.isdigit, written))[-8:] == fact.value[-8:]
        else:
            assert fact.value.removeprefix("https://").lower() in written.lower()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A password is required. Ordinance 217-555-01 and file 26-0585 of 2026-03-19.",
        "The bridge is a hybrid of steel and wood.",
        "Comments were received by the clerk.",
        "See https://www.springfield.gov/agenda and zoom.us for help",
        "Meeting number 5 of the year",
        "Approve the online permit system",
    ],
)
def test_what_is_not_said_is_not_found(text: str) -> None:
    assert participation_of(text) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The meeting will be held virtually.", "virtual"),
        ("Virtual Via Zoom", "virtual"),
        ("Attend in person or via Zoom.", "hybrid"),
        ("Hybrid - Virtual Via Zoom", "hybrid"),
        (
            "Attend in person at the Chamber, 41 Court Street, and online through Microsoft Teams",
            "hybrid",
        ),
        ("Join via Zoom or in person", "hybrid"),
    ],
)
def test_the_format_is_what_the_text_calls_it(text: str, value: str) -> None:
    assert found(text, "format") == [(value, "")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Comments must be received by noon on March 3", "by noon on March 3"),
        (
            "Public comment may be submitted until 24 hours before the meeting",
            "until 24 hours before the meeting",
        ),
        (
            "Register to speak by Tuesday at 4 pm; late cards are kept",
            "by Tuesday at 4 pm",
        ),
        (
            "Comments are due by noon the day before, at clerk@town.org.",
            "by noon the day before",
        ),
    ],
)
def test_a_deadline_is_given_in_the_words_of_the_text(text: str, value: str) -> None:
    assert found(text, "deadline") == [(value, "")]


# --- decisions in minutes -------------------------------------------------------------


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


DECIDED = ItemOutcome(
    result="Carried", tally="4 to 1", mover="A. Ruiz", seconder="B. Chen"
)
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
