"""Finds the sources of a site from one of its addresses.

address -> discover: candidate addresses (`sources/discovery.py`), requested once each
        -> the adapters of `sources/`
        -> candidates: contents, refusals and notes of each, ranked -> Discovery
"""
