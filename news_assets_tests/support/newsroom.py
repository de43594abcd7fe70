"""The evaluation material's newsroom as a server process, and a desk of its sites."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from news_assets.desks.desk_files import load_desks
from news_assets.records.desks import Desk
from news_assets.sources.source_kinds import KINDS

START_S = 30.0


class Sites:
    """The sites of a running newsroom: real pages, each agency on its own loopback
    address.
    """

    def __init__(self, port: int) -> None:
        self.base = f"http://127.0.1.1:{port}"

    def call(self, path: str, **posted: Any) -> Any:
        """Request one of the newsroom's own addresses, by POST where there are values,
        and return its JSON.
        """
        body = json.dumps(posted).encode() if posted else None
        with urllib.request.urlopen(
            urllib.request.Request(self.base + path, body), timeout=START_S
        ) as answer:
            return json.load(answer)

    def article_requests(self) -> int:
        """Return the number of requests for articles."""
        return sum(
            n
            for key, n in self.call("/_stats")["requests"].items()
            if " articles " in key
        )

    def desk(self, folder: Path, most: int | None = None) -> Desk:
        """Write a desk file of the first `most` sites, or of all, and return the desk."""
        agencies = {
            site["agency"]: {
                "name": site["name"],
                "language": site["language"],
                "sources": [{"kind": "feed", "url": site["feed_url"]}],
            }
            for site in self.call("/_agencies")[:most]
        }
        first_day = (datetime.now(UTC) - timedelta(days=10)).date().isoformat()
        desk = {
            "desk": "newsroom",
            "timezone": "UTC",
            "language": "en",
            "first_day": first_day,
            "agencies": agencies,
        }
        path = folder / "newsroom.yaml"
        path.write_text(yaml.safe_dump(desk))
        return load_desks([str(path)], KINDS)[0]


@contextmanager
def newsroom(shared: Path, port: int, *options: str) -> Iterator[Sites]:
    """Run the newsroom on this port and yield its sites."""
    command = [
        sys.executable,
        str(shared / "tools" / "newsroom.py"),
        "--corpus",
        str(shared / "corpus"),
    ]
    with subprocess.Popen(
        [*command, "--port", str(port), *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "agencies" in process.stdout.readline(), "the newsroom did not start"
        try:
            yield Sites(port)
        finally:
            process.terminate()
