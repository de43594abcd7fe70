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

`stages` declares the assets that follow `feed_entries`; `stage_declaration` says what a
stage is, and which state its rows are made from; `failures` stores rows whose article has
not changed since it was read, and failed rows with their next attempt. A row is stale
where its stored state differs from the present one; `store/queries/backlog.py` compares
them.

`run_planner` plans the runs that process the backlog, and `source_health` finds what is
silent beyond its habit (`publishing_habits`); `report_contents` are those of the daily
report. `poll/discover` finds the sources of a site, `articles/replayed_article` extracts
articles again from stored pages, and `reindex` rebuilds the search index from the lake.
"""
