"""Decisions about meetings and agenda items; no I/O.

filters.py   title of an item -> whether it is dropped, or kept but not enriched, and why
"""
