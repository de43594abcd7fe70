"""The embedded search index: one SQLite file, and arrays of numbers in each process
that searches it.

`sqlite_index` is the `ports.SearchIndex`; the other modules are its parts:

    documents -> terms -> document_writer -> fresh rows, which posting_parts folds and
    merges into postings
    query -> evaluation: postings by word and nearest_vectors by meaning, filtered by
    table, in the order of ranking
    sqlite_rebuild fills a new file beside the one in use and swaps it in

`search_file` has the file's tables and transactions, `duplicate_groups` the groups that
count as one hit.
"""
