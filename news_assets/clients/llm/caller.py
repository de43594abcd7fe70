"""Calls a language model for many articles at a time, within the limits of its provider."""

import asyncio
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from news_assets.clients.llm.messages import FailedCallError, answer_of, asked, failed_call, timed_out
from news_assets.clients.llm.models import close_model
from news_assets.errors import EnrichError
from news_assets.ports.enrichment import Answered, ModelAnswer, ModelRequest

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model

GROUP_S: Final = 0.5  # answers of so long are yielded together: to store one takes 60 ms of CPU, to store 30 takes 80
PAUSE_S: Final = 300.0  # how long a model that was given up is not asked again
MAX_TRIES: Final = 5
MAX_TIMEOUTS: Final = 2
MAX_WAIT_S: Final = 120.0  # a provider that asks for more is unavailable
CLOSE_S: Final = 10.0
MAX_OUTPUT_TOKENS: Final = 4000


_Done = queue.SimpleQueue[tuple[ModelRequest, ModelAnswer | FailedCallError]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Calls in flight, calls a minute (0: as many as come), seconds a call may take, failures in a row to give up."""

    concurrency: int = 8
    per_minute: int = 300
    timeout_s: float = 60.0
    max_failures: int = 5


class ConcurrentModel:
    """One model of one provider; implements `ports.LanguageModel`. Its calls run in a thread of their own."""

    def __init__(self, name: str, open_model: "Callable[[], Model]", limits: Limits) -> None:
        self.name = name
        self._open_model = open_model
        self._limits = limits
        self._model: Model | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._given_up: tuple[float, str] | None = None  # until when, and why
        self._not_before = 0.0  # the provider wants to be left alone until then
        self._begun: deque[float] = deque()  # when the calls of the last minute began
        self._rate_lock = threading.Lock()

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        """Yield the requests with their answers or errors; see `ports.LanguageModel`.

        Raises:
            EnrichError: The model is unavailable: some calls in a row failed, now or in the last minutes.
            SettingsError: The provider's library is not installed, or its key is not set.
        """
        if self._given_up and time.monotonic() < self._given_up[0]:
            raise EnrichError(self._given_up[1])
        loop, waiting, done = self._started(), iter(requests), _Done()
        running, failures, reason = 0, 0, ""
        while True:
            while not reason and running < self._limits.concurrency and (request := next(waiting, None)):
                call = asyncio.run_coroutine_threadsafe(self._tried(request), loop)
                call.add_done_callback(partial(_put, done, request))
                running += 1
            if not running:
                break
            arrived = _arrived(done, running)
            for _, result in arrived:
                failures = failures + 1 if isinstance(result, FailedCallError) else 0
                if isinstance(result, FailedCallError) and (result.is_fatal or failures >= self._limits.max_failures):
                    reason = reason or _stopped(self.name, failures, result)
            yield [(one, EnrichError(str(r)) if isinstance(r, FailedCallError) else r) for one, r in arrived]
            running -= len(arrived)
        if reason:
            self._given_up = (time.monotonic() + PAUSE_S, reason)
            raise EnrichError(reason)

    def close(self) -> None:
        """End the thread; calls in flight are given up, and connections closed."""
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop and thread:
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(CLOSE_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(CLOSE_S)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._model is not None:
            await close_model(self._model)
            self._model = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._model = self._open_model()
            self._loop = asyncio.new_event_loop()
            name = f"calls of {self.name}"
            self._thread = threading.Thread(target=_run, args=(self._loop,), name=name, daemon=True)
            self._thread.start()
        return self._loop

    async def _tried(self, request: ModelRequest) -> ModelAnswer:
        tries = timeouts = 0
        while True:
            await self._turn()
            begun = time.monotonic()
            try:
                response = await self._call(request)
                return answer_of(response, round((time.monotonic() - begun) * 1000))
            except FailedCallError as failure:
                tries, timeouts = tries + 1, timeouts + failure.is_timeout
                wait_s = failure.wait_s or min(0.5 * 2**tries, 30.0)
                if not failure.is_again or tries >= MAX_TRIES or timeouts >= MAX_TIMEOUTS or wait_s > MAX_WAIT_S:
                    raise
                wait_s *= 1 + random.random() / 4  # so that calls that failed together do not come back together
                if failure.wait_s:
                    self._not_before = max(self._not_before, time.monotonic() + wait_s)
                await asyncio.sleep(wait_s)

    async def _turn(self) -> None:
        """Wait until the provider may be called again."""
        while (wait_s := max(self._not_before - time.monotonic(), self._rate_wait_s())) > 0:
            await asyncio.sleep(wait_s)

    def _rate_wait_s(self) -> float:
        """Take a place among the calls of this minute and return 0; or return how long there is none."""
        if not self._limits.per_minute or self._not_before > time.monotonic():
            return 0.0
        with self._rate_lock:
            now = time.monotonic()
            while self._begun and self._begun[0] <= now - 60:
                self._begun.popleft()
            if len(self._begun) < self._limits.per_minute:
                self._begun.append(now)
                return 0.0
            return self._begun[0] + 60 - now

    async def _call(self, request: ModelRequest) -> "ModelResponse":
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError

        assert self._model is not None
        messages, parameters = asked(request, self._model)
        settings: Any = {"max_tokens": MAX_OUTPUT_TOKENS}
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                return await model_request(
                    self._model, messages, model_settings=settings, model_request_parameters=parameters
                )
        except TimeoutError as error:
            raise timed_out(self._limits.timeout_s) from error
        except (AgentRunError, UserError) as error:
            raise failed_call(error, self._limits.timeout_s) from error


def _put(done: _Done, request: ModelRequest, call: "Future[ModelAnswer]") -> None:
    error = call.exception()
    if error is None:
        done.put((request, call.result()))
    elif isinstance(error, FailedCallError):
        done.put((request, error))
    else:  # of a library: it must not leave the consumer waiting for ever
        done.put((request, FailedCallError(f"{type(error).__name__}: {error}")))


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _arrived(done: _Done, running: int) -> list[tuple[ModelRequest, ModelAnswer | FailedCallError]]:
    """Return what has arrived: wait for the first, and for the others of the running calls up to GROUP_S."""
    arrived = [done.get()]
    until = time.monotonic() + GROUP_S
    while len(arrived) < running and (left_s := until - time.monotonic()) > 0:
        try:
            arrived.append(done.get(timeout=left_s))
        except queue.Empty:
            break
    return arrived


def _stopped(name: str, failures: int, last: FailedCallError) -> str:
    if last.is_fatal:
        return f"{name} cannot be used: {last}"
    return f"{name} was given up after {failures} failures in a row, the last one: {last}"
