"""The trainer process: leases models whose operations wait and works their lanes."""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.store.notifications import Listener
from hone.store.objects import StoreAway
from services.learner.trainer import lease as leases
from services.learner.trainer.commit import StaleUnit
from services.learner.trainer.crew import Crew
from services.learner.trainer.lane import AWAY, Lane
from services.learner.trainer.lease import LeaseLost

log = logging.getLogger(__name__)

IDLE_S = 60.0  # a lane without work for so long is given back, so that its memory is free and others may have it


class Trainer:
    """Works the lanes it holds until told to stop; whatever it loses, another trainer finds in rows."""

    def __init__(self, settings: Settings, owner: str, crew: Crew) -> None:
        self._settings, self._owner, self._crew = settings, owner, crew
        self._database = Database(settings.database_url)
        self._objects = objects.connect(settings.objects_url)
        self._listener = Listener(settings.database_url, "operations")
        self._lanes: dict[str, Lane] = {}
        self._stop = threading.Event()

    def stop(self) -> None:
        """Let the unit in hand end, then return from `run`."""
        self._stop.set()

    def run(self) -> None:
        """Take the predecessor's leases over, then work, lease and wait in turn until stopped.

        Raises RanksLost when another rank died or hung: leases and rows stay as they are, for the ranks that come next.
        """
        threading.Thread(target=self._keep_leases, daemon=True).start()
        self._survive(self._forget_predecessor)
        while not self._stop.is_set():
            self._survive(self._turn)
        self._survive(self._release)
        self._survive(self._leave)
        self._crew.end()

    def _turn(self) -> None:
        """Advance every lane by one unit; when none had work, lease another model or wait for a hint."""
        self._crew.beat()
        advanced = [self._advance(lane) for lane in list(self._lanes.values())]
        if any(advanced):
            return
        self._give_back_idle()
        if not self._lease_another():
            self._listener.wait(self._settings.sweep_s)

    def _advance(self, lane: Lane) -> bool:
        try:
            return lane.advance()
        except LeaseLost:
            log.warning("lost the lease of %s", lane.lease.model_id)
            self._lanes.pop(lane.lease.model_id, None)
        except StaleUnit as stale:
            log.warning("%s", stale)
        except StoreAway as away:  # it may be this model's objects alone: the others go on
            log.warning("%s waits: %s", lane.lease.model_id, away)
            return False
        return True

    def _lease_another(self) -> bool:
        lease = leases.acquire(self._database, self._owner, self._settings.lease_s)
        if lease is not None:
            log.info("leased %s at epoch %d", lease.model_id, lease.epoch)
            self._lanes[lease.model_id] = Lane(self._database, self._objects, lease, self._crew,
                                               self._settings.trainer_tokens, self._settings.trainer_threads)
        return lease is not None

    def _give_back_idle(self) -> None:
        for lane in list(self._lanes.values()):
            if time.monotonic() - lane.idle_since > IDLE_S:
                self._give_back(lane)

    def _give_back(self, lane: Lane) -> None:
        del self._lanes[lane.lease.model_id]
        self._database.run("trainer.release_lease", model_id=lane.lease.model_id, epoch=lane.lease.epoch)

    def _release(self) -> None:
        for lane in list(self._lanes.values()):
            self._give_back(lane)

    def _forget_predecessor(self) -> None:
        self._database.run("trainer.forget_predecessor", owner=self._owner)

    def _survive(self, work: Callable[[], None]) -> None:
        """Do `work`; while Postgres or the object store is away say so and come back after a while."""
        try:
            work()
        except AWAY as away:
            log.warning("waiting: %s", str(away).strip())
            self._stop.wait(self._settings.sweep_s)

    def _keep_leases(self) -> None:
        self._survive(self._beat)
        while not self._stop.wait(self._settings.lease_s / 3):
            self._survive(self._beat)
            for lane in list(self._lanes.values()):
                self._survive(partial(self._renew, lane))

    def _beat(self) -> None:
        self._database.run("workers.beat", id=self._owner, kind="trainer")

    def _leave(self) -> None:
        self._database.run("workers.leave", id=self._owner)

    def _renew(self, lane: Lane) -> None:
        try:
            leases.renew(self._database, lane.lease, self._settings.lease_s)
        except LeaseLost:
            self._lanes.pop(lane.lease.model_id, None)
