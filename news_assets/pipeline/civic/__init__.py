"""Meetings of councils: from the answers of a vendor to the articles of agenda items.

sources of an agency
| pace             which are polled now, how deep, and which wait for others
| request_loop     the requests of a poll, sent by `poll/poll_loop.py`
| council_poll     one source: which requests follow an answer
| council_findings what the answers of a poll say together -> PolledMeetings
| answer_storage   answer -> meetings (`meeting_rows`), entries, votes and members, in
|                  the transaction of the poll
| item_rows        ... -> agenda items and their matters (the same file in several
|                  meetings); `item_words`: filters and topics
| attachments      addresses of items -> documents (`document_rows`)
= composing        item and documents -> article
"""
