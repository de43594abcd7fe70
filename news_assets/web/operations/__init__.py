"""What operators look at and do, and what monitors read.

sessions         who may act: the token, the cookie of a log-in, the check of a request's origin,
                 the record of actions, and the handlers of posted forms
monitoring       the lists of agencies, sources, failures, changes and coverage; /health
                 and /metrics
article_actions  the page of an article's failures, and the actions on it: retry, withdraw, bring
                 back, label
failure_pages    failures by host and reason, the retry of all that is filtered, its results;
                 messages that were sent, wait or were given up
query_actions    the page of saved queries, and the actions on it: save, delete
polls            POST /api/v1/polls

Their routes are in `web/app.py`.
"""
