"""Protocols of what the pipeline uses outside itself, and the values passed to and from
them.

Implementations are in `clients/` and `store/` and do not inherit from these; those for
tests are in `news_assets_tests/support/fakes.py`.

services      reading and writing rows of the lake; fetching addresses; reading what comes
              from outside within limits; enrichers, language models and their batches
search_index  embedding texts, and the search index
"""
