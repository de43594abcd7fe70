"""What operators look at and do, and what monitors read.

sessions  who may act: the token, the cookie of a log-in, and the check of a request's origin
access    what the pages need to act: the token, Dagster's address, and a way into the index
reading   the lists of agencies, sources, failures, changes and coverage; `coverage` makes its table
actions   the page of an article's failures, and the actions on it: retry, withdraw, bring back
queries   the page of saved queries, and the actions on it: save, delete
forms     reading forms, and the record of actions
polls     POST /api/v1/polls
health    /health and /metrics
routes    the routes of all of these
"""
