"""The search index: two backends of `ports.SearchIndex`, and what they share.

`clients/factory.py` opens `embedded` (one SQLite file) or `typesense` (a server), or a
rebuild of either.

documents -> index_texts (searched text, limits, unit vectors) -> the backend
query text -> text/query_parser (words, phrases and exclusions, or a tree of operators:
text/query_tree) -> the backend -> hits, with index_texts
"""
