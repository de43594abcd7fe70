"""From "a public body published something" to "a reader finds it": a Dagster asset
graph by agency and day.
"""
