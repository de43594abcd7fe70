import pytest

from news_assets.pipeline.documents.document_kinds import skip_by_name
from news_assets.pipeline.documents.read import read_document
from news_assets_tests.support.pdfs import pdf_of


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Item_4_Public_Comments_Received.pdf", "public comments, by its name"),
        ("ecomments 2026-03-01", "public comments, by its name"),
        ("Letters of Support.pdf", "public comments, by its name"),
        ("How to Participate via Zoom", "boilerplate, by its name"),
        ("SPEAKER-CARD.pdf", "boilerplate, by its name"),
        ("Public Comment Card.pdf", "boilerplate, by its name"),
        ("Agenda.pdf", None),
        ("Response to public comment period extension.pdf", None),
        ("Recommendation letters policy.pdf", None),
        ("Parking ordinance map amendment.pdf", None),
        ("Board-of-Directors-Code-of-Conduct.pdf", None),
    ],
)
def test_bundles_of_comments_and_boilerplate_are_known_by_their_names(
    name: str, reason: str | None
) -> None:
    assert skip_by_name(name) == reason


def test_a_bundle_of_messages_is_known_by_its_text() -> None:
    mail = "From: A. Citizen\nSent: Monday\nTo: Clerk\nSubject: Item 4\nPlease vote no."
    bundle, report = (
        read_document(pdf_of(*[mail] * 8, "More")),
        read_document(pdf_of(*[mail] * 7, "Report")),
    )
    assert (bundle.outcome, bundle.reason, bundle.pages, bundle.text) == (
        "skipped",
        "public comments: 8 of 9 pages are messages",
        9,
        "",
    )
    assert report.outcome == "ok"
