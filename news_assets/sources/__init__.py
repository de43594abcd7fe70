"""One adapter per kind of source: bytes in, listed entries out. No network of their own, no clock, no lake."""
