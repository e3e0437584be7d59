"""The one thread that computes: it steps every engine that has work, and does posted jobs between the steps."""

import asyncio
import logging
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from services.inference.engines import Engine
from services.inference.requests import Answer, Request
from services.inference.shares import TimeShare, from_outside
from services.inference.takeover import ProbeRefused, Verdict

T = TypeVar("T")
_log = logging.getLogger(__name__)


class EngineThread:
    """Only this thread touches an engine. Callers on the event loop give it jobs and get results on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, guest_share: float = 0.25) -> None:
        """`guest_share`: see services.inference.shares."""
        self._loop = loop
        self._of_runs = Counter[Engine]()  # requests of runs whose last answer is still to come
        self._of_guests = Counter[Engine]()  # requests from outside, likewise
        self._offers = Counter[Engine]()  # versions that are not taken over or refused yet
        self._guests = TimeShare(guest_share)
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
        """Seconds that the present step or job has lasted; 0 while there is none."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End after the present step. Requests that are not answered by then are never answered."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    async def take_over(self, engine: Engine, version: Any) -> Verdict:
        """Step an engine from now on, and return its verdict about a version.

        The engine decides before a step, once no caller insists on the version that it serves. A version that is
        offered later supersedes this one.
        """
        verdict: asyncio.Future[Verdict] = self._loop.create_future()

        def settle(found: Verdict) -> None:
            self._offers[engine] -= 1
            self._on_loop(_resolve, verdict, found)

        def offer() -> None:
            self._stepped.setdefault(engine)
            self._offers[engine] += 1
            engine.offer(version, settle)

        self.post(offer)
        return await verdict

    def remove(self, engine: Engine) -> None:
        """Step an engine no more, and close it."""
        def close() -> None:
            self._stepped.pop(engine, None)
            for counted in (self._of_runs, self._of_guests, self._offers):
                counted.pop(engine, None)
            engine.close()

        self.post(close)

    def submit(self, engine: Engine, request: Request, sink: Callable[[Answer], None]) -> None:
        """Have a request answered into `sink`, on the event loop; the last answer is `done`.

        An answer without completions means that the request insists on a version that the engine does not serve.
        """
        self._sinks[request] = sink
        self._engines[request] = engine
        self._counted(request)[engine] += 1
        self.post(lambda: self._submit(engine, request))

    def has_requests(self, engine: Engine) -> bool:
        """Whether an engine has requests whose last answer is still to come."""
        return engine in self._engines.values()

    def requests(self) -> list[Request]:
        """Return every request whose last answer is still to come."""
        return list(self._engines)

    async def abort(self, requests: Iterable[Request]) -> int:
        """End requests early: their answers hold the tokens made so far. Returns how many sequences were ended."""
        open = [(self._engines[request], request) for request in requests if request in self._engines]
        return await self.call(lambda: sum(engine.abort(request) for engine, request in open)) if open else 0

    def post(self, job: Callable[[], object]) -> None:
        """Have `job` done between two steps."""
        self._jobs.append(job)
        self._wake.set()

    async def call(self, function: Callable[[], T]) -> T:
        """Have `function` done between two steps, and return its result.

        Raises what it raises. After ProbeRefused the process ends: the engine can serve no version any more.
        """
        future: asyncio.Future[T] = self._loop.create_future()

        def job() -> None:
            try:
                result = function()
            except ProbeRefused as error:
                self._on_loop(_fail, future, error)
                raise
            except Exception as error:
                self._on_loop(_fail, future, error)
            else:
                self._on_loop(_resolve, future, result)

        self.post(job)
        return await future

    def _run_or_end_process(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.failure = error
            _log.exception("the engine failed; this process ends")
            os.kill(os.getpid(), signal.SIGTERM)

    def _run(self) -> None:
        while not self._stopping:
            while self._jobs:
                self._busy_since = time.monotonic()
                self._jobs.popleft()()
            busy = [engine for engine in self._stepped if engine.has_work]
            now = [engine for engine in busy if not self._for_guests(engine) or not self._guests.wait_s]
            if not now:
                self._busy_since = None
                self._wake.wait(self._guests.wait_s if busy else None)
                self._wake.clear()
            for engine in now:
                self._step(engine)

    def _for_guests(self, engine: Engine) -> bool:
        """Whether only callers from outside need an engine's next step."""
        return self._of_guests[engine] > 0 and not self._of_runs[engine] and not self._offers[engine]

    def _counted(self, request: Request) -> Counter[Engine]:
        return self._of_guests if from_outside(request) else self._of_runs

    def _step(self, engine: Engine) -> None:
        began = self._busy_since = time.monotonic()
        for_guests = self._for_guests(engine)
        serving = engine.version_id  # an engine without a version is being built, which does not count as computing
        answers = engine.step()
        taken = time.monotonic() - began
        if self._of_runs[engine]:
            self._guests.note_run()
        if for_guests:
            self._guests.spend(taken)
        if serving:
            engine.computed_s += taken
        self._deliver(answers)

    def _submit(self, engine: Engine, request: Request) -> None:
        if not engine.submit(request):
            self._deliver([Answer(request, [], True)])

    def _deliver(self, answers: list[Answer]) -> None:
        if answers:
            self._on_loop(self._dispatch, answers)

    def _dispatch(self, answers: list[Answer]) -> None:
        for answer in answers:
            sink = self._sinks[answer.request]
            if answer.done:
                del self._sinks[answer.request]
                self._counted(answer.request)[self._engines.pop(answer.request)] -= 1
            sink(answer)

    def _on_loop(self, function: Callable[..., object], *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


def _resolve(future: asyncio.Future[T], result: T) -> None:
    if not future.cancelled():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: Exception) -> None:
    if not future.cancelled():
        future.set_exception(error)
