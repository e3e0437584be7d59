"""The execution of one model's operations, in order. Each step is committed as a whole and replayed after a loss."""

import logging
import time
from collections.abc import Callable
from typing import Any

from hone import ids
from hone.crashpoints import reach
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported
from hone.models.ranks import RanksLost
from hone.process.outages import AWAY
from hone.store import manifests
from hone.store.database import Database, Row
from hone.store.leases import MOST_TAKEDOWNS, LeaseLost, fenced
from hone.store.objects import Objects
from hone.telemetry import logs, metrics, tracing
from hone.trajectory.plan import StepPlan
from services.learner.trainer.checkpoints import Checkpoints
from services.learner.trainer.commit import Outcome, StaleUnit, commit
from services.learner.trainer.export import export
from services.learner.trainer.learner import Learner
from services.learner.trainer.lease import ModelLease
from services.learner.trainer.rank_group import RankGroup
from services.learner.trainer.training_step import Diverged, RejectedPlan, check_finite

log = logging.getLogger(__name__)

_USERS = (RejectedPlan, BadCheckpoint, Unsupported)
"""Errors that the user can mend. They and all other errors fail the operations with their reason."""

_NOT_OURS = (LeaseLost, StaleUnit, RanksLost)
"""Errors after which the work belongs to another trainer, or to the ranks that come next."""


class TookDown(RuntimeError):
    """An operation ended every trainer that executed it."""


class ModelExecutor:
    """Executes one leased model's operations. Its learner is in the state after the last committed operation."""

    def __init__(
        self, database: Database, objects: Objects, lease: ModelLease, group: RankGroup, token_budget: int,
        threads: int,
    ) -> None:
        self.lease = lease
        self._database, self._objects, self._group = database, objects, group
        self._token_budget, self._threads = token_budget, threads
        self._checkpoints = Checkpoints(database, objects, lease)
        self._learner: Learner | None = None
        self._proven = False  # whether a unit of this lease came to its end
        self.idle_since = time.monotonic()

    def advance(self) -> bool:
        """Execute the next unit of queued operations, up to the save that publishes it. Return False if there is none.

        Raises LeaseLost, StaleUnit or RanksLost if the work belongs to another process now, and one of AWAY if it has
        to be tried again. After any of them the learner is rebuilt from rows. Other errors fail the unit's operations.
        """
        unit = next_unit(self._queued())
        if not unit:
            return False
        with logs.about(model_id=self.lease.model_id, **_names(unit)), tracing.under(_traceparent(unit)):
            if self._proven:
                self._perform_or_fail(unit)
            else:
                self._prove(unit)
        self.idle_since = time.monotonic()
        return True

    def _prove(self, unit: list[Row]) -> None:
        """Perform the first unit of the lease, and mark that on the model's row as long as it may end this process.

        The unit fails if it ended two trainers before.
        """
        if self.lease.takedowns >= MOST_TAKEDOWNS:
            self._fail(unit, TookDown(f"{self.lease.takedowns} trainers in a row ended while they executed it"))
        else:
            key = {"model_id": self.lease.model_id, "epoch": self.lease.epoch}
            self._database.run("models.begin_turn", **key)
            try:
                self._perform_or_fail(unit)
            except (LeaseLost, StaleUnit, *AWAY):
                self._database.run("models.end_turn", **key, finished=False)
                raise
        self._database.run("models.end_turn", model_id=self.lease.model_id, epoch=self.lease.epoch, finished=True)
        self._proven = True

    def _perform_or_fail(self, unit: list[Row]) -> None:
        try:
            self._perform(unit)
        except (*_NOT_OURS, *AWAY):
            self._learner = None
            raise
        except Exception as problem:
            self._learner = None
            log.exception("operations %d to %d of %s fail", unit[0]["seq"], unit[-1]["seq"], self.lease.model_id)
            self._fail(unit, problem)

    def _perform(self, unit: list[Row]) -> None:
        if unit[-1]["kind"] == "export":
            export(self._database, self._objects, self.lease, unit[-1])
            return
        idle_s = time.monotonic() - self.idle_since
        with tracing.span("train", model_id=self.lease.model_id, seq=unit[0]["seq"], **_names(unit)):
            learner = self._restored()
            outcome = self._execute(learner, unit)
            outcome.metrics["trainer/idle_s"] = idle_s
            reach("optimizer-commit")
            self._store(learner, outcome)
            reach("version.object-row")
            retired = self._commit(unit, outcome)
        reach("commit.after")
        metrics.UNITS_COMMITTED.inc()
        self._checkpoints.after_commit(learner, unit[-1]["seq"], outcome.number, retired)

    def _commit(self, unit: list[Row], outcome: Outcome) -> list[str]:
        """Commit the unit, and return the object keys of weights that no one needs after this version."""
        with tracing.span("commit"), fenced(self._database, self.lease) as transaction:
            commit(transaction, self.lease, unit, outcome)
            return self._checkpoints.retire(transaction, outcome.number)

    def _execute(self, learner: Learner, unit: list[Row]) -> Outcome:
        outcome = Outcome(number=0, version_id=ids.new("ver"), manifest={})
        for operation in unit:
            began = time.perf_counter()
            with tracing.span(operation["kind"], seq=operation["seq"]):
                _OPERATIONS[operation["kind"]](self, learner, operation["payload"], outcome)
            check_finite("metrics", outcome.metrics)
            outcome.add({f"trainer/{operation['kind']}_s": time.perf_counter() - began})
        outcome.usage["trainer_s"] = sum(v for k, v in outcome.metrics.items() if k.startswith("trainer/"))
        return outcome

    def _forward_backward(self, learner: Learner, payload: dict[str, Any], outcome: Outcome) -> None:
        began, update = time.perf_counter(), payload.get("update", 0)
        plan, version_id = self._step(payload["run_id"], payload["step"])
        outcome.kind = plan.kind
        stored = [] if update else [self._objects.get(key) for key in plan.parts]
        read_s = time.perf_counter() - began
        metrics = learner.forward_backward_stored(plan, stored, version_id, update)
        outcome.add({**metrics, "storage/read_s": read_s + metrics["storage/read_s"]})
        outcome.usage["trained_tokens"] = outcome.metrics["trained_tokens"]
        gap = metrics.get("gap/mean")
        if gap is not None and gap > plan.gap_alarm_nats:
            outcome.alarms.append(f"trainer-sampler gap {gap:.4f} nats a token is above {plan.gap_alarm_nats}: the "
                                  "engine does not sample from the weights being trained")

    def _optim_step(self, learner: Learner, payload: dict[str, Any], outcome: Outcome) -> None:
        outcome.add({**learner.optim_step(payload["lr"], payload["clip_norm"]), "lr": payload["lr"]})

    def _save(self, _: Learner, payload: dict[str, Any], outcome: Outcome) -> None:
        outcome.number, outcome.step = payload["number"], payload.get("step")
        outcome.run_id = payload["run_id"]

    def _store(self, learner: Learner, outcome: Outcome) -> None:
        probe, prefix = learner.probe(), f"models/{self.lease.model_id}/versions/{outcome.version_id}"
        check_finite("log-probabilities", _probed(probe))
        name = self._checkpoints.weights_file
        with tracing.span("store"):
            entry = manifests.put_file(self._objects, f"{prefix}/{name}", learner.weights())
        files = {**self._checkpoints.side_files(), name: entry}
        outcome.manifest = {"files": files, "weights_sha256": entry["sha256"], "ranks": learner.rank_count,
                            "probe": probe}

    def _step(self, run_id: str, step: int) -> tuple[StepPlan, str | None]:
        """Return a step's plan and the id of the version that it trains."""
        row = self._database.one("steps.plan", model_id=self.lease.model_id, run_id=run_id, n=step)
        if row is None:
            raise RejectedPlan(f"step {step} of {run_id}: found no plan of it that trains this model")
        return StepPlan.model_validate(row["plan"]), row["version_id"]

    def _restored(self) -> Learner:
        if self._learner is None:
            with tracing.span("restore"):
                learner = self._checkpoints.restore(self._group, self._token_budget, self._threads)
                self._replay(learner)
            self._learner = learner
        return self._learner

    def _replay(self, learner: Learner) -> None:
        """Execute again the operations that were committed after the snapshot, and compare with the stored versions."""
        executed = self._database.all("operations.executed", model_id=self.lease.model_id,
                                      after_seq=self._checkpoints.covered_seq)
        while unit := next_unit(executed):
            executed = executed[len(unit):]
            self._execute(learner, unit)
            self._checkpoints.compare(learner, unit)
            log.info("replayed operations %d to %d of %s", unit[0]["seq"], unit[-1]["seq"], self.lease.model_id)

    def _queued(self) -> list[Row]:
        self._database.run("operations.expire_exports", model_id=self.lease.model_id)
        return self._database.all("operations.queued", model_id=self.lease.model_id)

    def _fail(self, unit: list[Row], problem: Exception) -> None:
        category = "user" if isinstance(problem, _USERS) else "server"
        reason = diverged(unit, problem) if isinstance(problem, Diverged) else f"{type(problem).__name__}: {problem}"
        with fenced(self._database, self.lease) as transaction:
            for operation in unit:
                transaction.run("operations.fail", id=operation["id"], category=category, reason=reason)
            transaction.run("server.notify", channel="steps", payload=self.lease.model_id)


