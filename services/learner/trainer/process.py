"""The trainer process: leases models with queued operations and executes these."""

import logging
import threading
import time
from functools import partial

from hone.process.heartbeat import Heartbeat, interval_s
from hone.process.outages import Outages
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.store.leases import Holder, LeaseLost
from hone.store.notifications import Listener
from hone.store.objects import StoreAway
from services.learner.trainer import lease as model_leases
from services.learner.trainer.commit import StaleUnit
from services.learner.trainer.executor import ModelExecutor
from services.learner.trainer.rank_group import RankGroup

log = logging.getLogger(__name__)

IDLE_S = 60.0  # an executor that is idle for so long is given back: its memory is free and others may lease its model


class Trainer:
    """Works the executors it holds until told to stop; whatever it loses, another trainer finds in rows."""

    def __init__(self, settings: Settings, owner: str, group: RankGroup) -> None:
        self._settings, self._owner, self._group = settings, owner, group
        self._database = Database(settings.database_url)
        self._objects = objects.connect(settings.objects_url)
        self._listener = Listener(settings.database_url, "operations")
        self._executors: Holder[ModelExecutor] = Holder(self._database, "models", owner, settings.lease_s)
        self._heartbeat = Heartbeat(self._database, "trainer", owner)
        self._stop = threading.Event()
        self._outages = Outages(self._stop, settings.sweep_s)

    def stop(self) -> None:
        """Let the unit in hand end, then return from `run`."""
        self._stop.set()

    def run(self) -> None:
        """Release the predecessor's leases, then work, lease and wait in turn until stopped.

        Raises RanksLost when another rank died or hung: leases and rows stay as they are, for the ranks that come next.
        """
        threading.Thread(target=self._keep_leases, daemon=True).start()
        self._outages.survive(self._executors.release_all)
        while not self._stop.is_set():
            self._outages.survive(self._turn)
        self._outages.survive(self._executors.release_all)
        self._outages.survive(self._heartbeat.leave)
        self._group.end()

    def _turn(self) -> None:
        """Advance every executor by one unit; when none had work, lease another model or wait for a hint."""
        self._group.beat()
        advanced = [self._advance(executor) for executor in self._executors.work()]
        if any(advanced):
            return
        self._give_back_idle()
        if not self._lease_another():
            self._listener.wait(self._settings.sweep_s)

    def _advance(self, executor: ModelExecutor) -> bool:
        try:
            return executor.advance()
        except LeaseLost:
            log.warning("lost the lease of %s", executor.lease.model_id)
            self._executors.drop(executor)
        except StaleUnit as stale:
            log.warning("%s", stale)
        except StoreAway as away:  # it may be this model's objects alone: the others go on
            log.warning("%s waits: %s", executor.lease.model_id, away)
            return False
        return True

    def _lease_another(self) -> bool:
        lease = model_leases.acquire(self._database, self._owner, self._settings.lease_s)
        if lease is not None:
            log.info("leased %s at epoch %d", lease.model_id, lease.epoch)
            self._executors.add(ModelExecutor(
                self._database, self._objects, lease, self._group, self._settings.trainer.tokens,
                self._settings.trainer.threads))
        return lease is not None

    def _give_back_idle(self) -> None:
        for executor in self._executors.work():
            if time.monotonic() - executor.idle_since > IDLE_S:
                self._executors.release(executor)

    def _keep_leases(self) -> None:
        self._outages.survive(self._heartbeat.beat)
        while not self._stop.wait(interval_s(self._settings.lease_s)):
            self._outages.survive(self._heartbeat.beat)
            for executor in self._executors.work():
                self._outages.survive(partial(self._executors.renew, executor))
