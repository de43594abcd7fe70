"""Dagster's web server, asked over HTTP: `runs` requests a run. Nothing here imports
Dagster.
"""
