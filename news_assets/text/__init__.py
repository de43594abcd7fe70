"""Pure functions over text: addresses, dates, HTML, fingerprints, languages. No network, no clock, no lake."""
