"""Legistar (Granicus): the Web API (`api.py`, its items in `items.py`) and the pages of
InSite (`pages.py`).
"""
