"""The time at which Dagster's sensors last looked for work, as that of a file in NEWS_HOME.

Pages tell by it whether a daemon runs. A row of the lake would be a commit at each look,
after which every sensor looks again.
"""

import logging
from datetime import UTC, datetime
from pathlib import Path

_NAME = "sensors_looked"
_log = logging.getLogger(__name__)


def mark_look(home: Path) -> None:
    """Store that a sensor looks now; a folder that cannot be written is left as it is."""
    try:
        (home / _NAME).touch(mode=0o600)
    except OSError as error:
        _log.debug("no mark that sensors look: %s", error)


def last_look(home: Path) -> datetime | None:
    """Return when a sensor last looked; None where none has with this folder."""
    try:
        return datetime.fromtimestamp((home / _NAME).stat().st_mtime, UTC)
    except OSError:
        return None
