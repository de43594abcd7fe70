"""The policy of each step. No I/O: adapters, ports and `now` are arguments.

    due sources                                              schedule
    | poll/             listing -> FeedEntry, SourceState, Poll        poll.poll_agencies
    | articles/fetch    FeedEntry -> Page                              fetch_batch
    | page/             Page -> ExtractedArticle                       extract.extract
    | articles/rows     entry, ExtractedArticle and stored row -> RawArticle
    | articles/dedupe   RawArticle -> RawArticle with `duplicate_of`
    | enrich/           RawArticle -> EnrichedArticle                  enrich.enrich_batch
    | embed             title, text -> ArticleEmbedding                embed_batch
    | index             all three -> SearchDocument, IndexedDocument   index_batch
    stories/            ArticleEmbedding of all desks -> StoryMember, Story, StoryChange,
                        and CivicMention

`clients/search` stores the SearchDocuments and answers the searches of
`news_assets/search.py`, which the command line and the pages call.

`stages` declares the assets that follow `feed_entries`: each calls one of these functions
for its agency-days. `stage_declaration` says what a stage is, and which state its rows
are made from; `storing` stores rows whose article has not changed since it was read, and
`failures` stores what failed, with the next attempt. A row is stale where its stored
state differs from the present one; `store/queries/backlog.py` compares them.

`run_planner` plans the runs that process the backlog, and `source_health` finds what is
silent beyond its habit (`publishing_habits`); `report_contents` are those of the daily
report. `poll/discover` finds the sources of a site, `articles/replayed_article` extracts
articles again from stored pages, and `reindex` rebuilds the search index from the lake.
"""
