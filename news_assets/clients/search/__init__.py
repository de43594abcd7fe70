"""The search index: two backends of `ports.SearchIndex`, and what they share.

settings -> backends, which opens `embedded` (one SQLite file) or `typesense` (a
server), or a rebuild of either
documents -> stored_documents (searched text, limits, unit vectors) -> the backend
query text -> query (words, phrases, exclusions) -> the backend -> hits, with
hit_texts
"""
