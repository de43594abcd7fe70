"""Extracts articles again from their stored pages, without network: what would another
method, or library, change?

    articles of some agency-days
    | replayed_article   RawArticle -> its entry and its newest page, in batches
    | replayed_article   entry, page and stored row -> Replayed, in the sandbox
    | drift              Replayed -> counts and the worst differences
    = replayed_article   RawArticle, ArticleRevision with cause `method`

`drift` also compares a daily sample.
"""
