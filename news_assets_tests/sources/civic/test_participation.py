import pytest

from news_assets.sources.civic.reading.prose import participation_of

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
