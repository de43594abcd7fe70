"""The ids of agenda items."""

from dataclasses import replace

from news_assets.pipeline.civic.item_rows import item_keys
from news_assets.records.meetings import AgendaItem
from news_assets_tests.support.stored_meeting import ITEM

MEETING = "springfieldIL/legistar/7"


def test_a_matter_that_is_twice_on_an_agenda_is_two_items() -> None:
    first = AgendaItem(sequence=1, title="Night buses, first reading", vendor_id="12")
    second = replace(first, sequence=2, title="Night buses, second reading")
    assert item_keys(MEETING, [first, second], ()) == [
        f"{MEETING}/12",
        f"{MEETING}/12-2",
    ]


def test_an_item_without_a_vendors_id_keeps_its_id_where_others_are_inserted() -> None:
    stored = replace(
        ITEM,
        item_id=f"{MEETING}/at-1",
        title="Night buses",
        number="2",
        matter_file=None,
    )
    buses = AgendaItem(sequence=3, title="Night buses", number="3")
    inserted = AgendaItem(sequence=2, title="Trams", number="2")
    keys = item_keys(MEETING, [inserted, buses], [stored])
    assert keys[1] == f"{MEETING}/at-1"
    assert keys[0] != keys[1]
