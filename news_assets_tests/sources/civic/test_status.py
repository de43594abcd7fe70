"""Whether 200 titles say that their meeting is cancelled; one in three was set aside while the rules were written."""

from pathlib import Path

from news_assets.sources.civic.reading.status import says_cancelled

TITLES = Path(__file__).parent / "data" / "titles_with_status.tsv"


def test_a_word_in_a_title_cancels_a_meeting_only_if_it_is_said_of_the_meeting() -> None:
    rows = [line.split("\t") for line in TITLES.read_text("utf-8").splitlines()]
    wrong = [title for status, title in rows if says_cancelled(title) != (status == "cancelled")]
    assert len(rows) == 200
    assert wrong == []
