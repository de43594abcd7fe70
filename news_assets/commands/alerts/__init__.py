"""The commands `alerts list`, `alerts retry` and `alerts test`."""
