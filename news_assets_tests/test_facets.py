"""A facet is declared once (`SearchColumn`); what has its own list of filters is complete."""

import inspect
from dataclasses import fields

import pytest

from news_assets.commands.search_articles import search_articles
from news_assets.pipeline.alerts.query_file import SavedQuery
from news_assets.ports.search_index import DECLARED_FACETS, Filters
from news_assets.web.parameters import SearchAddress

FILTERS = {facet.name for facet in DECLARED_FACETS} - {"day"}
DAYS = {"from_day", "to_day"}


def test_every_facet_is_a_filter() -> None:
    assert {field.name for field in fields(Filters)} == FILTERS | DAYS


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (SearchAddress.model_fields, FILTERS | DAYS),
        (SavedQuery.model_fields, FILTERS),
        (inspect.signature(search_articles).parameters, FILTERS | DAYS),
    ],
    ids=["addresses", "saved queries", "the command"],
)
def test_searches_take_every_filter(names: object, expected: set[str]) -> None:
    assert expected - set(names) == set()  # type: ignore[call-overload]


def test_only_one_facet_has_several_values_from_a_row() -> None:
    """The embedded index packs the codes of one list beside a document's facts."""
    lists = [one for one in DECLARED_FACETS if one.is_list and one.column.source]
    assert [one.name for one in lists] == ["entity"]
