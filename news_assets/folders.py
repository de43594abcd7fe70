"""Folders that only their owner can read: they hold texts of others, addresses of the
newsroom, and search keys.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


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
