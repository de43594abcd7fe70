"""The search index: two backends of `ports.SearchIndex`, and what they share.

    settings -> backends, which opens `embedded` (one SQLite file) or `typesense` (a
    server), or a rebuild of either
    documents -> documents (searched text, limits) and vectors (unit vectors) -> the
    backend
    query text -> query (words, phrases, exclusions) -> the backend -> hits, with a
    snippet each

`parity` compares a rebuilt index with the lake before it replaces the one in use.
"""
