"""Extracts articles again from their stored pages, without network: what would another
method, or library, change?

    articles of some agency-days
    | archive   RawArticle -> its entry and its newest page, in batches
    | article   entry, page and stored row -> Replayed, in the sandbox, by the policy of
    a fetch
    | summary   Replayed -> counts and the worst differences
    = storing   RawArticle, ArticleRevision with cause `method`

`drift` compares a daily sample.
"""
