"""Commands over the search index: `search`, `rebuild search`, `search-key` and
`search-fields`.
"""
