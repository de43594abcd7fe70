import re
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from lxml import etree

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.report_contents import (
    DayCounts,
    DeskCounts,
    Headline,
    Report,
    build_report,
)
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.desks import Desk
from news_assets.web.day_report import history_image, report_file, write_report

DAY = date(2026, 11, 19)
NOW = datetime(2026, 11, 20, 5, 30, tzinfo=UTC)
UNTRUSTED = "<script>alert(1)</script> \" onload='x' & ${a}$ {{ 7 * 7 }} ]]>"


def desk(key: str) -> Desk:
    return Desk(
        key=key, timezone="UTC", language="en", first_day=date(2026, 1, 1), agencies=()
    )


def headline(url: str = "https://x.example/1", title: str = "A title") -> Headline:
    return Headline(
        desk="g1", agency="rio", first_seen_at=NOW, title=title, url=url, theme=None
    )


def report(
    counts: DayCounts | None = None,
    desks: int = 1,
    gaps: dict[str, Findings] | None = None,
) -> Report:
    return build_report(
        counts or full_day(desks),
        [desk(f"desk{n}") for n in range(desks)],
        {"desk0": gaps or {}},
        NOW,
    )


def full_day(desks: int) -> DayCounts:
    """A day with thousands of entries each hour for each of so many desks."""
    keys = [f"desk{n}" for n in range(desks)]
    return DayCounts(
        day=DAY,
        desks=tuple(
            DeskCounts(
                desk=key, entries=99_999, articles=90_000, derived={"indexed": 80_000}
            )
            for key in keys
        ),
        hours=tuple((key, hour, 4_000) for key in keys for hour in range(24)),
        outcomes=(("desk0", "ok", 90_000),),
        themes=tuple(
            (f"A theme with a rather long label, number {n}", 500) for n in range(20)
        ),
        history=((DAY, "ok", 90_000), (DAY, "failed", 20)),
        newest=(headline(),),
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str | None] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [value for name, value in attrs if name == "href"]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    return tags


def test_untrusted_text_is_escaped() -> None:
    counts = replace(
        full_day(1),
        reasons=(("failed", UNTRUSTED, 1),),
        themes=((UNTRUSTED, 3),),
        poll_reasons=((UNTRUSTED, "failed", UNTRUSTED, 1),),
        newest=(replace(headline(title=UNTRUSTED), agency=UNTRUSTED, theme=UNTRUSTED),),
    )
    tags = parsed(
        report_file(
            report(counts, gaps={UNTRUSTED: Findings(1, (UNTRUSTED,), ((UNTRUSTED,),))})
        )
    )

    assert "script" not in tags.names
    assert "49" not in tags.text
    assert len([text for text in tags.text if UNTRUSTED in text]) == 10


def test_only_web_addresses_become_links() -> None:
    others = (
        "javascript:alert(1)",
        "data:text/html,x",
        "//x.example/",
        "http://[x",
        "",
        "nonsense",
    )
    newest = tuple(map(headline, (*others, "https://x.example/1")))
    page = parsed(report_file(report(DayCounts(day=DAY, newest=newest))))
    assert page.links == ["https://x.example/1"]


def test_the_page_is_self_contained() -> None:
    page = report_file(report(desks=2))
    assert "src=" not in page
    assert "url(" not in page
    assert "<link" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_an_empty_day_has_a_notice_and_no_plots() -> None:
    page = report_file(report(DayCounts(day=DAY)))
    assert "No new entries on this day" in page
    assert "<rect" not in page
    assert "No new entries" not in report_file(report())


def test_findings_come_first_with_the_passed_checks_below() -> None:
    gaps = {
        "behind": Findings(9, ("agency", "since"), (("rio", NOW),)),
        "silent": Findings(3, ("agency",), ()),
    }
    text = " ".join(parsed(report_file(report(gaps=gaps))).text)

    assert text.index("Needs attention") < text.index("New entries by hour")
    assert "1 found among 9 checked" in text
    assert "2026-11-20 05:30 UTC" in text
    assert "In order: desk0: silent (3 checked)." in text


def test_equal_reports_give_equal_pages() -> None:
    counts = DayCounts(day=DAY, themes=(("A theme", 3),), history=((DAY, "ok", 3),))
    assert report_file(report(counts)) == report_file(report(counts))


@pytest.mark.parametrize("desks", [1, 5, 12])
def test_pages_are_small_for_any_number_of_desks(desks: int) -> None:
    assert len(report_file(report(desks=desks))) < 100_000


def test_columns_are_as_high_as_their_share_of_the_scale() -> None:
    history = (
        (DAY, "ok", 30),
        (DAY, "failed", 10),
        (DAY - timedelta(days=1), "ok", 20),
    )
    image = history_image(report(DayCounts(day=DAY, history=history)))
    svg = etree.fromstring(b64decode(image.partition(",")[2]))
    heights = [float(rect.get("height")) for rect in svg.iter("{*}rect")]
    assert heights == [80, 120, 40]


def test_the_file_is_named_by_its_day_and_replaced_atomically(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "nested"
    path = write_report(folder, report(DayCounts(day=DAY)))
    assert (
        write_report(
            folder,
            report(DayCounts(day=DAY, desks=(DeskCounts(desk="desk0", entries=1),))),
        )
        == path
    )

    assert [file.name for file in folder.iterdir()] == ["2026-11-19.html"]
    assert path.stat().st_mode & 0o777 == 0o644
    assert "No new entries" not in path.read_text()


def test_a_folder_that_cannot_be_created_is_an_error_with_its_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        NewsAssetsError, match=r"file/2026-11-19\.html: the report cannot be written"
    ):
        write_report(tmp_path / "file", report(DayCounts(day=DAY)))
