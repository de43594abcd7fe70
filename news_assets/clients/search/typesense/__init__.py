"""The search index on a Typesense server, through the official client.

`typesense_index` is the `ports.SearchIndex`; the other modules are its parts:

    documents -> documents (stored fields, JSON), which compares, imports and reads each
    result
    query -> search_requests (parameters) -> searcher, which sends them, corrects words,
    and ranks by some of the words -> search_requests (rankings, copies, hits, facets)
    collection has the fields of collections, and the requests about them and the alias

`server` sends the requests and translates their errors.
"""
