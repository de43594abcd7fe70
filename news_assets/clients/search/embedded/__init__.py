"""The embedded search index: one SQLite file, arrays of numbers in each process that searches it.

The modules:

    index      what others use; `ports.SearchIndex`
    writing    documents in: rows, and `terms` that `parts` pack into postings
    matching   a query in, documents out: `postings` by word, `vectors` by meaning, filtered by `table`, put in order
               by `ranking`, their texts read by `hits`
    rebuild    a new file beside the one in use, and the swap
    schema     the file's tables, and SQLite's errors as ours
"""
