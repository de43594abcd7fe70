"""The policy of each step. No I/O: adapters, ports and `now` are arguments.

    due sources                                              schedule
    | poll/             listing -> FeedEntry, SourceState, Poll
    | articles/fetch    FeedEntry -> Page                    one request at a time per host
    | page/             Page -> ExtractedArticle -> RawArticle
    | articles/dedupe   RawArticle -> RawArticle with `duplicate_of`
    | enrich/           RawArticle -> EnrichedArticle        cached by its input
    | embed             EnrichedArticle -> ArticleEmbedding
    | index             all three -> documents of the search index, IndexedDocument receipts
    stories/            ArticleEmbedding of all desks -> StoryMember, Story, StoryChange,
                        and CivicMention

`stages` declares the assets that follow `feed_entries`, and `stage_state/` what their
rows are made from and what failed. `freshness/` plans the runs and finds what is
missing, silent or failing. `poll/discover` finds the sources of a site, `replay/` extracts
articles again from stored pages, and `reindex` rebuilds the search index from the lake.
"""
