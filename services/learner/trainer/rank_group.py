"""The ranks of a trainer at work: rank 0 orders, every rank does it on its part, and all hear whether all could.

    group = RankGroup(ranks)
    learner = group.learner(start, optimizer, token_budget)    on rank 0; the others call group.follow()

Alone, an order is a plain call.
"""

import json
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, count, pairwise
from typing import Any, TypeVar

from pydantic import BaseModel

from hone.algorithms.method import Metrics
from hone.models import probe
from hone.models.probe import Probe
from hone.models.ranks import Ranks, RanksLost
from hone.trajectory import parts
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.trainer.learner import Learner
from services.learner.trainer.snapshot import Start

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_BEAT, _END, _MAKE = "beat", "end", "make"


@dataclass(frozen=True)
class Order:
    """One thing that every rank does now; `learner` is the number of the learner that it is about."""

    name: str
    learner: int = 0
    arguments: dict[str, Any] = field(default_factory=dict)  # JSON, or pydantic models
    blobs: list[bytes] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)  # learners that nobody needs any more

    def encode(self) -> bytes:
        """Return a line of JSON that ends with the blobs' lengths, and the blobs."""
        head = [self.name, self.learner, self.arguments, self.gone, [len(blob) for blob in self.blobs]]
        return b"\n".join([json.dumps(head, default=_plain).encode(), b"".join(self.blobs)])

    @classmethod
    def decode(cls, data: bytes) -> "Order":
        """Return what `encode` wrote."""
        line, _, rest = data.partition(b"\n")
        name, learner, arguments, gone, lengths = json.loads(line)
        places = pairwise(accumulate(lengths, initial=0))
        return cls(name, learner, arguments, [rest[start:end] for start, end in places], gone)


