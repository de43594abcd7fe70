"""Materialisation metadata for many partitions of an asset at once."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.execution.context.metadata_logging import (
    AssetMetadataHandle,
    OutputMetadataAccumulator,
)


def add_partition_metadata(
    context: dg.AssetExecutionContext, by_partition: Mapping[str, Mapping[str, Any]]
) -> None:
    """Set the metadata of these partitions, replacing what they had.

    `context.add_asset_metadata` does this for one partition, lists the run's partition
    keys and copies all metadata on each call: 40 ms with 4,800 partitions, or 13
    minutes for a backfill over four assets.
    """
    step, asset_key = context.get_step_execution_context(), context.asset_key
    known = dict(step._metadata_accumulator.per_output_metadata)
    for key, row in by_partition.items():
        known[AssetMetadataHandle(asset_key=asset_key, partition_key=key)] = row
    step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=known)
