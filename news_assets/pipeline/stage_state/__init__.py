"""The state of the rows of each stage.

    declaration   what a stage declares (`Stage`), and the state that its rows are made from
                  (`State`)
    versions      the states of articles and documents, as hashes
    rows          stores rows whose article has not changed since it was read
    failures      stores failed rows as Failure with the next attempt, and deletes them once
                  they succeed

A row is stale where its stored state differs from the present one;
`store/queries/backlog.py` compares them.
"""
