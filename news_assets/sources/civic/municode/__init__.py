"""Municode Meetings (CivicPlus): the JSON of a client's site (`api.py`) and the pages
it publishes (`pages.py`).
"""
