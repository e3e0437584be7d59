"""The driver process: it leases runs, and advances each of them whenever rows changed."""

import logging
import threading
from functools import partial

import grpc
from psycopg import DataError

from hone.process.heartbeat import forget_silent, interval_s
from hone.process.outages import Outages
from hone.queues.hints import Hints
from hone.rpc import errors
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.store.leases import Holder, LeaseLost
from hone.store.notifications import Listener
from hone.store.objects import StoreAway
from hone.telemetry import logs
from services.learner.driver import lease as run_leases
from services.learner.driver.deletions import Deletions
from services.learner.driver.orphans import Orphans, pause_s
from services.learner.driver.peers import Peers
from services.learner.driver.run import RunDriver
from services.learner.driver.usage import sum_hours

log = logging.getLogger(__name__)

_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


class Driver:
    """Advances the runs that it holds until it is stopped. Another driver can go on with any of them from rows."""

    def __init__(self, settings: Settings, owner: str) -> None:
        self._settings, self._owner = settings, owner
        self._database = Database(settings.database_url)
        self._objects = objects.connect(settings.objects_url)
        self._orphans_pause_s = pause_s(settings.orphan_grace_s)
        self._orphans = Orphans(self._database, self._objects, settings.orphan_grace_s, self._orphans_pause_s)
        self._deletions = Deletions(self._database, self._objects)
        self._hints, self._peers = Hints(settings), Peers(settings)
        self._listener = Listener(settings.database_url, "runs", "groups", "steps", "versions")
        self._runs: Holder[RunDriver] = Holder(self._database, "runs", owner, settings.lease_s)
        self._stop = threading.Event()
        self._outages = Outages(self._stop, settings.sweep_s)

    def stop(self) -> None:
        """Let `run` return after the current action."""
        self._stop.set()

    def run(self) -> None:
        """Release the leases of an earlier process of this name. Then lease and advance runs until stopped."""
        for work in (self._keep_leases, self._collect_orphans, self._delete):
            threading.Thread(target=work, daemon=True).start()
        self._outages.survive(self._runs.release_all)
        while not self._stop.is_set():
            self._outages.survive(self._turn)
        self._outages.survive(self._runs.release_all)

    def _turn(self) -> None:
        """Lease runs that no driver holds, advance every run as far as it goes, then wait for a hint."""
        while self._lease_another():
            pass
        for run in self._runs.work():
            with logs.about(run_id=run.lease.run_id):
                self._move(run)
        self._listener.wait(self._settings.sweep_s)

    def _move(self, run: RunDriver) -> None:
        try:
            self._advance(run)
        except LeaseLost:
            log.info("no longer hold %s", run.lease.run_id)
            self._runs.drop(run)
        except StoreAway as away:  # perhaps only this run's objects are away: other runs go on
            log.warning("run %s waits: %s", run.lease.run_id, away)

    def _advance(self, run: RunDriver) -> None:
        try:
            while not self._stop.is_set() and run.advance():
                pass
        except grpc.RpcError as error:
            self._answer_rpc_error(run, error)
        except (LookupError, ValueError, DataError) as problem:
            log.exception("run %s fails", run.lease.run_id)
            run.fail(str(problem))

    def _answer_rpc_error(self, run: RunDriver, error: grpc.RpcError) -> None:
        code, details = error.code(), errors.reason(error)
        if code not in _PASSING:
            run.fail(details)
            return
        log.warning("run %s waits: %s", run.lease.run_id, error.details())
        run.explain(f"a service that does not answer: {code.name}: {details}")
        self._stop.wait(self._settings.sweep_s)

    def _lease_another(self) -> bool:
        lease = run_leases.acquire(self._database, self._owner, self._settings.lease_s)
        if lease is None:
            return False
        log.info("leased %s at epoch %d", lease.run_id, lease.epoch)
        self._runs.add(RunDriver(self._settings, self._database, self._objects, self._hints, self._peers, lease))
        return True

    def _collect_orphans(self) -> None:
        while not self._stop.wait(self._orphans_pause_s):
            self._outages.survive(self._orphans.sweep)
            self._outages.survive(partial(forget_silent, self._database))
            self._outages.survive(partial(sum_hours, self._database))

    def _delete(self) -> None:
        while not self._stop.wait(self._settings.sweep_s):
            self._outages.survive(self._deletions.work)

    def _keep_leases(self) -> None:
        while not self._stop.wait(interval_s(self._settings.lease_s)):
            for run in self._runs.work():
                self._outages.survive(partial(self._runs.renew, run))
