"""The Dagster side: the only importer of dagster. No policy, no SQL, no HTTP belongs here."""
