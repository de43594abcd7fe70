"""Meetings of councils: from the answers of a vendor to the articles of agenda items.

due sources of an agency (`schedule`)
| council_poll     begins the poll of each, and takes its answers
| council_requests which requests it sends, by what is known so far
| council_findings what its answers say together -> PolledMeetings
| meeting_storage  stores them: meetings (`meeting_rows`), entries, votes and members, in
|                  the transaction of the poll
| item_rows        ... -> agenda items and their matters (the same file in several
|                  meetings); `item_words`: filters and topics
| attachments      addresses of items -> documents (`document_rows`)
= composing        item and documents -> article

| mentions         article of news -> numbers, addresses and meetings that it names
= news_links       these and the agendas -> matters and meetings that it reports on
"""
