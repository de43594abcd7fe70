"""The search index on a Typesense server, through the official client.

index       what others use; `ports.SearchIndex`
writing     documents in: lines that `documents` makes, each line's answer read
searcher    a query in, an answer out: `query` says it in the server's terms, `typos` corrects words, `answers` reads
collection  the schema, the alias before it, and what must agree before a write
rebuild     a new collection beside the one in use, and the swap
connection  requests, their time limits, and the server's errors as ours
"""
