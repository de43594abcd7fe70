"""A server that answers as a Typesense does, for tests: `with running(admin_key="...") as server: server.url`.

In memory, on a free port of this machine. `server.faults` lets things go wrong, `server.requests` is the log,
`server.violations` says which requests the official description does not know.
"""

from news_assets_tests.typesense_server.faults import Faults, Request
from news_assets_tests.typesense_server.server import TestServer, running

__all__ = ["Faults", "Request", "TestServer", "running"]
