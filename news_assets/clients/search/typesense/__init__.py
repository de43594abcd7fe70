"""The search index on a Typesense server, through the official client.

The modules:

    index       what others use; `ports.SearchIndex`
    writing     documents in: what `documents` stores of them, as `lines`, each line's answer read
    searcher    a query in, an answer out: `query` says it in the server's terms, `typos` corrects, `answers` reads
    schema      what a collection should be made of, and what must agree before a write
    collection  the collection itself, and the alias before it
    rebuild     a new collection beside the one in use, and the swap
    connection  requests, their time limits, and the server's errors as ours
"""