class RankGroup:
    """This rank's place among all. Rank 0's calls come from one thread."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self._numbers, self._gone = count(1), list[int]()
        self._learners: dict[int, Learner] = {}  # a follower's

    def learner(
        self, start: Start, optimizer: Mapping[str, Any], token_budget: int, threads: int = 1,
        critic: Mapping[str, Any] | None = None,
    ) -> "LearnerProxy":
        """Return a learner that every rank carries its part of; `critic` is a CriticSpec as JSON.

        Raises as Learner does.
        """
        number = next(self._numbers)
        settings: dict[str, Any] = {"optimizer": dict(optimizer), "token_budget": token_budget, "threads": threads,
                                    "critic": None if critic is None else dict(critic)}
        order = Order(_MAKE, number, {"outline": start.snapshot.outline(), **settings})
        made = self.do(order, partial(Learner, start, ranks=self.ranks, **settings))
        led = LearnerProxy(self, number, made)
        weakref.finalize(led, self._gone.append, number)
        return led

    def beat(self) -> None:
        """Tell the others that rank 0 is there, and which learners are gone. Raises RanksLost."""
        self._tell(Order(_BEAT))

    def end(self) -> None:
        """Let the others go."""
        self._tell(Order(_END))

    def do(self, order: Order, work: Callable[[], Result]) -> Result:
        """Have the others do what is ordered, and do it here as `work`.

        What no rank could do raises here as it would alone. Raises RanksLost when some could.
        """
        self._tell(order)
        return self._together(work)

    def follow(self) -> None:
        """Do what rank 0 orders until it lets this rank go. Raises RanksLost."""
        while (order := Order.decode(self.ranks.told(b""))).name != _END:
            for number in order.gone:
                self._learners.pop(number, None)
            if order.name != _BEAT:
                self._obey(order)

    def _obey(self, order: Order) -> None:
        try:
            self._together(partial(self._make if order.name == _MAKE else self._call, order))
        except RanksLost:
            raise
        except Exception as problem:  # rank 0 has the same and tells whom it concerns
            log.warning("%s: %s", order.name, problem)

    def _make(self, order: Order) -> None:
        arguments = dict(order.arguments)
        start = Start.elsewhere(arguments.pop("outline"))
        self._learners[order.learner] = Learner(start, ranks=self.ranks, **arguments)

    def _call(self, order: Order) -> None:
        learner = self._learners[order.learner]
        if order.name == "forward_backward":
            plan = StepPlan.model_validate(order.arguments["plan"])
            update = order.arguments["update"]
            trajectories = [] if update else parts.planned(plan, order.blobs)
            learner.forward_backward(plan, trajectories, order.arguments["version_id"], update)
        else:
            _METHODS[order.name](learner, **order.arguments)

    def _tell(self, order: Order) -> None:
        if self.ranks.size > 1:
            while self._gone:  # filled by whichever thread lets a learner go
                order.gone.append(self._gone.pop())
            self.ranks.told(order.encode())

    def _together(self, work: Callable[[], Result]) -> Result:
        try:
            result = work()
        except Exception as problem:
            if self.ranks.broke(problem):
                raise RanksLost(f"{type(problem).__name__}: {problem}") from problem
            self._compare(f"{type(problem).__name__}: {problem}")
            raise
        self._compare("")
        return result

    def _compare(self, said: str) -> None:
        """Hear how the others fared. Raises RanksLost where some could and some could not: they stand apart."""
        heard = [words.decode() for words in self.ranks.exchanged(said.encode())]
        told = "; ".join(f"rank {rank}: {words or 'done'}" for rank, words in enumerate(heard))
        if len({bool(words) for words in heard}) > 1:
            raise RanksLost(told)
        if len(set(heard)) > 1:
            log.warning("no rank could, each for a reason of its own: %s", told)


class LearnerProxy:
    """A learner that every rank carries its part of, as rank 0 calls it."""

    def __init__(self, group: RankGroup, number: int, learner: Learner) -> None:
        self._group, self._number, self._learner = group, number, learner
        self.ranks = group.ranks.size

    def forward_backward(
        self, plan: StepPlan, trajectories: Sequence[Trajectory], stored: Sequence[bytes],
        version_id: str | None = None, update: int = 0,
    ) -> Metrics:
        """Do what Learner.forward_backward does; the others read the trajectories from the plan's parts, `stored`.

        Only update 0 takes trajectories.
        """
        arguments = {"plan": plan, "version_id": version_id, "update": update}
        order = Order("forward_backward", self._number, arguments, list(stored))
        return self._group.do(order, partial(self._learner.forward_backward, plan, trajectories, version_id, update))

    def optim_step(self, lr: float, clip_norm: float) -> Metrics:
        """Do what Learner.optim_step does."""
        order = self._order("optim_step", lr=lr, clip_norm=clip_norm)
        return self._group.do(order, partial(self._learner.optim_step, lr, clip_norm))

    def weights(self) -> bytes:
        """Return what Learner.weights returns."""
        return self._group.do(self._order("weights"), self._learner.weights)

    def snapshot(self) -> dict[str, bytes]:
        """Return what Learner.snapshot returns."""
        return self._group.do(self._order("snapshot"), self._learner.snapshot)

    def logprobs(self, ids: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return what Learner.logprobs returns: nats of every token but the first."""
        return self._group.do(self._order("logprobs", ids=ids), partial(self._learner.logprobs, ids))

    def probe(self) -> dict[str, Any]:
        """Return what an engine that serves these weights has to answer: a version's `probe`."""
        asked = probe.ids(self._learner.architecture)
        return Probe(asked, self.logprobs(asked)).to_json()

    def _order(self, name: str, **arguments: Any) -> Order:
        return Order(name, self._number, arguments)


_METHODS: dict[str, Callable[..., Any]] = {
    "optim_step": Learner.optim_step, "weights": Learner.weights, "snapshot": Learner.snapshot,
    "logprobs": Learner.logprobs}
"""What orders may name besides forward_backward."""


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump()
