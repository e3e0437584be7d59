"""The processes of a trainer: rank 0 leases models with queued operations and executes them; other ranks follow it."""

import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from functools import partial

import torch
from psycopg.errors import DiskFull

from hone import garbage
from hone.models.ranks import ALONE, Ranks
from hone.process import startup
from hone.process.ending import STOP_SIGNALS, die_with_parent, on_stop_signal
from hone.process.heartbeat import Heartbeat, interval_s
from hone.process.outages import Outages, full_database
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.store.leases import Holder, LeaseLost
from hone.store.notifications import Listener
from hone.store.objects import StoreAway
from hone.telemetry import logs
from services.learner.trainer import lease as model_leases
from services.learner.trainer.commit import StaleUnit
from services.learner.trainer.executor import ModelExecutor
from services.learner.trainer.rank_group import RankGroup

log = logging.getLogger(__name__)

IDLE_S = 60.0
"""A model without operations for so long is released: its memory is freed, and any trainer may lease it."""

STALL_S = 300.0
"""Seconds that one exchange between ranks may take. If it takes longer, all ranks end and are started again."""


def run(settings: Settings) -> None:
    """Train as rank 0, or follow rank 0, until the trainer is stopped. Raises RanksLost if a rank died or hung."""
    torch.set_num_threads(1)  # for each of the trainer's threads
    group = RankGroup(_ranks(settings, os.environ))
    if group.ranks.rank:
        _follow(group)
        return
    startup.begin("trainer", settings)
    trainer = Trainer(settings, startup.name(settings), group)
    on_stop_signal(trainer.stop)
    trainer.run()


def _follow(group: RankGroup) -> None:
    """Make the calls of rank 0. Only rank 0 heeds stop signals: it ends this rank after the current unit."""
    logs.configure()
    garbage.spare()
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    group.follow()


def _ranks(settings: Settings, environment: Mapping[str, str]) -> Ranks:
    if "RANK" not in environment:
        return ALONE
    die_with_parent()  # a rank that outlives torchrun would hold leases beside the ranks that come next
    from hone.models.distributed_ranks import DistributedRanks  # takes a second to load

    return DistributedRanks.join(settings.trainer.device, STALL_S)


class Trainer:
    """Executes the operations of its leased models until it is stopped. All its state can be rebuilt from rows."""

    def __init__(self, settings: Settings, owner: str, group: RankGroup) -> None:
        self._settings, self._owner, self._group = settings, owner, group
        self._database = Database(settings.database_url)
        self._objects = objects.connect(settings.objects_url)
        self._listener = Listener(settings.database_url, "operations")
        self._executors: Holder[ModelExecutor] = Holder(self._database, "models", owner, settings.lease_s)
        self._heartbeat = Heartbeat(self._database, "trainer", owner)
        self._stop, self._leased_at = threading.Event(), 0.0
        self._outages = Outages(self._stop, settings.sweep_s)

    def stop(self) -> None:
        """Finish the current unit, then return from `run`."""
        self._stop.set()

    def run(self) -> None:
        """Release the leases of the process that had this name before, then execute, lease and wait until stopped.

        Raises RanksLost if another rank died or hung. Leases and rows stay as they are, for the ranks that come next.
        """
        threading.Thread(target=self._keep_leases, daemon=True).start()
        self._outages.survive(self._executors.release_all)
        while not self._stop.is_set():
            self._outages.survive(self._advance_all)
        self._outages.survive(self._executors.release_all)
        self._outages.survive(self._heartbeat.leave)
        self._group.end()

    def _advance_all(self) -> None:
        """Execute one unit of each tenant, and lease another model; if there is nothing to do, wait for a hint.

        A trainer that always has work leases one model a sweep: another trainer that is idle leases it earlier.
        """
        self._group.beat()
        advanced = [any(map(self._advance, executors)) for executors in self._lines()]
        if any(advanced) and time.monotonic() - self._leased_at < self._settings.sweep_s:
            return
        self._release_idle()
        self._leased_at = time.monotonic()
        if not self._lease_another() and not any(advanced):
            self._listener.wait(self._settings.sweep_s)

    def _lines(self) -> list[list[ModelExecutor]]:
        """Return the executors that have work, by tenant; of a tenant's, the one that rested longest comes first."""
        held = self._executors.work()
        if len(held) > 1:
            rows = self._database.all("operations.ready_models", model_ids=[one.lease.model_id for one in held])
            ready = {row["model_id"] for row in rows}
            held = [one for one in held if one.lease.model_id in ready]
        lines: dict[str, list[ModelExecutor]] = {}
        for executor in sorted(held, key=lambda one: one.idle_since):
            lines.setdefault(executor.lease.tenant_id, []).append(executor)
        return list(lines.values())

    def _advance(self, executor: ModelExecutor) -> bool:
        try:
            return executor.advance()
        except LeaseLost:
            log.warning("lost the lease of %s", executor.lease.model_id)
            self._executors.drop(executor)
        except StaleUnit as stale:
            log.warning("%s", stale)
        except (StoreAway, DiskFull) as away:  # perhaps only for what this model writes: the other models go on
            reason = full_database(away) if isinstance(away, DiskFull) else str(away)
            log.warning("%s waits: %s", executor.lease.model_id, reason)
            self._database.run("operations.set_waiting_for", model_id=executor.lease.model_id, waiting_for=reason)
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

    def _release_idle(self) -> None:
        for executor in self._executors.work():
            if time.monotonic() - executor.idle_since > IDLE_S:
                self._executors.release(executor)

    def _keep_leases(self) -> None:
        self._outages.survive(self._heartbeat.beat)
        while not self._stop.wait(interval_s(self._settings.lease_s)):
            self._outages.survive(self._heartbeat.beat)
            for executor in self._executors.work():
                self._outages.survive(partial(self._executors.renew, executor))
