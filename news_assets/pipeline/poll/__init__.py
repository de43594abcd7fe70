"""Poll sources: find out what they list now, or listed on past days, and store it.

`poll.poll_agencies` runs all of it:

    due sources   `schedule.sources_of_runs` shares them out to a quick and a slow run
    | listings    Source -> its first request; Page -> Listing, and the next page
    | poll_loop   sends the requests of all sources, of news and of councils -> Polled
    | poll        Polled -> [Polled], the first at once, then one batch a second
    | poll_rows   [Polled] -> FeedEntry, SourceState, Poll, one transaction per batch

`entry_rows` decides which entries of a listing are new or changed,
`pipeline/publishing_habits.py` learns from them in which hours a source publishes, and
`pipeline/schedule.py` decides with these rates when it is due again.

`discover` finds the sources of a site from one of its addresses: candidate addresses
(`sources/discovery.py`) are requested once each and read by the adapters of `sources/`;
`candidates` ranks them by their contents, refusals and notes.
"""
