"""Folders that only their owner can read: they hold texts of others, addresses of the
newsroom, and search keys. The time of a file in the home folder says when sensors last
looked for work.
"""

import logging
import os
import stat
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOOKED = "sensors_looked"
_log = logging.getLogger(__name__)


def private_folder(folder: Path) -> Path:
    """Create a folder and its missing parents for this user alone; existing ones are
    not changed.

    Raises:
        OSError: It cannot be created.
    """
    for missing in reversed(
        [one for one in (folder, *folder.parents) if not one.exists()]
    ):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # an error if it is a file
    return folder


def close_to_others(folder: Path) -> None:
    """Take the permissions of other users from an existing folder of this user."""
    with suppress(OSError):
        found = folder.stat()
        if found.st_uid == os.geteuid() and found.st_mode & _OF_OTHERS:
            folder.chmod(stat.S_IMODE(found.st_mode) & ~_OF_OTHERS)


def mark_look(home: Path) -> None:
    """Store that a sensor looks for work now, if the folder can be written."""
    try:
        (home / _LOOKED).touch(mode=0o600)
    except OSError as error:
        _log.debug("the time of the sensors' look is not stored: %s", error)


def last_look(home: Path) -> datetime | None:
    """Return when a sensor last looked for work; None where none has."""
    try:
        return datetime.fromtimestamp((home / _LOOKED).stat().st_mtime, UTC)
    except OSError:
        return None
