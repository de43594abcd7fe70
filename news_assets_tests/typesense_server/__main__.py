"""Run a simulated server by hand: `python -m news_assets_tests.typesense_server
[ADMIN_KEY]`.
"""

import sys
import threading

from news_assets_tests.typesense_server.server import running

ADMIN_KEY = sys.argv[1] if len(sys.argv) > 1 else "admin-key"

with running(admin_key=ADMIN_KEY) as server:
    print(f"{server.url} with the admin key {ADMIN_KEY}; Ctrl+C stops it")  # noqa: T201
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print(*server.violations, sep="\n")  # noqa: T201
