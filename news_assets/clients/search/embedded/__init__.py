"""The embedded search index: one SQLite file, and arrays of numbers in each process
that searches it.

`sqlite_index` is the `ports.SearchIndex`, and fills a new file beside the one in use;
the other modules are its parts:

    documents -> terms -> document_writer -> fresh rows, which postings folds into parts
    query -> evaluation: postings by word and nearest_vectors by meaning, filtered by
    document_table, in the order of ranking

`search_file` has the file's tables and transactions.
"""
