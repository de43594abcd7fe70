"""Protocols of what the pipeline uses outside itself, and the values passed to and from
them.

Implementations are in `clients/` and `store/` and do not inherit from these; those for
tests are in `news_assets_tests/support/fakes.py`.

lake          reading and writing rows
reading       fetching addresses, and reading what comes from outside within limits
enrichment    enrichers, language models and their batches
search        embedding texts, and the search index
"""
