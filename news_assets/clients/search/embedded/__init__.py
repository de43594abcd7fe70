"""The embedded search index: one SQLite file, and arrays of numbers in each process
that searches it.

`index` is the `ports.SearchIndex`; the other modules are its parts:

    documents -> terms -> writing -> fresh rows, which parts folds and merges into
    postings
    query -> matching: postings by word and vectors (with bounds) by meaning, filtered
    by table, in the order of ranking
    rebuild fills a new file beside the one in use and swaps it in

`schema` has the file's tables and transactions, `duplicates` the groups that count as
one hit.
"""
