"""Enriches all articles of a lake in a process of its own, which a test kills.

Run: python -m news_assets_tests.support.enriching_process CATALOG DATA CALLS_IN_FLIGHT
"""

import sys

from news_assets.store.lake import Lake
from news_assets_tests.support.model_enrichment import enrich, enricher, served

NAME = "openai:gpt-5-mini"


def main(catalog: str, data: str, calls: str) -> None:
    with Lake.open(catalog, data) as lake:
        enrich(lake, enricher(served(NAME, concurrency=int(calls))))


if __name__ == "__main__":
    main(*sys.argv[1:])