_OPERATIONS: dict[str, Callable[[ModelExecutor, Learner, dict[str, Any], Outcome], None]] = {
    "forward_backward": ModelExecutor._forward_backward,
    "optim_step": ModelExecutor._optim_step,
    "save": ModelExecutor._save,
}


def _names(unit: list[Row]) -> dict[str, Any]:
    """Return the run and the step of a unit by name, if it has them."""
    payload = unit[-1]["payload"]
    return {name: payload[name] for name in ("run_id", "step") if payload.get(name) is not None}


def _traceparent(unit: list[Row]) -> str | None:
    return next((row["traceparent"] for row in unit if row["traceparent"]), None)


def _probed(probe: dict[str, Any]) -> dict[str, float]:
    """Return the log-probs of a version's probe by the place of their token."""
    return {f"token {place} of the probe": value for row in probe.get("logp", []) for place, value in enumerate(row, 1)}


def diverged(unit: list[Row], problem: Diverged) -> str:
    """Return the reason why a unit fails whose numbers are not finite, and how the user can mend it."""
    payload = unit[-1]["payload"]
    if payload.get("step") is None:
        return f"the model gives no finite log-probabilities: {problem}; its weights are broken"
    return (f"the policy diverged: {problem}, step {payload['step']}. Nothing of this step is kept: version "
            f"{payload['number'] - 1} has the weights before it. To mend it, lower optimizer.lr or "
            "optimizer.clip_norm, or add a KL regularizer")


def next_unit(operations: list[Row]) -> list[Row]:
    """Return the operations up to and including the first save or export: they are committed together."""
    for place, operation in enumerate(operations):
        if operation["kind"] in ("save", "export"):
            return operations[: place + 1]
    return []
