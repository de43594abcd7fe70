"""Saved queries and operators' messages: who is told what, once.

    changes (indexed) -> matching -> query_hits -> digests -> messages -> sending -> a
    channel of clients/notify
    lake, checks      -> conditions -> messages

`spec` and `loader` read the file of queries, `stored` adds those that operators made on
a page. What is due is decided here; what a channel looks like, is not.
"""
