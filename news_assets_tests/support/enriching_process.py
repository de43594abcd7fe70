"""Enriches all articles of a lake in a process of its own, which a test kills.

Run: python -m news_assets_tests.support.enriching_process CATALOG DATA CALLS_IN_FLIGHT
"""

import sys
from datetime import UTC, datetime

from news_assets.store.lake import Lake
from news_assets_tests.support.model_enrichment import enrich, enricher, served

NAME = "openai:gpt-5-mini"


def main(catalog: str, data: str, calls: str) -> None:
    with Lake.open(catalog, data) as lake:
        model = served(NAME, concurrency=int(calls), timeout_s=2)
        enrich(lake, enricher(model), clock=lambda: datetime.now(UTC))
        model.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
