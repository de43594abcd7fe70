"""Calls a language model for several articles at a time, within the limits of its
provider.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from news_assets.clients.llm.messages import (
    answer_of,
    call_settings,
    failed_call,
    message_of,
)
from news_assets.clients.llm.models import close_model
from news_assets.ports.services import ModelAnswer, ModelRequest

if TYPE_CHECKING:
    from pydantic_ai.models import Model

_CLOSE_S: Final = 10.0
_MINUTE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Calls in flight, calls a minute (0: no limit), and the seconds that a call may
    take.
    """

    concurrency: int = 8
    per_minute: int = 300
    timeout_s: float = 60.0


class ConcurrentModel:
    """One model of one provider; implements `ports.LanguageModel`.

    Its calls run in a thread of their own.
    """

    def __init__(
        self, name: str, open_model: "Callable[[], Model]", limits: Limits
    ) -> None:
        self.name = name
        self.timeout_s = limits.timeout_s
        self._open_model = open_model
        self._limits = limits
        self._model: Model | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running = 0
        self._begun: deque[float] = deque()  # when the calls of the last minute began
        self._lock = threading.Lock()

    def slots(self) -> int:
        """Return how many requests may be sent now.

        Raises:
            SettingsError: The provider's library is not installed, or its key is not
                set.
        """
        self._started()
        with self._lock:
            now = time.monotonic()
            while self._begun and self._begun[0] <= now - _MINUTE_S:
                self._begun.popleft()
            free = self._limits.concurrency - self._running
            if self._limits.per_minute:
                free = min(free, self._limits.per_minute - len(self._begun))
            return max(0, free)

    def send(self, request: ModelRequest) -> Future[ModelAnswer]:
        """Send one request, once; the future has the answer, or raises ModelCallError."""
        loop = self._started()
        with self._lock:
            self._running += 1
            if self._limits.per_minute:
                self._begun.append(time.monotonic())
        call = asyncio.run_coroutine_threadsafe(self._call(request), loop)
        call.add_done_callback(self._ended)
        return call

    def pause(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """End the thread; calls in flight are cancelled, and connections closed."""
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSE_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSE_S)

    def _ended(self, _call: Future[ModelAnswer]) -> None:
        with self._lock:
            self._running -= 1

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._model is not None:
            await close_model(self._model)
            self._model = None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._model = self._open_model()
                self._loop = asyncio.new_event_loop()
                name = f"calls of {self.name}"
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name=name, daemon=True
                )
                self._thread.start()
            return self._loop

    async def _call(self, request: ModelRequest) -> ModelAnswer:
        from pydantic_ai.direct import model_request

        assert self._model is not None
        messages, parameters = message_of(request, self._model)
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                response = await model_request(
                    self._model,
                    messages,
                    model_settings=call_settings(request, self._model),
                    model_request_parameters=parameters,
                )
            return answer_of(response, round((time.monotonic() - begun) * 1000))
        except Exception as error:  # also of a provider's library: each call has an end
            raise failed_call(error, self._limits.timeout_s) from error


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
