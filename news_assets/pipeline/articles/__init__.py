"""The articles of one desk: which pages are fetched, and the rows that are stored of
them.

    due FeedEntry rows
    | fetch     FeedEntry -> Page -> ExtractedArticle (`pipeline/page`), in batches
    | rows      entry, article and stored row -> RawArticle and,
    |           where the text changed, ArticleRevision
    | dedupe    RawArticle -> RawArticle with `duplicate_of`, reason and score; CopyKey
    = rows of raw_articles, copy_keys, article_revisions and pages, stored in one transaction
        per batch

A fetch that failed:

    exception of httpx
    | clients/web/responses    -> FetchError: its reason, and whether it is transient
    | rows                     -> RawArticle with outcome, reason and the failed attempts;
    |                          an article with a text keeps it
    | attempts                 when the next attempt is due, by the rules of `retry_table`
    | failures                 -> Failure: what failed, held back until then
    | store/queries/backlog    finds the entry once its attempt is due
    = the sensor `pending_entries` requests a run, which begins with `fetch` again

`likeness` compares two texts, and any stream of documents for the `dedupe` command.

`replayed_article` extracts articles again from their stored pages, without network: what
would another method, or library, change?

    articles of some agency-days
    | replayed_article   RawArticle -> its entry and its newest page, in batches
    | replayed_article   entry, page and stored row -> Replayed, in the sandbox
    | drift              Replayed -> counts and the worst differences
    = replayed_article   RawArticle, ArticleRevision with cause `method`

`drift` also compares a daily sample.
"""
