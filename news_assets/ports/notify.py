"""The port of channels that messages are sent over."""

from typing import Protocol

from news_assets.records.alerts import Message


class Notifier(Protocol):
    """Sends messages over the channels of the file of queries."""

    def send(self, message: Message) -> None:
        """Send one message. Raises NotifyError if its channel does not accept it, or is
        unknown.
        """
        ...
