"""HTTP client behind `ports.Fetcher`.

The path of one request:

    URL
    | robots, politeness   is it allowed, and when; one request at a time per host
    | host_queue           many URLs: the host that is due next goes to a free worker
    | transport            resolve, check the address (`address_policy`), connect,
    |                      keep the deadline
    | redirect_chain       follow it, within its time limit, with the cookies it sets;
    |                      check each port
    | logins               Authorization of the operator's sites, at their origin only
    | body, headers        decompress up to a cap; validators, max-age, Retry-After
    -> Page, or FetchError (`fetch_errors`)
"""
