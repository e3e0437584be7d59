"""Kills and freezes processes of a working stack, and checks that each blow hit and that the run recovered from it."""

import json
import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from hone import crashpoints
from hone.stack.embedded import last_line
from tests.acceptance.scene import Late, Scene, wait_for

RECOVERY_S = 120.0
"""Recoveries take 2 to 5 s. Beyond this, something hangs: machines of the same kind differ by a factor of three."""

_OPEN_GROUPS = (
    "SELECT id, purpose, request_no, step, state, reason, refused, attempt, memory_ends, claim_owner, "
    "round(extract(epoch FROM claim_expires - now()), 1) AS claimed_s FROM groups "
    "WHERE run_id = %s AND state IN ('requested', 'ready') ORDER BY id")

_COUNTERS = {
    "driver": "SELECT lease_epoch FROM runs WHERE id = %s",
    "trainer": "SELECT m.lease_epoch FROM models m JOIN runs r ON r.policy_model_id = m.id WHERE r.id = %s",
    "rollout": "SELECT coalesce(sum(attempt), 0) - count(*) FILTER (WHERE attempt > 0) FROM groups WHERE run_id = %s",
}
"""Counters that rise when another process takes over. Kinds without a lease show it by a new process."""

_HOLDERS = {
    "driver": "SELECT lease_owner FROM runs WHERE id = %s",
    "trainer": "SELECT m.lease_owner FROM models m JOIN runs r ON r.policy_model_id = m.id WHERE r.id = %s",
    "rollout": "SELECT claim_owner FROM groups WHERE run_id = %s AND state = 'requested' "
               "AND claim_expires > now() LIMIT 1",
}

_HELD = {
    "driver": "SELECT count(*) FROM runs WHERE id = %s AND lease_owner = %s",
    "trainer": "SELECT count(*) FROM models m JOIN runs r ON r.policy_model_id = m.id "
               "WHERE r.id = %s AND m.lease_owner = %s",
    "rollout": "SELECT count(*) FROM groups WHERE run_id = %s AND claim_owner = %s AND state = 'requested'",
}
"""Number of leases that a stopped holder still has. An expired lease counts until another process takes it."""

_NOTHING_LEFT = ("ready.after",)
"""Points at which the process holds nothing any more: its groups are ready, so nobody claims them again."""


