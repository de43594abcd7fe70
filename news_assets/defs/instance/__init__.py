"""What Dagster's instance runs on: storage, run launchers and run coordinator, named in
the `dagster.yaml` files.

- `sqlite_storage` and `postgres_storage` store the events of many partitions in one
  transaction.
- `run_coordinator` launches a run when it is submitted, unless a limit or an earlier
  run makes it wait.
- `process_launcher` (profile plain) executes runs in processes that it starts.
  `celery_launcher` (local, scale-out) sends runs to the Celery app in `worker`, which
  executes them.
- `run_guards` surround a run: heartbeat, watchdog, release of memory.

The private names of Dagster that `defs` uses are listed in `deploy/README.md`, each with
what it gains.
"""
