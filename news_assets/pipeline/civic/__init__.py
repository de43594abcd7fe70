"""Meetings of councils: from the answers of a vendor to the articles of agenda items.

the asset `feed_entries` polls the due sources of an agency (`poll/poll.py`)
| council_poll     begins the poll of each; the vendor's module in `sources/civic` reads
|                  its answers -> MeetingListing
| council_requests which requests it sends, by what is known so far
| council_findings what its answers say together -> PolledMeetings
= meeting_storage  stores them in the transaction of the poll: StoredMeeting
                   (`meeting_rows`), StoredItem and Matter (`item_rows`, with the filters
                   and topics of `item_words`), a FeedEntry for each item, votes, members

the asset `documents`, for the agency-days of these entries
= attachments      addresses of items -> StoredDocument (`document_rows`)

the asset `raw_articles` (`articles/fetch.py`)
= composing        an item's entry and documents -> RawArticle; from here on an item goes
                   the way of an article

the pages: `web/meeting_views` reads meetings with their items by
`store/queries/stored_meetings`, for the page of a meeting and the calendar; `exports`
writes iCalendar and Open Civic Data

| mentions         article of news -> numbers, addresses and meetings that it names
= news_links       these and the agendas -> matters and meetings that it reports on
"""
