"""HTTP client behind `ports.Fetcher`.

The path of one request:

    URL
    | politeness   one request at a time per host; of many URLs, the host that is due
    |              next goes to a free worker; a failed connection is tried again after
    |              some seconds
    | origins      is it allowed by robots.txt; follow redirects, within the time limit,
    |              with the cookies they set; check each port; Authorization of the
    |              operator's sites, at their origin only
    | transport    resolve, check the address, connect, keep the deadline
    | responses    decompress up to a cap; validators, max-age, Retry-After
    -> Page, or FetchError
"""
