"""Articles of news about the councils of three made cities and a made town of Brazil: what
they are linked to.

    python -m news_assets_tests.quality.news_links

The cities have the same numbers of matters and meet on the same evenings, so that only
the place tells them apart. Each article says what it reports on; those without anything
name numbers, bodies and days of something else. Prints precision and recall by evidence,
and exits 1 if the precision is below 95 %, or the recall below 80 %.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from news_assets.pipeline.civic.mentions import mentions_of
from news_assets.records.articles import RawArticle
from news_assets.records.derived import CivicMention
from news_assets.records.meetings import Matter, StoredItem, StoredMeeting
from news_assets.store.lake import Lake
from news_assets.store.queries.news_links import NewsLink, links_of_articles
from news_assets_tests.store.examples import sparse, upsert
from news_assets_tests.support.stored_meeting import ITEM, MEETING

MIN_PRECISION, MIN_RECALL = 0.95, 0.8
DAY: Final = date(2026, 11, 25)  # of the articles, a Wednesday
SEEN: Final = datetime(2026, 11, 25, 12, tzinfo=UTC)
PLACES: Final = {
    ("cities", "oakfordIL"): "oakford",
    ("cities", "mapletonNY"): "mapleton",
    ("cities", "riverTX"): "river bend",
    ("cities", "serraAzul"): "serra azul",
}
# meeting, body, day, and items: number, kind, title
AGENDA: Final = (
    (
        *("1", "City Council", date(2026, 11, 24)),
        (
            (
                "ORD 2026-101",
                "Ordinance",
                "Rezone parcels along Harbor Avenue for housing",
            ),
            (
                "RES 2026-077",
                "Resolution",
                "Award the paving of Oak Street to Delta Paving",
            ),
            ("ORD 2026-115", "Ordinance", "Annual water and sewer rates"),
            ("", "", "Lease of the former armory as a winter shelter with 80 beds"),
        ),
    ),
    (
        *("2", "Planning Commission", date(2026, 12, 1)),
        (
            (
                "ORD 2026-101",
                "Ordinance",
                "Rezone parcels along Harbor Avenue for housing",
            ),
            (
                "SP 2026-9",
                "Site Plan",
                "Site plan review of a grocery store at 900 Mill Road",
            ),
            ("26-0412", "Resolution", "Landmark designation of the Palace Theater"),
        ),
    ),
    (*("3", "Parks Board", date(2026, 12, 3)), ()),
)
SERRA: Final = (
    (
        *("1", "Câmara Municipal", date(2026, 11, 24)),
        (
            (
                "PL 12/2026",
                "Projeto de Lei",
                "Cria o programa de coleta seletiva nas escolas",
            ),
            ("PL 1.034/2026", "Projeto de Lei", "Tarifa zero nos ônibus aos domingos"),
            (
                "REQ 7/2026",
                "Requerimento",
                "Informações sobre as obras da ponte do rio Verde",
            ),
        ),
    ),
)


@dataclass(frozen=True)
class Labelled:
    """An article; `expected` are `agency:number`, `agency:meeting` or `law:number`."""

    text: str
    expected: tuple[str, ...] = ()
    title: str = ""
    agency: str = "courier"
    links: tuple[str, ...] = ()
    language: str = "en"


def english(text: str, *expected: str, **more: str) -> Labelled:
    return Labelled(text, expected, **more)  # type: ignore[arg-type]


def portuguese(text: str, *expected: str, **more: str) -> Labelled:
    return Labelled(text, expected, language="pt", **more)  # type: ignore[arg-type]


ARTICLES: Final = (
    # --- numbers ---
    english(
        "OAKFORD — The council approved Ordinance 2026-101, which rezones Harbor Avenue.",
        "oakfordIL:ORD 2026-101",
    ),
    english(
        "Neighbors in Mapleton oppose Ordinance No. 2026-101. They fear traffic.",
        "mapletonNY:ORD 2026-101",
    ),
    english(
        "Resolution 2026-77 passed without debate in River Bend after a long evening.",
        "riverTX:RES 2026-77",
    ),
    english(
        "The paving contract (RES 2026-077) goes to Delta Paving LLC.",
        "oakfordIL:RES 2026-77",
        title="Oakford picks a paver",
    ),
    english(
        "What changes with ORD-2026-115? Water bills rise in January, the utility said.",
        "mapletonNY:ORD 2026-115",
        title="Mapleton households to pay more for water",
    ),
    english(
        "A grocery store may open on Mill Road in Oakford, according to site plan SP 2026-9.",
        "oakfordIL:SP 2026-9",
    ),
    english(
        "The Palace Theater in Mapleton is to be a landmark, under Resolution 26-0412.",
        "mapletonNY:26-412",
    ),
    english(
        "File No. 26-0412 would protect the Palace Theater of River Bend.",
        "riverTX:26-412",
    ),
    english(
        "Officials in Oakford and Mapleton compared notes. In Oakford, Ordinance 2026-115"
        " sets the water rates.",
        "oakfordIL:ORD 2026-115",
    ),
    english(
        "We explain Ordinance 2026-115 for our readers.",
        "oakfordIL:ORD 2026-115",
        agency="oakfordIL",
    ),
    english(
        "Congress has passed Public Law 117-58, which pays for bridges.",
        "law:Public Law 117-58",
    ),
    portuguese(
        "A Câmara de Serra Azul aprovou o PL 12/2026, da coleta seletiva.",
        "serraAzul:PL 12/2026",
    ),
    portuguese(
        "O Projeto de Lei nº 1.034/2026 prevê tarifa zero em Serra Azul.",
        "serraAzul:PL 1034/2026",
    ),
    portuguese(
        "O contrato segue a Lei nº 14.133, de 1º de abril de 2021.",
        "law:Lei 14.133/2021",
    ),
    portuguese(
        "A Lei Complementar 101/2000 limita a despesa; a PEC 45/2019 muda os impostos.",
        "law:LC 101/2000",
        "law:PEC 45/2019",
    ),
    portuguese(
        "A Lei 11.340/2006, a Maria da Penha, faz vinte anos.", "law:Lei 11.340/2006"
    ),
    # --- addresses ---
    Labelled(
        "The staff report recommends the plan.",
        ("oakfordIL:ORD 2026-101",),
        links=("https://files.example/oakfordIL/attachments/ORD2026-101.pdf",),
    ),
    Labelled(
        "Read the agenda before you go.",
        ("mapletonNY:meeting 3",),
        links=("http://mapletonNY.example/Meeting?id=3#top",),
    ),
    Labelled(
        "All agendas are on one page.", links=("https://oakfordIL.example/agendas",)
    ),
    # --- body, day and title ---
    english(
        "The Oakford City Council on Tuesday agreed to lease the former armory as a winter shelter"
        " with 80 beds for people without housing.",
        "oakfordIL:meeting 1",
        "oakfordIL:title",
    ),
    english(
        "Paving of Oak Street goes to Delta Paving, the City Council of Mapleton decided Tuesday"
        " night.",
        "mapletonNY:meeting 1",
        "mapletonNY:RES 2026-77",
    ),
    english(
        "The Planning Commission in River Bend will review a grocery store at 900 Mill Road on"
        " Dec. 1.",
        "riverTX:meeting 2",
        "riverTX:SP 2026-9",
    ),
    english("The Oakford Parks Board meets on December 3.", "oakfordIL:meeting 3"),
    portuguese(
        "A Câmara Municipal de Serra Azul discutiu nesta terça-feira (24) a tarifa zero nos ônibus"
        " aos domingos.",
        "serraAzul:meeting 1",
        "serraAzul:PL 1034/2026",
    ),
    portuguese(
        "Em 24 de novembro a Câmara Municipal de Serra Azul pediu informações sobre as obras da"
        " ponte do rio Verde.",
        "serraAzul:meeting 1",
        "serraAzul:REQ 7/2026",
    ),
    # --- something else ---
    english("The council of Cedar Falls approved Ordinance 2026-101 on Tuesday."),
    english("Ordinance 2026-101 has passed. Nobody said where."),
    english("Both Oakford and Mapleton have an Ordinance 2026-101."),
    english(
        "Oakford beat Mapleton 101-77 on Tuesday. The coach, a board member, was glad."
    ),
    english("The school board of Oakford met on Tuesday and hired a superintendent."),
    english("The Oakford Arts Council opened a show on Tuesday."),
    english("Oakford's mayor marries on December 3. The parks are lovely."),
    english(
        "The state's Bill 2026 budget grows by 101 million. Oakford gets none of it."
    ),
    english("A flight, OAK 2026-101, was late in Oakford."),
    english("In 2026, 101 trees were planted in Oakford. Resolution: plant 77 more."),
    english(
        "The City Council of Oakford meets in January. On Tuesday a shelter opened elsewhere."
    ),
    english(
        "The county commission met Tuesday in Harbor County about Oak Street paving."
    ),
    english("Resolution 2026-78 passed in Oakford."),
    english("Ordinance 2025-101 passed in Oakford last year."),
    english("Case 26-0412 is before the court of Mapleton. The judge is ill."),
    portuguese("A Câmara de Vila Nova aprovou o PL 12/2026."),
    portuguese(
        "A Câmara Municipal de Vila Nova votou nesta terça-feira a tarifa zero."
    ),
    portuguese("A Lei Municipal 14.133/2021 de Vila Nova trata de feiras."),
    portuguese("A Lei 1.234/2021 criou o parque da cidade."),
    portuguese("Em Serra Azul, 12 das 2026 casas têm água."),
    portuguese("O PL 12/2025 foi arquivado em Serra Azul."),
    portuguese("O conselho tutelar de Serra Azul atendeu na terça-feira 12 famílias."),
)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with Lake.open(path / "catalog.sqlite", path / "data") as lake:
            fill(lake)
            ids = [_id(n) for n in range(len(ARTICLES))]
            with lake.latest() as reader:
                found = links_of_articles(reader, ids, {DAY}, PLACES)
    right, wrong, missing = judge(found)
    expected = sum(len(one.expected) for one in ARTICLES)
    print(f"{len(ARTICLES)} articles, {expected} links")
    for evidence in sorted({*right, *wrong}):
        print(f"  {evidence}: {right[evidence]} right, {wrong[evidence]} wrong")
    precision = right.total() / max(1, right.total() + wrong.total())
    recall = 1 - len(missing) / expected
    print(f"precision {precision:.3f}, recall {recall:.3f}")
    for line in missing:
        print("  missing:", line)
    if precision < MIN_PRECISION or recall < MIN_RECALL:
        sys.exit(1)


def _id(number: int) -> str:
    return f"news-{number:03}"


def fill(lake: Lake) -> None:
    """Store the agendas and the articles with what they name."""
    meetings: list[StoredMeeting] = []
    items: list[StoredItem] = []
    for desk, agency in PLACES:
        agenda = SERRA if agency == "serraAzul" else AGENDA
        for number, body, day, listed in agenda:
            meeting = _meeting(desk, agency, number, body, day)
            meetings.append(meeting)
            for title in listed:
                items.append(_item(meeting, *title))
    upsert(lake, meetings)
    upsert(lake, items)
    upsert(lake, _matters(items))
    upsert(lake, [_row(n, one) for n, one in enumerate(ARTICLES)])
    upsert(lake, [row for n, one in enumerate(ARTICLES) for row in _mentions(n, one)])


def _row(number: int, one: Labelled) -> RawArticle:
    return sparse(
        RawArticle,
        article_id=_id(number),
        desk="news",
        agency=one.agency,
        day=DAY,
        title=one.title,
        text=one.text,
        language=one.language,
        out_links=one.links,
        outcome="ok",
    )


def _mentions(number: int, one: Labelled) -> list[CivicMention]:
    found = mentions_of(one.title, one.text, one.links, DAY)
    return [
        CivicMention(
            article_id=_id(number),
            desk="news",
            agency=one.agency,
            day=DAY,
            kind=kind,
            named=named,
            passage=passage,
        )
        for kind, named, passage in found
    ]


def _meeting(
    desk: str, agency: str, number: str, body: str, day: date
) -> StoredMeeting:
    return replace(
        MEETING,
        meeting_id=f"{agency}/made/{number}",
        desk=desk,
        agency=agency,
        day=day,
        body=body,
        title=body,
        url=f"https://{agency}.example/agendas",
        agenda_url=f"https://{agency}.example/Meeting?id={number}",
    )


def _item(meeting: StoredMeeting, file: str, kind: str, title: str) -> StoredItem:
    digits = file.replace(" ", "")
    return replace(
        ITEM,
        item_id=f"{meeting.meeting_id}/{digits or 'armory'}",
        meeting_id=meeting.meeting_id,
        desk=meeting.desk,
        agency=meeting.agency,
        day=meeting.day,
        title=title,
        matter=f"file:{file}" if file else "title:armory",
        matter_file=file or None,
        matter_type=kind or None,
        attachment_names=("Report",),
        attachment_urls=(
            f"https://files.example/{meeting.agency}/attachments/{digits}.pdf",
        ),
        document_ids=("a" * 64,),
        article_id=None,
    )


def _matters(items: Sequence[StoredItem]) -> list[Matter]:
    found: dict[tuple[str, str], Matter] = {}
    for item in items:
        before = found.get((item.agency, item.matter))
        found[item.agency, item.matter] = sparse(
            Matter,
            desk=item.desk,
            agency=item.agency,
            matter=item.matter,
            title=item.title,
            matter_file=item.matter_file,
            matter_type=item.matter_type,
            item_ids=(*(before.item_ids if before else ()), item.item_id),
        )
    return list(found.values())


def judge(
    found: Sequence[NewsLink],
) -> tuple[Counter[str], Counter[str], list[str]]:
    """Return the numbers of right and wrong links by evidence, and what is missing."""
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missing: list[str] = []
    for n, article in enumerate(ARTICLES):
        expected = set(article.expected)
        for link in found:
            if link.article_id != _id(n):
                continue
            target = _target(link)
            if target in article.expected:
                right[link.evidence] += 1
                expected.discard(target)
            else:
                wrong[link.evidence] += 1
                print(f"  wrong: {target} by {link.evidence}: {article.text[:90]}")
        missing += [f"{one}: {article.text[:90]}" for one in sorted(expected)]
    return right, wrong, missing


def _target(link: NewsLink) -> str:
    if link.law:
        return f"law:{link.name}"
    if link.meeting_id:
        return f"{link.council}:meeting {link.meeting_id.rpartition('/')[2]}"
    if link.matter.startswith("title:"):
        return f"{link.council}:title"
    number = link.matter.removeprefix("file:")
    return f"{link.council}:{_plain(number)}"


def _plain(number: str) -> str:
    return number.replace("-0", "-").replace(".", "")


if __name__ == "__main__":
    main()
