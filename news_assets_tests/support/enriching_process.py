"""Enriches all articles of a lake in a process of its own, which a test kills.

Run: python -m news_assets_tests.support.enriching_process CATALOG DATA CALLS_IN_FLIGHT
[TIMEOUT_S] [USD_A_DAY] [MODEL]
"""

import sys
from datetime import UTC, datetime

from news_assets.pipeline.enrich.model.ledger import Budget
from news_assets.records.model_calls import Ceilings
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import spent
from news_assets_tests.support.model_enrichment import enrich, enricher, served

NAME = "openai:gpt-5-mini"


def main(
    catalog: str,
    data: str,
    calls: str,
    timeout_s: str = "2",
    usd_a_day: str = "0",
    name: str = NAME,
) -> None:
    with Lake.open(catalog, data) as lake:
        model = served(name, concurrency=int(calls), timeout_s=float(timeout_s))
        budget = Budget(Ceilings(day=float(usd_a_day)), spent)
        enrich(lake, enricher(model, budget=budget), clock=lambda: datetime.now(UTC))
        model.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