@dataclass
class Havoc:
    """Disturbs one run. `recoveries` holds, by kind of blow, the seconds from each blow to the next committed step."""

    scene: Scene
    run_id: str
    steps: int
    lease_s: float
    recoveries: dict[str, list[float]] = field(default_factory=dict)

    def crash_at(self, kind: str, point: str) -> None:
        """Arm a crash point; check that a process dies there and that the run goes on."""
        before = self._room()
        pids = self.scene.stack.pids()
        counter = self._counter(kind)
        self.scene.forget_hits(point)
        (self.scene.crash_dir / point).touch()
        died = self._soon(f"{kind} to reach {point}", lambda: self.scene.hit(point))
        assert died in {pid for name, pid in pids.items() if name.startswith(kind)}, (kind, point, died, pids)
        self._recovered(kind, died, None if point in _NOTHING_LEFT else counter, before)

    def kill(self, name: str) -> None:
        """Kill one process by its name, whatever it is doing."""
        before = self._room()
        kind = name.rpartition("-")[0] or name
        died = self.scene.stack.kill(name)
        self._recovered(kind, died, None, before)

    def kill_process(self, name: str, kind: str, pid: int) -> None:
        """Kill one of the processes of a service; check that the whole service is started again."""
        before = self._room()
        supervised = {one.pid for one in self.scene.stack.status() if one.name.startswith(kind)}
        os.kill(pid, signal.SIGKILL)
        began = time.monotonic()
        self._soon(f"a step after the death of {name}", lambda: self._progress() > before + 1)
        self._soon(f"another {kind}", lambda: not supervised & set(self.scene.stack.pids().values()))
        self._note(name, began)

    def freeze(self, kind: str) -> None:
        """Stop the holder of a lease until another process has the lease, then let the holder go on."""
        before = self._room()
        began = time.monotonic()
        pid = self._soon(f"a {kind} that is stopped while it has its lease", lambda: self._frozen(kind))
        try:
            self._soon("a step without the frozen holder", lambda: self.scene.committed(self.run_id) > before)
            self._note(f"{kind} frozen", began)
        finally:
            os.kill(pid, signal.SIGCONT)
        self._soon("a step with the holder awake", lambda: self.scene.committed(self.run_id) > before + 1)

    def _frozen(self, kind: str) -> int | None:
        """Return the pid of a stopped process whose lease another took; None if it had given up its lease before."""
        counter = self._counter(kind)
        holder = self._soon(f"a holder of the {kind} lease", lambda: self._holder(kind))
        pid = self.scene.stack.kill(holder, signal.SIGSTOP)
        self._soon(f"another {kind} to take over from {holder}",
                   lambda: self._counter(kind) > counter or not self._holds(holder, kind))
        if self._counter(kind) > counter:
            return pid
        os.kill(pid, signal.SIGCONT)
        return None

    def random_kills(self, seed: int, count: int) -> list[str]:
        """Kill `count` processes at random moments; `seed` draws both. Return the names of the processes."""
        chance, victims = random.Random(seed), []
        for _ in range(count):
            names = sorted(set(self.scene.stack.pids()) - {"supervisord"})
            victims.append(chance.choice(names))
            time.sleep(chance.uniform(0.0, 0.6))
            self.kill(victims[-1])
        return victims

    def strike(self, what: str, blow: Callable[[], Any]) -> None:
        """Strike something outside the stack; check that the run goes on."""
        before = self._room()
        began = time.monotonic()
        blow()
        self._soon(f"a step after {what}", lambda: self._progress() > before)
        self._note(what, began)

    def summary(self) -> dict[str, dict[str, float]]:
        """Return count, median and longest recovery of each kind of blow, in seconds."""
        return {kind: {"count": len(found), "median_s": round(statistics.median(found), 2),
                       "longest_s": round(max(found), 2)} for kind, found in sorted(self.recoveries.items())}

    def _soon(self, what: str, happened: Callable[[], Any]) -> Any:
        """Wait for something within the bound of recoveries. Raises Late with what everything waits for."""
        try:
            return wait_for(what, happened, RECOVERY_S)
        except Late as late:
            raise Late("\n".join([str(late), *self._situation()])) from None

    def _situation(self) -> list[str]:
        """Return the run's step, its open groups, and the state and last logged line of each process."""
        stack = self.scene.stack
        return [f"committed step {self._progress()} of {self.steps}",
                *(json.dumps(row, default=str) for row in self.scene.rows(_OPEN_GROUPS, self.run_id)),
                *(f"{one.name} {one.state} {one.pid}: {last_line(stack.state, one.name)}" for one in stack.status())]

    def _room(self) -> int:
        """Return the committed step, once there is one. Raises AssertionError unless at least two steps are left."""
        step = int(self._soon("a committed step", self._progress))
        assert step + 2 <= self.steps, f"the run is at step {step} of {self.steps}: no room for another blow"
        return step

    def _recovered(self, kind: str, died: int, counter: int | None, before: int) -> None:
        began = time.monotonic()
        self._soon(f"a step after the death of {kind}", lambda: self._progress() > before + 1)
        if counter is not None and kind in _COUNTERS:
            self._soon(f"the {kind} counter to rise", lambda: self._counter(kind) > counter)
        self._soon(f"another {kind}", lambda: self._replaced(kind, died))
        self._note(kind, began)

    def _replaced(self, kind: str, died: int) -> bool:
        mine = [one for one in self.scene.stack.status() if one.name.startswith(kind)]
        return all(one.state == "RUNNING" and one.pid != died for one in mine)

    def _holder(self, kind: str) -> str | None:
        found = self.scene.rows(_HOLDERS[kind], self.run_id)  # type: ignore[arg-type]
        return str(next(iter(found[0].values()))) if found else None

    def _holds(self, holder: str, kind: str) -> bool:
        return bool(self.scene.one(_HELD[kind], self.run_id, holder))  # type: ignore[arg-type]

    def _counter(self, kind: str) -> int:
        return int(self.scene.one(_COUNTERS[kind], self.run_id)) if kind in _COUNTERS else 0  # type: ignore[arg-type]

    def _progress(self) -> int:
        """Return the committed step, or 0 while the database itself is away."""
        try:
            return self.scene.committed(self.run_id)
        except psycopg.OperationalError:
            return 0

    def _note(self, kind: str, began: float) -> None:
        self.recoveries.setdefault(kind, []).append(time.monotonic() - began)


def points() -> list[tuple[str, str]]:
    """Return each (kind, crash point) that a managed run with a sink passes in every step."""
    walked = {**crashpoints.POINTS, **crashpoints.SINK_POINTS}
    return [(kind, point) for kind, found in walked.items() for point in found if kind != "gateway"]
