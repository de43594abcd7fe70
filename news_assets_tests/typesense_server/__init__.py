"""A simulated Typesense server for tests: `with running(admin_key="...") as server:
server.url`.

It keeps its data in memory and listens on a free port of this machine. `server.faults`
switches faults on, `server.requests` is the request log, and `server.violations` lists
requests that deviate from the official OpenAPI description.
"""

from news_assets_tests.typesense_server.faults import Faults, Request
from news_assets_tests.typesense_server.server import TestServer, running

__all__ = ["Faults", "Request", "TestServer", "running"]
