"""The Dagster side, and the only importer of dagster. No policy, SQL or HTTP belongs
here.

desk_sensors         all sensors of desks; sources that are due, and first checks
backlog_sensors      read the lake, with `active_runs` and `sensor_cursor`, and request runs
jobs                 assets and checks that run together, and their schedules
feed_entries         polls the sources of a desk
stage_assets         one asset by agency and day for each declared stage
newsroom_alerts, newsroom_assets
                     assets over all desks, with the sensors that request them
lake_maintenance     an asset over all desks, on a schedule
asset_checks         show findings as asset checks
asset_metadata       what the UI shows of assets and materialisations; external assets, and what
                     the assets over all desks depend on
partitions           grids, batches of agency-days, and the clock
resources            open what assets and sensors need
run_retention        deletes old runs
instance/            what Dagster's instance runs on: storages, launchers, heartbeat
"""

import gc

import dagster  # noqa: F401 - before the objects are frozen

# What `import dagster` makes stays until the process ends. Garbage collections while the
# rest is imported would go through it again and again: a fifth of the time to start.
gc.freeze()
