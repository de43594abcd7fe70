"""The asset that collects batches, and the sensor that requests it."""

import dagster as dg
import pytest

from news_assets.defs.jobs import build_shared_jobs
from news_assets.defs.newsroom_assets import (
    build_enrichment_batches,
    build_open_batches,
)
from news_assets.pipeline.enrich.model.model_batches import SENT_WITHIN
from news_assets.ports.services import Lazy
from news_assets.records.model_calls import EnrichmentBatch
from news_assets.store.lake import Lake
from news_assets_tests.support.model_enrichment import (
    NOW,
    desk,
    enrich,
    enricher,
    made,
    served,
)
from news_assets_tests.support.model_server import model_server


def test_the_asset_collects_what_the_sensor_has_seen(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asset, sensor = (
        build_enrichment_batches([desk()]),
        build_open_batches(build_shared_jobs([desk()])),
    )
    with model_server() as server, dg.DagsterInstance.ephemeral() as instance:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        by = enricher(served("openai:gpt-5-mini"))
        lake.transact(lambda rows: rows.upsert([made(1)]))
        tick = dg.build_sensor_context(instance=instance, resources={"lake": lake})
        assert sensor.evaluate_tick(tick).run_requests == []
        enrich(lake, by, desk(via="batch"), NOW - SENT_WITHIN)
        assert len(sensor.evaluate_tick(tick).run_requests or ()) == 1
        result = dg.materialize(
            [asset],
            instance=instance,
            resources={"lake": lake, "enricher": Lazy(lambda: by)},
        )
        assert result.success
        assert [batch.progress for batch in lake.read(EnrichmentBatch)] == ["collected"]
        assert sensor.evaluate_tick(tick).skip_message == "open batches: 0"
