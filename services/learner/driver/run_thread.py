"""The thread of one leased run: it advances the run whenever rows changed, so that no run waits for a slow one."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
from psycopg import DataError
from psycopg.errors import DiskFull

from hone.catalogue import packages
from hone.process.outages import AWAY, Outages, full_database
from hone.rpc import errors
from hone.store.database import Database
from hone.store.leases import LeaseLost, fenced
from hone.store.objects import StoreAway
from hone.telemetry import logs
from services.learner.driver.lease import RunLease, close
from services.learner.driver.run import RunDriver
from services.learner.driver.watch import Interrupted

log = logging.getLogger(__name__)

_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


class RunThread:
    """Moves a run until its lease is lost or the driver stops.

    The first turn of a lease is marked on the run's row, so that a run that takes its driver down is known by that.
    Runs that did so before take their first turn one after another: only one of them is there when the driver ends.
    """

    def __init__(
        self, database: Database, lease: RunLease, make: Callable[[], RunDriver], suspects: threading.Lock,
        stop: threading.Event, sweep_s: float, ended: Callable[["RunThread"], None],
    ) -> None:
        """`make` makes the run's driver. `suspects` is held during the first turn of a run that was taken down before.

        `ended` is called at the end, in the thread.
        """
        self.lease, self._database, self._make, self._suspects = lease, database, make, suspects
        self._stop, self._sweep_s, self._ended = stop, sweep_s, ended
        self._outages, self._woken = Outages(stop, sweep_s), threading.Event()
        self._proven = False
        self._memory_ends = 0  # services that ended during a call of this run since the last turn that needed no other
        self._thread = threading.Thread(target=self._work, name=lease.run_id, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Have the run advance, because rows changed or may have changed."""
        self._woken.set()

    def join(self) -> None:
        """Wait for the end, which comes soon after `stop`."""
        self._thread.join()

    def _work(self) -> None:
        with logs.about(tenant_id=self.lease.tenant_id, run_id=self.lease.run_id):
            try:
                self._move_on()
            except LeaseLost:
                log.info("no longer hold %s", self.lease.run_id)
            except Exception as error:
                log.exception("the run's thread ends; the run is leased again when its lease expires")
                self._outages.survive(partial(self._own_up, error))
            finally:
                self._ended(self)

    def _move_on(self) -> None:
        if lacking := packages.lacking(self.lease.spec.packages, "driver"):
            self._outages.outlast(partial(self._fail, lacking))
            return
        try:
            run = self._make()
        except (LookupError, ValueError) as problem:
            self._outages.outlast(partial(self._fail, str(problem)))
            return
        while not self._stop.is_set():
            self._woken.clear()
            self._outages.survive(partial(self._turn, run))
            self._woken.wait(self._sweep_s)

    def _own_up(self, error: Exception) -> None:
        """Leave the run's row as if the run had taken the whole driver down with this error."""
        self._database.run("runs.begin_turn", **self._key)
        self._database.run("runs.set_waiting_for", **self._key,
                           waiting_for=f"another driver, after {type(error).__name__}: {error}")

    @property
    def _key(self) -> dict[str, Any]:
        return {"run_id": self.lease.run_id, "epoch": self.lease.epoch}

    def _turn(self, run: RunDriver) -> None:
        """Advance the run as far as it goes. Raises LeaseLost."""
        if self._proven:
            self._advance(run)
        else:
            self._first_turn(run)

    def _first_turn(self, run: RunDriver) -> None:
        """Advance the run, and mark that on its row until the turn ends, in whatever way that leaves the driver alive.

        Later turns are not marked: a run is rebuilt from its rows, so what ends a driver in one of them is met again in
        the first turn of the next lease, and a driver that a stranger ends blames none of its runs.
        """
        alone = self._alone(run)
        try:
            self._database.run("runs.begin_turn", **self._key)
            try:
                self._proven = self._advance(run)
            except AWAY:
                self._database.run("runs.end_turn", **self._key, finished=False)
                raise
            self._database.run("runs.end_turn", **self._key, finished=self._proven)
        finally:
            if alone:
                self._suspects.release()

    def _alone(self, run: RunDriver) -> bool:
        """Wait until no other suspect has its first turn, if this run is one; return whether others wait for this one.

        A run that is not to go on need not wait.
        """
        if not self.lease.takedowns:
            return False
        while not self._suspects.acquire(timeout=self._sweep_s):
            if self._stop.is_set() or not run.watch.wanted():
                return False
            run.explain("the first turn of another run that took its driver down, like this one")
        return True

    def _advance(self, run: RunDriver) -> bool:
        """Advance the run until it has to wait; return whether it came that far. Raises LeaseLost."""
        try:
            while not self._stop.is_set():
                if not self._step(run):
                    self._memory_ends = 0
                    return True
        except grpc.RpcError as error:
            self._answer_rpc_error(run, error)
        except (StoreAway, DiskFull) as away:
            reason = full_database(away) if isinstance(away, DiskFull) else str(away)
            log.warning("the run waits: %s", reason)
            run.explain(reason)
        except (LookupError, ValueError, DataError) as problem:
            log.exception("the run fails")
            self._fail(str(problem))
        return False

    def _step(self, run: RunDriver) -> bool:
        try:
            return run.advance()
        except Interrupted as interrupted:
            log.info("gave up what was begun: %s", interrupted)
            return True

    def _fail(self, reason: str) -> None:
        with fenced(self._database, self.lease) as transaction:
            close(transaction, self.lease, "failed", reason + packages.beside(self.lease.spec.packages), "failed")

    def _answer_rpc_error(self, run: RunDriver, error: grpc.RpcError) -> None:
        code, details, end = error.code(), errors.reason(error), errors.memory_end(error)
        if end and self._memory_ends:
            self._fail(f"it ended {end.kind} twice: {end.why}")
            return
        self._memory_ends += end is not None
        if code not in _PASSING and end is None:
            self._fail(details)
            return
        log.warning("the run waits: %s", error.details())
        run.explain(f"a service that does not answer: {code.name}: {details}")
        self._stop.wait(self._sweep_s)
