"""Saved queries made on a page: only by operators, with what is wrong named, and listed
beside those of the file.
"""

import httpx
import pytest

from news_assets.pipeline.alerts.query_file import query_of
from news_assets.records.alerts import OperatorAction, StoredQuery
from news_assets_tests.store.examples import full, upsert
from news_assets_tests.web.operations.conftest import Site, log_in

PATH = "/operations/queries"
FORM = {
    "name": "Winter",
    "query": "winter -snow",
    "agency": "a",
    "when": "daily",
    "to": ["desk", "chat"],
}
STORIES = {"stories": "true", "publishers": "4"}


def test_a_search_is_saved_listed_and_deleted_and_both_are_on_record(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    page = client.get("/search?q=winter&agency=a&from=2026-01-01").text
    assert (
        'href="/operations/queries?q=winter&amp;agency=a&amp;from=2026-01-01"' in page
    )
    form = client.get(f"{PATH}?q=winter&agency=a").text
    assert 'name="query" maxlength="500" value="winter"' in form
    assert '<input type="hidden" name="agency" value="a">Publisher: Câmara a' in form

    assert client.post(PATH, data={**FORM, **STORIES}).headers["location"] == PATH

    [row] = operated.lake.read(StoredQuery)
    assert (row.saved_by, query_of(row).model_dump(exclude_defaults=True)) == (
        "Ana",
        {**FORM, "to": ("desk", "chat"), "stories": True, "publishers": 4},
    )
    listed = client.get(PATH).text
    assert "Winter" in listed
    assert "stories of 4 publishers or more" in listed
    listed = client.get("/queries").text
    assert "from the file" in listed
    assert "saved by Ana" in listed
    assert "q=winter+-snow" in client.get("/queries.opml").text

    assert client.post(f"{PATH}/delete", data={"name": "Winter"}).status_code == 303
    assert operated.lake.read(StoredQuery) == []
    assert client.post(f"{PATH}/delete", data={"name": "Winter"}).status_code == 404
    actions = [
        (one.operator, one.action, one.article_id, one.detail)
        for one in operated.lake.read(OperatorAction)
    ]
    assert actions == [
        ("Ana", "save query", "", "Winter"),
        ("Ana", "delete query", "", "Winter"),
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": "a/b"}, "cannot be a name"),
        ({"name": " "}, "name is missing"),
        (
            {"name": "Buses and trams"},
            "the file of NEWS_QUERIES has a query `Buses and trams` too",
        ),
        ({"to": []}, "choose a channel"),
        ({"to": ["desk", "fax"]}, "goes to `fax`, which the file"),
        ({"when": "soon"}, "when: "),
        ({"query": "x" * 501}, "query: "),
        ({"query": "bus OR"}, "column 5 of the search: OR has nothing after it"),
        ({"colour": "red"}, "colour: unknown key"),
    ],
)
def test_a_wrong_query_is_named_in_the_form_which_keeps_what_was_written(
    operated: Site, client: httpx.Client, change: dict[str, object], reason: str
) -> None:
    log_in(client)
    answer = client.post(PATH, data={**FORM, **change})
    assert answer.status_code == 400
    assert reason in answer.text
    assert ("winter -snow" in answer.text) == ("query" not in change)
    assert operated.lake.read(StoredQuery) == operated.lake.read(OperatorAction) == []


def test_a_name_is_taken_once(operated: Site, client: httpx.Client) -> None:
    log_in(client)
    client.post(PATH, data=FORM)
    answer = client.post(PATH, data={**FORM, "query": "other"})
    assert (answer.status_code, "was saved already" in answer.text) == (400, True)
    assert query_of(operated.lake.read(StoredQuery)[0]).query == "winter -snow"


def test_a_query_whose_channel_the_file_has_no_more_is_listed_with_the_fix(
    operated: Site, client: httpx.Client
) -> None:
    upsert(
        operated.lake,
        [full(StoredQuery, name="Old", query_json='{"name": "Old", "to": ["fax"]}')],
    )
    log_in(client)
    for path in (PATH, "/queries"):
        assert (
            "the query `Old` goes to `fax`, which the file of NEWS_QUERIES does not have"
            in client.get(path).text
        )


def test_without_a_token_no_search_can_be_saved(site: str) -> None:
    assert "Save this search" not in httpx.get(f"{site}/search").text
    assert "NEWS_OPERATOR_TOKEN is not set" in httpx.get(f"{site}{PATH}").text
    assert httpx.post(f"{site}{PATH}", data=FORM).status_code == 403
