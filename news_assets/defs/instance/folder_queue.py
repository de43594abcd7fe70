"""Celery's queue in a folder, with whole messages.

kombu's transport opens a message's file under its final name and then writes it. A
worker that lists the folder in between takes an empty file: the message is lost, and
the worker ends. With kombu 5.6 and three workers that happened twice in 20 minutes.
"""

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps

_UNFINISHED = ".part"  # readers take names that end in .msg


class Channel(filesystem.Channel):
    """kombu's channel, whose messages appear in the folder when they are complete."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]  # two names in kombu
        folder = Path(self.data_folder_out)
        # readers sort by it
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        unfinished = folder / f"{name}{_UNFINISHED}"
        try:
            unfinished.write_text(dumps(payload))  # type: ignore[no-untyped-call]
            unfinished.replace(folder / name)
        except OSError as error:
            raise ChannelError(
                f"cannot add {name} to {folder}: {error.strerror}"
            ) from error


class Transport(filesystem.Transport):
    """kombu's transport for `filesystem://` with this channel."""

    Channel = Channel
