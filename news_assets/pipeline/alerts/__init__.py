"""Saved queries and operators' messages: who gets which message, once.

    changes (indexed) | hits -> query_hits | outbox -> messages -> a channel
    lake, checks                           | outbox -> messages -> a channel

`query_file` reads the file of queries, and adds those that operators saved on a page.
What is due is decided here; what a channel looks like, is not.
"""
