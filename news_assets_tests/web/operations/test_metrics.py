"""What monitors read."""

import re

import httpx

from news_assets_tests.web.operations.conftest import Site

SAMPLE = re.compile(r'(\w+)(\{(\w+="(\\.|[^"\\])*",?)*\})? ([0-9.e+]+)')


def test_health_says_that_the_server_is_ready_and_why_not(operated: Site) -> None:
    ready = httpx.get(f"{operated.address}/health")
    assert (ready.status_code, ready.json()) == (
        200,
        {"live": True, "ready": True, "reasons": []},
    )
    operated.lake.close()

    broken = httpx.get(f"{operated.address}/health")

    assert (broken.status_code, broken.json()["live"], broken.json()["ready"]) == (
        503,
        True,
        False,
    )
    assert "the lake could not be read" in broken.json()["reasons"][0]
    assert httpx.get(f"{operated.address}/health/live").text == "live\n"


def test_metrics_are_counts_in_the_text_format(guarded: Site) -> None:
    answer = httpx.get(f"{guarded.address}/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert [
        line
        for line in lines
        if not line.startswith("# ") and not SAMPLE.fullmatch(line)
    ] == []
    assert 'news_articles{desk="d",outcome="ok"} 2' in lines
    assert 'news_failures{desk="d",stage="enriched_articles"} 1' in lines
    assert "# TYPE news_articles gauge" in lines
    assert "news_conditions 0" in lines
