"""Actions on the pages: only operators act, only from the pages of this server, and it
is on record.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

import httpx
import pytest

from news_assets.records.alerts import OperatorAction
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    EnrichedArticle,
    Failure,
    IndexedDocument,
    ThemeLabel,
)
from news_assets_tests.store.examples import upsert
from news_assets_tests.web.operations.conftest import TOKEN, Site, log_in
from news_assets_tests.web.test_pages import links_of, text_of

QUERIES = "/operations/queries"
RETRY, WITHDRAW = "/operations/articles/a-2/retry", "/operations/articles/a-1/withdraw"
LABEL = "/operations/articles/a-1/label"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
MISTAKE = {"reason": "a mistake", "confirmed": "yes"}
BRING_BACK = "/operations/articles/a-1/bring-back"


@pytest.fixture
def reader(guarded: Site) -> Iterator[httpx.Client]:
    """A browser whose requests change nothing."""
    headers = {
        "Accept": "text/html",
        "Origin": guarded.address,
        "Sec-Fetch-Site": "same-origin",
    }
    with httpx.Client(base_url=guarded.address, headers=headers) as browser:
        yield browser


def attempts(site: Site) -> dict[str, int]:
    return {one.article_id: one.attempts for one in site.lake.read(Failure)}


def test_an_operator_logs_in_sees_what_a_retry_does_and_retries(
    operated: Site, client: httpx.Client
) -> None:
    answer = log_in(client)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/operations/articles/a-2",
    )
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    page = client.get("/operations/articles/a-2").text
    assert "Retry now" in page
    assert (
        "A retry runs enriched_articles, article_embeddings, search_index on the stored text"
        in page
    )
    assert (
        "A retry fetches https://example.org/3 once more"
        in client.get("/operations/articles/a-3").text
    )

    assert client.post(RETRY).status_code == 303
    assert attempts(operated) == {"a-2": 0, "a-3": 1}
    (action,) = operated.lake.read(OperatorAction)
    assert (action.operator, action.action, action.article_id, action.detail) == (
        "Ana",
        "retry",
        "a-2",
        "enriched_articles",
    )
    assert (
        "Ana, retry: enriched_articles" in client.get("/operations/articles/a-2").text
    )

    client.post("/operations/logout")
    assert client.post(RETRY).status_code == 401


def test_an_operator_accepts_or_changes_the_theme_of_an_article(
    operated: Site, client: httpx.Client
) -> None:
    assert client.post(LABEL, data={"code": "sport"}).status_code == 401
    log_in(client)
    page = client.get("/operations/articles/a-1").text
    assert "The theme is right" in page
    assert '<option value="sport">' in page
    unknown = client.post(LABEL, data={"code": "sports"})
    assert (unknown.status_code, "did you mean sport" in unknown.text) == (400, True)
    assert client.post(LABEL, data={}).status_code == 400
    assert operated.lake.read(ThemeLabel) == []

    for code in ("sport", ""):
        assert client.post(LABEL, data={"code": code}).status_code == 303

    stored = sorted(operated.lake.read(ThemeLabel), key=lambda one: one.labelled_at)
    assert [(one.code, one.labelled_by, one.previous) for one in stored[-2:]] == [
        ("sport", "Ana", stored[0].previous),
        (None, "Ana", "sport"),
    ]
    [row] = operated.lake.read(EnrichedArticle, article_id=["a-1"])
    assert (row.theme_path, row.theme_reason) == ((), "labelled by Ana")
    assert "labelled by Ana" in client.get("/operations/articles/a-1").text
    assert [one.action for one in operated.lake.read(OperatorAction)] == [
        "label",
        "label",
    ]


def test_an_operator_withdraws_with_a_reason(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    assert client.post(WITHDRAW, data={"reason": "  "}).status_code == 400

    asked = client.post(WITHDRAW, data={"reason": "ordered by\na court"})
    assert (asked.status_code, "Withdraw this article?" in asked.text) == (200, True)
    assert operated.lake.read(OperatorAction) == []
    confirmed = {"reason": "ordered by\na court", "confirmed": "yes"}
    assert client.post(WITHDRAW, data=confirmed).status_code == 303

    article = operated.lake.read(RawArticle, article_id=["a-1"])[0]
    assert (article.outcome, article.reason, article.text) == (
        "withdrawn",
        "ordered by a court",
        None,
    )
    assert operated.deleted == ["a-1"]
    assert operated.lake.read(IndexedDocument, article_id=["a-1"]) == []
    assert client.post(WITHDRAW, data={"reason": "again"}).status_code == 404


def test_a_reader_sees_that_an_article_was_withdrawn_and_when_and_nothing_of_it(
    operated: Site, client: httpx.Client
) -> None:
    [before] = operated.lake.read(RawArticle, article_id=["a-1"])
    assert "voted on Tuesday" in (before.text or "")
    log_in(client)
    client.post(WITHDRAW, data=MISTAKE)
    client.cookies.clear()
    [article] = operated.lake.read(RawArticle, article_id=["a-1"])
    assert article.withdrawn_at
    minute = f"{article.withdrawn_at:%Y-%m-%d %H:%M}"

    for language, words in (("en", "Withdrawn"), ("pt", "Retirado em")):
        page = client.get("/articles/a-1", headers={"Accept-Language": language})
        assert page.status_code == 410
        assert f"{words} {minute} (UTC)" in text_of(page.text)
        assert f">{before.title}<" not in page.text
        assert "voted on Tuesday" not in page.text
        assert "a mistake" not in page.text
    document = client.get("/articles/a-1.json")
    assert (document.status_code, f"{minute} UTC" in document.json()["detail"]) == (
        410,
        True,
    )


def test_an_operator_brings_a_withdrawn_article_back(
    operated: Site, client: httpx.Client
) -> None:
    before = operated.lake.read(RawArticle, article_id=["a-1"])
    log_in(client)
    assert client.post(BRING_BACK).status_code == 404
    client.post(WITHDRAW, data=MISTAKE)
    assert "Bring the article back" in client.get("/operations/articles/a-1").text

    assert client.post(BRING_BACK).status_code == 303

    assert operated.lake.read(RawArticle, article_id=["a-1"]) == before
    [*_, action] = operated.lake.read(OperatorAction)
    assert (action.operator, action.action, action.detail) == (
        "Ana",
        "bring back",
        "was withdrawn: a mistake",
    )
    assert "Bring the article back" not in client.get("/operations/articles/a-1").text


def test_what_the_lake_does_not_keep_any_more_cannot_be_brought_back(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    client.post(WITHDRAW, data=MISTAKE)
    [withdrawn] = operated.lake.read(RawArticle, article_id=["a-1"])
    upsert(operated.lake, [replace(withdrawn, withdrawn_after=0)])

    answer = client.post(BRING_BACK)

    assert (answer.status_code, "a-1 cannot be brought back" in answer.text) == (
        409,
        True,
    )
    assert operated.lake.read(RawArticle, article_id=["a-1"])[0].outcome == "withdrawn"


def test_a_program_acts_with_the_bare_token(operated: Site) -> None:
    assert httpx.post(operated.address + RETRY, headers=BEARER).status_code == 303
    assert operated.lake.read(OperatorAction)[0].operator == "API"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer something else"}, 401),
        ({"Cookie": "news_operator=9999999999.QW5h." + "0" * 64}, 401),
        ({"Cookie": "news_operator=x"}, 401),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "https://evil.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": "same-site"}, 403),
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        RETRY,
        "/operations/failures/retry",
        WITHDRAW,
        BRING_BACK,
        QUERIES,
        f"{QUERIES}/delete",
        "/api/v1/polls",
    ],
)
def test_who_is_no_operator_or_comes_from_elsewhere_changes_nothing(
    guarded: Site, headers: dict[str, str], status: int, path: str
) -> None:
    before = attempts(guarded)
    answer = httpx.post(guarded.address + path, headers=headers, data={"reason": "x"})
    assert answer.status_code == status
    assert attempts(guarded) == before
    assert guarded.lake.read(OperatorAction) == []


def test_a_wrong_token_begins_no_session(reader: httpx.Client) -> None:
    answer = reader.post("/operations/login", data={"name": "Ana", "token": "wrong"})
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)
    assert "This is not the token." in answer.text


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"]
)
def test_a_log_in_leads_to_a_page_of_this_server(reader: httpx.Client, to: str) -> None:
    answer = reader.post(
        "/operations/login", data={"name": "Ana", "token": TOKEN, "to": to}
    )
    assert answer.headers["location"] == "/operations/failures"


def test_without_a_token_the_pages_are_read_only(site: str) -> None:
    assert (
        "NEWS_OPERATOR_TOKEN is not set" in httpx.get(f"{site}/operations/login").text
    )
    answer = httpx.post(f"{site}{RETRY}", headers={"Authorization": "Bearer x"})
    assert (answer.status_code, "read-only" in answer.text) == (403, True)


def test_a_form_of_a_page_that_sends_no_referrer_is_accepted(guarded: Site) -> None:
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    assert (
        httpx.post(f"{guarded.address}/operations/logout", headers=headers).status_code
        == 303
    )


def test_a_body_that_is_too_long_is_refused(guarded: Site) -> None:
    answer = httpx.post(guarded.address + RETRY, content=b"x" * 200_000)
    assert answer.status_code == 413


def test_a_log_out_ends_the_session_wherever_its_cookie_is(
    operated: Site, client: httpx.Client
) -> None:
    log_in(client)
    cookie = dict(client.cookies)
    page = client.get("/operations/articles/a-2")
    assert ("Retry now" in page.text, page.headers["cache-control"]) == (
        True,
        "private, no-store",
    )

    client.post("/operations/logout")

    client.cookies.update(cookie)
    assert client.get("/operations/articles/a-2").status_code == 303


@pytest.mark.parametrize(
    "path", ["//evil.example/search", "/\\evil.example", "/metricsX", "/health/x"]
)
def test_no_page_links_to_another_site(
    reader: httpx.Client, guarded: Site, path: str
) -> None:
    answer = reader.get(httpx.URL(f"{guarded.address}{path}"))
    assert answer.status_code == 404
    assert 'href="//' not in answer.text
    assert 'href="/\\' not in answer.text


@pytest.mark.parametrize("values", [[10**30], [2**63], ["0001-01-01", "a"], [1e400]])
def test_an_absurd_cursor_is_the_client_s_error(
    reader: httpx.Client, values: list[object]
) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
    for path in ("/api/v1/search", "/api/v1/failures", "/api/v1/agencies"):
        answer = reader.get(path, params={"cursor": cursor}, headers=BEARER)
        assert (answer.status_code, "sqlite" in answer.text) == (400, False), (
            path,
            answer.text,
        )


CLOSED = ("/operations", "/operations/sources", "/operations/failures")


@pytest.mark.parametrize(
    "path",
    [*CLOSED, "/operations/retries", "/operations/articles/a-2", f"{QUERIES}?q=bus"],
)
def test_the_pages_of_operators_lead_readers_to_the_log_in_and_back(
    reader: httpx.Client, path: str
) -> None:
    reader.cookies.clear()
    answer = reader.get(path)
    assert (answer.status_code, answer.text) == (303, "")
    to = urlencode({"to": path})
    assert answer.headers["location"] == f"/operations/login?{to}"
    assert answer.headers.get("cache-control") != "private, no-cache"
    assert reader.get(path, headers=BEARER).status_code == 200
    assert reader.get(path).status_code == 303  # what the cache has is for operators


@pytest.mark.parametrize(
    "path",
    [
        *(f"{path}.json" for path in CLOSED),
        "/operations/failures.atom",
        "/operations/sources.csv",
        "/api/v1/failures",
        "/api/v1/sources",
        "/api/v1/coverage",
    ],
)
def test_other_forms_of_them_are_refused_without_the_token(
    guarded: Site, path: str
) -> None:
    refused = httpx.get(guarded.address + path)
    assert (refused.status_code, "www-authenticate" in refused.headers) == (401, True)
    assert httpx.get(guarded.address + path, headers=BEARER).status_code == 200


def test_no_page_for_readers_links_to_those_of_operators(
    operated: Site, client: httpx.Client
) -> None:
    paths = ("/search?q=bus&mode=keyword", "/articles/a-1", "/queries", "/about")
    for path in paths:
        links = links_of(client.get(path).text)
        assert [one for one in links if one.startswith("/operations")] == [
            "/operations/login"
        ], path
    log_in(client)
    assert "/operations/failures" in links_of(client.get("/about").text)
    assert "/operations/articles/a-1" in links_of(client.get("/articles/a-1").text)
    client.cookies.clear()
    assert "/operations/failures" not in links_of(client.get("/about").text)


def test_where_nobody_may_act_everybody_reads_the_pages_of_operators(site: str) -> None:
    for path in CLOSED:
        assert httpx.get(f"{site}{path}").status_code == 200
        assert path in links_of(httpx.get(f"{site}/about").text)
