"""The type that `dg.define_asset_job` returns, which Dagster does not export."""

from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition as UnresolvedAssetJobDefinition,
)
