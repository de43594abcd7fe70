"""Names of people, bodies and places: their list and pages, and how operators merge them
and undo it.
"""

from dataclasses import replace
from xml.etree import ElementTree

import httpx
import pytest

from news_assets.desks.name_file import KnownNames
from news_assets.records.alerts import OperatorAction
from news_assets.records.derived import EnrichedArticle, NameMerge
from news_assets.store.lake import Lake
from news_assets.store.queries.names import named_by
from news_assets_tests.store.examples import full
from news_assets_tests.support.waiting import wait_for
from news_assets_tests.web.operations.conftest import Site, log_in

PATH = "/operations/names"
LIST = "/api/v1/names?days=3660"


def give_names(lake: Lake) -> None:
    """Give `a-1` and `a-2` a person by two names, `a-1` a body too."""
    rows = {row.article_id: row for row in lake.read(EnrichedArticle)}
    first = replace(
        rows["a-1"],
        entities=("Ana Lima", "City Council"),
        entity_ids=("person/ana-lima", "body/city-council"),
    )
    second = replace(
        rows["a-2"],
        outcome="ok",
        entities=("Ana M. Lima",),
        entity_ids=("person/ana-m-lima",),
    )
    lake.transact(lambda rows: rows.upsert([first, second]))


@pytest.fixture
def named(operated: Site, client: httpx.Client) -> httpx.Client:
    """A browser of an operator; articles have names."""
    give_names(operated.lake)
    log_in(client)
    return client


def counts(client: httpx.Client, path: str = LIST) -> dict[str, int]:
    items = client.get(path).json()["items"]
    return {one["name_id"]: one["articles"] for one in items}


def test_names_are_listed_by_the_number_of_their_articles(named: httpx.Client) -> None:
    assert counts(named) == {
        "body/city-council": 1,
        "person/ana-lima": 1,
        "person/ana-m-lima": 1,
    }
    assert counts(named, f"{LIST}&kind=body&desk=d&agency=a") == {
        "body/city-council": 1
    }
    assert counts(named, f"{LIST}&agency=b") == {}


def test_a_page_has_articles_publishers_and_the_names_beside(
    named: httpx.Client,
) -> None:
    view = named.get("/api/v1/names/person/ana-lima").json()
    assert (view["name"], view["kind"], view["article_count"]) == (
        "Ana Lima",
        "person",
        1,
    )
    assert [one["article_id"] for one in view["newest"]] == ["a-1"]
    assert view["publishers"] == [{"desk": "d", "agency": "a", "articles": 1}]
    assert [one["name_id"] for one in view["beside"]] == ["body/city-council"]
    page = named.get("/names/person/ana-lima").text
    assert 'href="/names/body/city-council"' in page
    assert 'href="/search?sort=date&amp;entity=Ana+Lima"' in page
    assert 'href="/names/person/ana-lima"' in named.get("/articles/a-1").text
    assert named.get("/names/person/nobody").status_code == 404


def test_a_page_is_a_feed(named: httpx.Client) -> None:
    feed = ElementTree.fromstring(named.get("/names/person/ana-lima.atom").content)
    entries = feed.findall("{http://www.w3.org/2005/Atom}entry")
    assert len(entries) == 1


def test_merged_names_are_one_until_they_are_separated(
    operated: Site, named: httpx.Client
) -> None:
    form = {"name": "person/ana-m-lima", "same_as": "person/ana-lima"}
    assert named.post(PATH, data=form).status_code == 303
    merged = {"person/ana-lima": 2, "body/city-council": 1}
    # lists may be half a second old
    wait_for(lambda: counts(named) == merged)
    by_old_id = named.get("/api/v1/names/person/ana-m-lima").json()
    assert (by_old_id["name_id"], by_old_id["article_count"]) == ("person/ana-lima", 2)
    assert by_old_id["aliases"] == ["Ana M. Lima"]
    assert "merged by Ana" in named.get("/names/person/ana-lima").text

    assert named.post(PATH, data={"name": "person/ana-m-lima"}).status_code == 303
    wait_for(lambda: counts(named).get("person/ana-m-lima") == 1)
    assert operated.lake.read(NameMerge) == []
    done = [(one.action, one.detail) for one in operated.lake.read(OperatorAction)]
    assert done == [
        ("merge names", "person/ana-m-lima into person/ana-lima"),
        ("separate names", "person/ana-m-lima from person/ana-lima"),
    ]


def test_a_chain_of_merges_leads_to_its_end_and_a_circle_is_refused(
    operated: Site, named: httpx.Client
) -> None:
    for name, same_as in (
        ("person/a", "person/ana-m-lima"),
        ("person/ana-m-lima", "person/ana-lima"),
    ):
        assert (
            named.post(PATH, data={"name": name, "same_as": same_as}).status_code == 303
        )
    found = named_by(operated.lake, "person/a")
    assert found is not None
    assert found.name_id == "person/ana-lima"
    circle = {"name": "person/ana-lima", "same_as": "person/a"}
    assert named.post(PATH, data=circle).status_code == 400
    itself = {"name": "person/ana-lima", "same_as": "person/ana-lima"}
    assert named.post(PATH, data=itself).status_code == 400


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"name": "nobody", "same_as": "person/ana-lima"}, 400),
        ({"name": "person/a", "same_as": "ana"}, 400),
        ({"name": "person/a"}, 404),
    ],
)
def test_a_wrong_merge_changes_nothing(
    operated: Site, named: httpx.Client, form: dict[str, str], status: int
) -> None:
    assert named.post(PATH, data=form).status_code == status
    assert operated.lake.read(NameMerge) == []


def test_readers_merge_nothing(operated: Site, client: httpx.Client) -> None:
    give_names(operated.lake)
    form = {"name": "person/ana-m-lima", "same_as": "person/ana-lima"}
    assert client.post(PATH, data=form).status_code in (401, 403)
    assert operated.lake.read(NameMerge) == []
    assert "Merge with another name" not in client.get("/names/person/ana-lima").text


def test_the_file_of_a_desk_merges_names_and_an_operator_precedes_it(
    operated: Site,
) -> None:
    give_names(operated.lake)
    known = KnownNames(
        same_as={"person/ana-m-lima": "person/ana-lima"},
        names={"person/ana-lima": "Ana Maria Lima"},
    )
    found = named_by(operated.lake, "person/ana-m-lima", known)
    assert found is not None
    assert (found.name, found.article_ids) == ("Ana Maria Lima", ["a-2", "a-1"])
    row = full(NameMerge, name_id="person/ana-m-lima", same_as="body/city-council")
    operated.lake.transact(lambda rows: rows.upsert([row]))
    found = named_by(operated.lake, "person/ana-lima", known)
    assert found is not None
    assert found.article_ids == ["a-1"]
