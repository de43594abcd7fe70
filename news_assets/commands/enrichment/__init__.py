"""Commands about enrichment: `cost` and `explain`."""
