"""The API, and that its answers are what its description says."""

from typing import Any

import httpx
import jsonschema
import pytest

from news_assets.pipeline.stories.loaded import story_id_of
from news_assets.web.api_operations import OPERATIONS
from news_assets_tests.support.small_desk import TODAY

API = "/api/v1"
STORY = story_id_of(TODAY, "a-1")  # the first article begins it
EXAMPLES = {
    "search": ("/search?q=bus&mode=keyword&stories=true", "/search?limit=1"),
    "trends": ("/trends?q=bus", "/trends?measure=share&split=publisher&by=week"),
    "names": ("/names?days=3660", "/names?kind=person&desk=d&agency=a&days=3660"),
    "names_kind_name": ("/names/person/ana-lima",),
    "articles": (
        "/articles",
        "/articles?desk=d&agency=a&outcome=ok&from=2026-01-01&to=2026-12-31&limit=2",
    ),
    "articles_article_id": ("/articles/a-1", "/articles/a-3"),
    "meetings": ("/meetings", "/meetings?desk=cities&status=passed&from=2026-01-01"),
    "meetings_meeting_id": (
        "/meetings/springfieldIL/primegov/7",
        "/meetings/springfieldIL%2Fprimegov%2F6",
    ),
    "matters_desk_agency_matter": ("/matters/cities/springfieldIL/file:26-101",),
    "laws_law": ("/laws/PUBLIC LAW 117-58",),
    "persons_desk_agency_person": ("/persons/cities/springfieldIL/alder-lee",),
    "morning": ("/morning", "/morning?day=2026-11-20&desk=d"),
    "silences": ("/silences", "/silences?desk=none"),
    "stories": ("/stories?days=366&publishers=1", "/stories?day=2026-11-20&limit=1"),
    "briefing": ("/briefing?days=366", "/briefing?day=2026-11-20&limit=1"),
    "stories_story_id": (f"/stories/{STORY}",),
    "agencies": ("/agencies", "/agencies?desk=none"),
    "sources": ("/sources",),
    "failures": ("/failures", "/failures?stage=enriched_articles"),
    "coverage": ("/coverage?limit=1",),
    "changes": ("/changes", "/changes?limit=1"),
    "edits": ("/edits?days=36500&kind=all", "/edits?desk=d&limit=1"),
}


@pytest.fixture(scope="module")
def description(site: str) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{site}{API}/openapi.json").json()
    return found


def test_every_operation_has_an_example_here() -> None:
    assert {one.name for one in OPERATIONS} == set(EXAMPLES)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: str(one.name))
def test_an_answer_is_what_the_description_says(
    browser: httpx.Client, council: str, description: dict[str, Any], operation: Any
) -> None:
    described = description["paths"][f"/{operation.path}"]["get"]
    schema = described["responses"]["200"]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator(
        schema | {"components": description["components"]}
    )
    for path in EXAMPLES[operation.name]:
        server = (
            council
            if operation.path.startswith(("meetings", "matters", "laws", "persons"))
            else ""
        )
        answer = browser.get(server + API + path)
        assert (answer.status_code, answer.headers["content-type"]) == (
            200,
            "application/json",
        )
        assert [error.message for error in validator.iter_errors(answer.json())] == []


def test_every_schema_of_the_description_is_valid_and_every_field_of_an_item_is_explained(
    description: dict[str, Any],
) -> None:
    schemas = description["components"]["schemas"]
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for name in (
        "ListedArticle",
        "SourceItem",
        "CoverageItem",
        "AgencyItem",
        "MeetingItem",
        "AgendaLine",
        "ListedFailure",
        "Change",
    ):
        unexplained = [
            key
            for key, value in schemas[name]["properties"].items()
            if not value.get("description")
        ]
        assert unexplained == [], name


def test_requests_of_polls_are_described_as_for_operators(
    description: dict[str, Any],
) -> None:
    described = description["paths"]["/polls"]["post"]
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["required"], set(schema["properties"])) == (
        ["agencies"],
        {"agencies", "days"},
    )
    assert (list(described["security"][0]), "202" in described["responses"]) == (
        ["operator"],
        True,
    )


@pytest.mark.parametrize(
    "path",
    ["/articles", "/failures", "/search?q=bus&mode=keyword", "/coverage", "/agencies"],
)
def test_a_list_goes_on_by_its_cursor_and_has_everything_once(
    browser: httpx.Client, path: str
) -> None:
    whole = browser.get(
        API + path, params={**httpx.QueryParams(path.partition("?")[2]), "limit": 100}
    ).json()["items"]
    cursor, parts = "", []
    while cursor is not None and len(parts) <= len(whole):
        given = {
            **httpx.QueryParams(path.partition("?")[2]),
            "limit": 1,
            "cursor": cursor,
        }
        answer = browser.get(API + path.partition("?")[0], params=given).json()
        parts += answer["items"]
        cursor = answer["next"]
    assert parts == whole
    assert len(whole) > 1


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("/articles/nothing", 404, "there is nothing at /api/v1/articles/nothing"),
        ("/nothing", 404, "Not Found"),
        (
            "/articles?agencies=a",
            400,
            "agencies is no parameter; there are: limit, cursor, desk, agency, outcome",
        ),
        ("/articles?cursor=x", 400, "cursor=x: take it from `next` of an answer"),
        ("/articles?cursor=WzFd", 400, "cursor=WzFd: take it from `next` of an answer"),
        (
            "/articles?from=2026-13-01",
            400,
            "from=2026-13-01: input should be a valid date",
        ),
        (
            "/search?q=bus+writer:lee",
            400,
            "column 5 of the search: there is no field writer:; the fields are title:",
        ),
        (
            "/failures?limit=0",
            400,
            "limit=0: input should be greater than or equal to 1",
        ),
    ],
)
def test_an_error_is_problem_json(
    browser: httpx.Client, path: str, status: int, detail: str
) -> None:
    answer = browser.get(API + path)
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    )
    problem = answer.json()
    assert (problem["status"], detail in problem["detail"], problem["type"]) == (
        status,
        True,
        "about:blank",
    )


def test_pages_of_other_sites_cannot_read_the_api(browser: httpx.Client) -> None:
    answer = browser.get(
        f"{API}/articles", headers={"Origin": "https://pages.example.org"}
    )
    assert "access-control-allow-origin" not in answer.headers


def test_the_address_of_the_api_names_its_operations(site: str) -> None:
    listed = httpx.get(f"{site}{API}").json()
    described = httpx.get(f"{site}{listed['openapi']}").json()
    by_get = {
        f"{API}{path}" for path, one in described["paths"].items() if "get" in one
    }
    assert {one["url"] for one in listed["operations"].values()} == by_get


def test_an_agency_is_found_by_its_name_without_accents(site: str) -> None:
    url = f"{site}/api/v1/agencies"
    found = httpx.get(url, params={"name": "camara B"}).json()["items"]
    assert [one["agency"] for one in found] == ["b"]
    assert len(httpx.get(url, params={"name": "câmara"}).json()["items"]) == 2
    assert httpx.get(url, params={"name": "weather"}).json()["items"] == []
