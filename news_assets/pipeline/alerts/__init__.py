"""Saved queries and operators' messages: who gets which message, once.

    changes (indexed) | hits -> query_hits | digests -> messages | sending -> a channel
    lake, checks                           | digests -> messages | sending -> a channel

`query_file` reads the file of queries, `stored_queries` adds those that operators made
on a page. What is due is decided here; what a channel looks like, is not.
"""
