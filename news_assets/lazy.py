"""Ports that are opened, and functions that are imported, when they are first needed."""

import pkgutil
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Port = TypeVar("Port")


class Lazy(Generic[Port]):
    """A port that is opened on first use: if it is unavailable, only the work that
    needs it fails.

    Safe to use from several threads. After an error the next use tries again.
    """

    def __init__(self, open_port: Callable[[], Port]) -> None:
        self._open_port = open_port
        self._opened: Port | None = None
        self._lock = threading.Lock()

    def open(self) -> Port:
        """Return the port, which the first call opens. Raises what opening it raises."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_port()
            return self._opened

    def take(self) -> Port | None:
        """Return the port if it was opened, and forget it."""
        with self._lock:
            opened, self._opened = self._opened, None
            return opened


def on_call(name: str) -> Callable[..., Any]:
    """Return a function that imports and calls the named one,
    `package.module:function`, with the same arguments.
    """

    def call(*arguments: Any, **options: Any) -> Any:
        return pkgutil.resolve_name(name)(*arguments, **options)

    return call
