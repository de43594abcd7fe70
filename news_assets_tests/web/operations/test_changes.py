"""The record of changes over HTTP."""

import httpx

URL = "/api/v1/changes"


def test_changes_are_followed_from_a_cursor_in_order(browser: httpx.Client) -> None:
    whole = browser.get(URL, params={"limit": 1000}).json()
    followed, since = [], ""
    while True:
        part = browser.get(URL, params={"since": since, "limit": 3}).json()
        followed += part["items"]
        since = part["next"]
        if not part["items"]:
            break

    assert followed == whole["items"]
    assert since == whole["next"]
    assert {one["change"] for one in followed} == {
        "stored",
        "enriched",
        "embedded",
        "indexed",
    }
    places = [(one["commit_id"], one["sequence"]) for one in followed]
    assert places == sorted(set(places))


def test_a_wrong_cursor_and_a_lost_one_are_told_apart(browser: httpx.Client) -> None:
    wrong, lost = (
        browser.get(URL, params={"since": since}) for since in ("yesterday", "7-1-0")
    )

    assert (wrong.status_code, wrong.headers["content-type"]) == (
        400,
        "application/problem+json",
    )
    assert wrong.json()["detail"].startswith("'yesterday' is not a cursor")
    assert lost.status_code == 410
    assert (
        lost.json()["detail"]
        == "the lake was restored from a backup since this cursor; begin without one"
    )
