"""The articles of one desk: which pages are fetched, and the rows that are stored of them.

    due FeedEntry rows
    | fetch     FeedEntry -> Page -> ExtractedArticle (`pipeline/page`), in batches
    | rows      entry, article and stored row -> RawArticle and, where the text changed, ArticleRevision
    | dedupe    RawArticle -> RawArticle with `duplicate_of`, exact copies only
    = rows of raw_articles, article_revisions and pages, stored in one transaction per batch

`near_duplicates` compares any stream of documents, for the `dedupe` command.
"""
