"""Enrichment of articles: theme, summary, keywords, language and reading figures.

RawArticle rows
| enrich     take a cached result or an original's, else call the enricher; one row per article
|   local    the local enricher: themes (words of the taxonomy), summary (sentences), keywords
|            (terms)
-> EnrichedArticle rows and new cache entries
"""
