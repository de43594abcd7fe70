"""HTTP client behind `ports.Fetcher`.

The path of one request:

    URL
    | robots, politeness   is it allowed, and when; one request at a time per host
    | host_queue           many URLs: the host that is due next goes to a free worker;
    |                      a failed connection is tried again after some seconds
    | redirect_chain       follow it, within its time limit, with the cookies it sets;
    |                      check each port; Authorization of the operator's sites, at
    |                      their origin only
    | transport            resolve, check the address, connect, keep the deadline
    | responses            decompress up to a cap; validators, max-age, Retry-After
    -> Page, or FetchError
"""
