"""The search index on a Typesense server, through the official client.

`typesense_index` is the `ports.SearchIndex`; the other modules are its parts:

    documents -> document_lines (stored fields, JSON) -> document_import, which
    compares,
    imports and reads each result
    query -> query (parameters) -> searcher, which sends searches -> responses
    (rankings, copies, hits and facets)
    known_words corrects words, and ranks by some of the words
    collection has the requests about collections and the alias, and rebuilds;
    collection_schema their fields

`server_requests` sends the other requests, `server_errors` translates their errors.
"""
