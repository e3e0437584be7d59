"""The one thread that computes: it steps every engine that has work and does what it is told between steps."""

import asyncio
import logging
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from services.inference.engines import Engine
from services.inference.requests import Answer, Request
from services.inference.takeover import ProbeRefused, Verdict

T = TypeVar("T")
_log = logging.getLogger(__name__)


class EngineThread:
    """Engines belong to this thread; callers on the event loop hand it jobs and are called back there."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_verdict: Callable[[Engine, Verdict], None]) -> None:
        self._loop, self._on_verdict = loop, on_verdict
        self._jobs: deque[Callable[[], object]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._stepped: dict[Engine, None] = {}  # a set that keeps its order
        self._sinks: dict[Request, Callable[[Answer], None]] = {}
        self._engines: dict[Request, Engine] = {}
        self._thread = threading.Thread(target=self._run_or_end_process, name="engine", daemon=True)
        self._busy_since: float | None = None
        self.failure: BaseException | None = None

    @property
    def busy_s(self) -> float:
        """Seconds that the step or job in hand has lasted; 0 while there is none."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End after the running step; what is unfinished stays so."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def add(self, engine: Engine) -> None:
        """Step this engine from now on."""
        self.post(lambda: self._stepped.setdefault(engine))

    def remove(self, engine: Engine) -> None:
        """Step this engine no more."""
        self.post(lambda: self._stepped.pop(engine, None))

    def submit(self, engine: Engine, request: Request, sink: Callable[[Answer], None]) -> None:
        """Have a request answered into `sink`, on the event loop; the last answer is `done`.

        An answer without completions means that the request insists on a version that the engine does not serve.
        """
        self._sinks[request] = sink
        self._engines[request] = engine
        self.post(lambda: self._submit(engine, request))

    def open(self, engine: Engine) -> bool:
        """Whether an engine has requests that are not wholly answered."""
        return engine in self._engines.values()

    def requests(self) -> list[Request]:
        """Return every request that is not wholly answered."""
        return list(self._engines)

    async def abort(self, requests: Iterable[Request]) -> int:
        """End requests early; their sinks get what was made. Returns how many sequences were ended."""
        open = [(self._engines[request], request) for request in requests if request in self._engines]
        return await self.call(lambda: sum(engine.abort(request) for engine, request in open)) if open else 0

    def post(self, job: Callable[[], object]) -> None:
        """Have `job` done between two steps."""
        self._jobs.append(job)
        self._wake.set()

    async def call(self, function: Callable[[], T]) -> T:
        """Return what `function`, done between two steps, returns or raises; ProbeRefused ends the process besides."""
        future: asyncio.Future[T] = self._loop.create_future()

        def job() -> None:
            try:
                result = function()
            except ProbeRefused as error:
                self._loop.call_soon_threadsafe(_fail, future, error)
                raise  # the engine is of no use any more
            except Exception as error:
                self._loop.call_soon_threadsafe(_fail, future, error)
            else:
                self._loop.call_soon_threadsafe(_resolve, future, result)

        self._jobs.append(job)
        self._wake.set()
        return await future

    def _run_or_end_process(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.failure = error
            _log.exception("the engine failed; ending this process")
            os.kill(os.getpid(), signal.SIGTERM)

    def _run(self) -> None:
        while not self._stopping:
            while self._jobs:
                self._busy_since = time.monotonic()
                self._jobs.popleft()()
            busy = [engine for engine in self._stepped if engine.has_work]
            if not busy:
                self._busy_since = None
                self._wake.wait()
                self._wake.clear()
            for engine in busy:
                self._busy_since = time.monotonic()
                began = time.monotonic()
                answers = engine.step()
                engine.computed_s += time.monotonic() - began
                self._deliver(answers)
                self._report(engine)

    def _submit(self, engine: Engine, request: Request) -> None:
        if not engine.submit(request):
            self._deliver([Answer(request, [], True)])

    def _deliver(self, answers: list[Answer]) -> None:
        if answers:
            self._loop.call_soon_threadsafe(self._dispatch, answers)

    def _dispatch(self, answers: list[Answer]) -> None:
        for answer in answers:
            sink = self._sinks[answer.request]
            if answer.done:
                del self._sinks[answer.request]
                del self._engines[answer.request]
            sink(answer)

    def _report(self, engine: Engine) -> None:
        verdicts, engine.verdicts = engine.verdicts, []
        for verdict in verdicts:
            self._loop.call_soon_threadsafe(self._on_verdict, engine, verdict)


def _resolve(future: asyncio.Future[T], result: T) -> None:
    if not future.cancelled():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: Exception) -> None:
    if not future.cancelled():
        future.set_exception(error)
