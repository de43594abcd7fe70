"""One outside thing each, behind a port of `news_assets.ports`."""
