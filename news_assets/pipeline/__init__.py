"""The policy of each step; adapters and ports come in as arguments, and so does `now`. No I/O of its own.

The data's way:

    due sources
    | poll      listing -> ListedEntry -> FeedEntry rows, validators and schedule
    | fetch     FeedEntry -> Page                            one request at a time per host
    | extract   Page -> ExtractedArticle -> RawArticle
    | dedupe    RawArticle -> RawArticle with `duplicate_of`
    | enrich    RawArticle -> EnrichedArticle                 cached by its input
    | embed     EnrichedArticle -> ArticleEmbedding
    | index     all three -> SearchDocument -> IndexedDocument receipts
"""
