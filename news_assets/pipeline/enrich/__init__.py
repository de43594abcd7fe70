"""Enrichment of articles: theme, summary, keywords, language and reading figures.

RawArticle rows
| enrich          what is due, and one row per article, in the order of `enrich.py`
|   plan          a cached result or an original's, else the local enricher is called
|   local_enricher  theme (theme_words, theme_vectors), summary and keywords
|   model         language models, where NEWS_ENRICHER names any
-> EnrichedArticle rows and new cache entries (enriched_rows)
"""
