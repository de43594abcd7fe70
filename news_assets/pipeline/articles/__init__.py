"""The articles of one desk: which pages are fetched, and the rows that are stored of
them.

    due FeedEntry rows
    | fetch     FeedEntry -> Page -> ExtractedArticle (`pipeline/page`), in batches
    | rows      entry, article and stored row -> RawArticle and,
    |           where the text changed, ArticleRevision
    | dedupe    RawArticle -> RawArticle with `duplicate_of`, reason and score; CopyKey
    = rows of raw_articles, copy_keys, article_revisions and pages, stored in one transaction
        per batch

`likeness` compares two texts, and any stream of documents for the `dedupe` command.
"""
