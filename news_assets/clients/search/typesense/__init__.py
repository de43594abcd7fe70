"""The search index on a Typesense server, through the official client.

`index` is the `ports.SearchIndex`; the other modules are its parts:

    documents -> documents (stored fields) -> lines (JSON) -> writing, which compares,
    imports and reads each result
    query -> query (parameters) -> searcher, which sends searches -> responses
    (rankings, copies, hits and facets)
    words are known words, their corrections, and the ranking by some of the words
    rebuild fills a new collection beside the one in use and swaps the alias

`collection` has the requests about collections and the alias, `schema` their fields,
`connection` every other request.
"""
