"""Poll sources: find out what they list now, or listed on past days, and store it.

`poll.poll_agencies` runs all of it:

    due sources                                                `runs` shares them out to
    a quick and a slow run
    | listings      Source -> first Page -> Listing            sources side by side, as
    the answers arrive
    | paging        Listing -> Listing with its next pages     one page per source at a
    time
    | microbatch    Polled -> [Polled]                         the first listing at
    once, then about one batch a second
    | storing       [Polled] -> FeedEntry, SourceState, Poll   one transaction per batch

`entries` decides which entries of a listing are new or changed, `rates` learns from
them in which hours a source publishes, and `pipeline/schedule.py` decides with these
rates when it is due again.
"""
