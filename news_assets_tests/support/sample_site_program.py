"""The sample site under the host name `site`; SIGHUP publishes the second version of
the edited article.

A service that `news_assets_tests/compose.py` adds to the Compose file: it runs in the
image, which has no tests, so this file imports none.
"""

import signal
from datetime import UTC, datetime

from news_assets.demo import SampleSite

if __name__ == "__main__":
    site = SampleSite(datetime.now(UTC), host="site")
    signal.signal(
        signal.SIGHUP,
        lambda *_: site.edit("vacinacao-gripe-escolas", datetime.now(UTC)),
    )
    site.serve_forever()
