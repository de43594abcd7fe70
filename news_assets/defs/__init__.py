"""The Dagster side, and the only importer of dagster. No policy, SQL or HTTP belongs
here.

sensors/    read the lake, with `active_runs`, and request runs
schedules   start freshness checks, report and maintenance at fixed times
jobs        the assets and checks that run together
assets/     read, call the pipeline, write; `resources` opens what they need, `partitions`
            yields their batches
checks      show findings as asset checks
metadata    what the UI shows of assets and materialisations
retention   deletes old runs
instance/   what Dagster's instance runs on: storages, launchers, heartbeat
"""
