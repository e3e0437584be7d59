"""The driver process: it leases runs, and has each of them advance in a thread of its own whenever rows changed."""

import asyncio
import logging
import threading
import time
from functools import partial

from hone.jobs.worker import Worker
from hone.process import ending
from hone.process.heartbeat import forget_silent, interval_s
from hone.process.outages import Outages
from hone.queues.hints import Hints
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import AsyncDatabase, Database
from hone.store.leases import Holder
from hone.store.notifications import Listener
from services.learner.driver import lease as run_leases
from services.learner.driver import retention
from services.learner.driver.deletions import Deletions
from services.learner.driver.limits import TenantFigures
from services.learner.driver.orphans import Orphans, pause_s
from services.learner.driver.peers import Peers
from services.learner.driver.run import RunDriver
from services.learner.driver.run_thread import RunThread
from services.learner.driver.usage import sum_hours

log = logging.getLogger(__name__)

CONNECTIONS = 8
"""Connections to the database that the threads of all runs share."""


class Driver:
    """Advances the runs that it holds until it is stopped. Another driver can go on with any of them from rows."""

    def __init__(self, settings: Settings, owner: str) -> None:
        self._settings, self._owner = settings, owner
        self._database = Database(settings.database_url, CONNECTIONS)
        self._objects = objects.connect(settings.objects_url)
        self._orphans_pause_s = pause_s(settings.orphan_grace_s)
        self._orphans = Orphans(self._database, self._objects, settings.orphan_grace_s, self._orphans_pause_s)
        self._deletions = Deletions(self._database, self._objects, settings.sweep_s)
        self._tenants = TenantFigures(self._database, settings.sweep_s)
        self._hints, self._peers = Hints(settings), Peers(settings)
        self._listener = Listener(settings.database_url, "runs", "groups", "steps", "versions")
        self._runs: Holder[RunThread] = Holder(self._database, "runs", owner, settings.lease_s)
        self._suspects, self._stop = threading.Lock(), threading.Event()
        self._outages = Outages(self._stop, settings.sweep_s)
        self._changed, self._leased_at = {"runs"}, 0.0  # channels of the last hint, and when runs were looked for

    def stop(self) -> None:
        """Let `run` return after the current action of each run."""
        self._stop.set()

    def run(self) -> None:
        """Release the leases of an earlier process of this name. Then lease and advance runs until stopped."""
        for work in (self._keep_leases, self._collect_orphans, self._delete_models):
            threading.Thread(target=work, daemon=True).start()
        jobs = ending.vital_thread("jobs", lambda: asyncio.run(self._do_jobs()))
        jobs.start()
        self._outages.survive(self._runs.release_all)
        while not self._stop.is_set():
            self._outages.survive(self._turn)
        for run in self._runs.work():
            run.join()
            self._outages.survive(partial(self._runs.release, run))
        jobs.join()

    def _turn(self) -> None:
        """Lease runs that no driver holds if some may be new, wake every run, then wait for a hint."""
        if self._looks_for_runs:
            self._leased_at = time.monotonic()
            while self._lease_another() or self._give_way():
                pass
        for run in self._runs.work():
            run.wake()
        self._changed = self._listener.wait(self._settings.sweep_s)

    @property
    def _looks_for_runs(self) -> bool:
        return "runs" in self._changed or time.monotonic() - self._leased_at >= self._settings.sweep_s

    @property
    def _room(self) -> int:
        """Runs that this driver may lease. One that is about to end may come beyond that."""
        return max(0, self._settings.driver_runs - len(self._runs.work()))

    def _give_way(self) -> bool:
        """Make room for a run of a tenant that has fewer runs in drivers than another; return whether there is room."""
        taken = None if self._room else run_leases.give_way(self._database, self._owner)
        if taken is None:
            return False
        log.info("%s gives way to a run of another tenant", taken)
        for run in self._runs.work():
            if run.lease.run_id == taken:
                self._runs.drop(run)
                run.wake()
        return True

    def _lease_another(self) -> bool:
        room = self._room > 0
        lease = run_leases.acquire(self._database, self._owner, self._settings.lease_s, room)
        if lease is None:
            return False
        log.info("leased %s at epoch %d", lease.run_id, lease.epoch)
        make = partial(RunDriver, self._settings, self._database, self._objects, self._hints, self._peers, lease,
                       self._stop, self._tenants)
        run = RunThread(self._database, lease, make, self._suspects, self._stop, self._settings.sweep_s,
                        self._runs.drop)
        self._runs.add(run)
        run.start()
        return True

    def _collect_orphans(self) -> None:
        while not self._stop.wait(self._orphans_pause_s):
            self._outages.survive(self._orphans.sweep)
            self._outages.survive(partial(retention.sweep, self._database, self._settings.retention))
            self._outages.survive(partial(forget_silent, self._database))
            self._outages.survive(partial(sum_hours, self._database))

    def _delete_models(self) -> None:
        while not self._stop.wait(self._settings.sweep_s):
            self._outages.survive(self._deletions.remove_model)

    async def _do_jobs(self) -> None:
        database = AsyncDatabase(self._settings.database_url, size=2)
        await database.open()
        try:
            async with Worker(database, self._owner, {"deletion": self._deletions.kind}).working():
                await asyncio.to_thread(self._stop.wait)
        finally:
            await database.close()

    def _keep_leases(self) -> None:
        while not self._stop.wait(interval_s(self._settings.lease_s)):
            for run in self._runs.work():
                self._outages.survive(partial(self._runs.renew, run))
