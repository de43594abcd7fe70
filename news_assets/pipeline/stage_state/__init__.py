"""The state of the rows of each stage.

    declaration   what a stage declares (`Stage`), and the states that rows are made from
    failures      stores rows whose article has not changed since it was read, and failed
                  rows as Failure with the next attempt
    retries       when an article is fetched again

A row is stale where its stored state differs from the present one;
`store/queries/backlog.py` compares them.
"""
