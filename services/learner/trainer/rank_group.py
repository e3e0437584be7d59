"""The ranks of a trainer: rank 0 calls a learner's method, and every rank calls it on its part of the model.

    group = RankGroup(ranks)
    learner = group.learner(start, optimizer, token_budget)    on rank 0; the other ranks call group.follow()
    learner.optim_step(1e-3, 1.0)                              runs on all ranks and returns the result of rank 0

Any method of Learner can be called so. Its arguments may be JSON, StepPlan and bytes. In a trainer of one process all
this is a plain call.
"""

import json
import logging
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast

from hone.models.ranks import Ranks, RanksLost
from hone.trajectory.plan import StepPlan
from services.learner.trainer.learner import Learner
from services.learner.trainer.snapshot import Start

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_BEAT, _END, _MAKE = "beat", "end", "make"
_PLAN, _BYTES = "$plan", "$bytes"


@dataclass(frozen=True)
class RankCall:
    """One call that every rank makes now: a method of the learner with this number. Nothing in it is pickled."""

    name: str
    learner: int = 0
    arguments: list[Any] = field(default_factory=list)
    keywords: dict[str, Any] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)  # learners that nobody uses any more

    def encode(self) -> bytes:
        """Return a line of JSON, and behind it all bytes among the arguments."""
        blobs: list[bytes] = []

        def tagged(value: Any) -> dict[str, Any]:
            if isinstance(value, bytes):
                blobs.append(value)
                return {_BYTES: len(value)}
            return {_PLAN: cast(StepPlan, value).model_dump()}

        head = [self.name, self.learner, self.arguments, self.keywords, self.gone]
        return b"\n".join([json.dumps(head, default=tagged).encode(), b"".join(blobs)])

    @classmethod
    def decode(cls, data: bytes) -> "RankCall":
        """Return the call that `encode` wrote."""
        line, _, blobs = data.partition(b"\n")
        start = 0

        def untagged(value: dict[str, Any]) -> Any:
            nonlocal start
            if value.keys() == {_BYTES}:
                start += value[_BYTES]
                return blobs[start - value[_BYTES]:start]
            return StepPlan.model_validate(value[_PLAN]) if value.keys() == {_PLAN} else value

        return cls(*json.loads(line, object_hook=untagged))


class RankGroup:
    """This rank's place in the group. Rank 0 calls from one thread."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks
        self._numbers, self._gone = count(1), list[int]()
        self._learners: dict[int, Learner] = {}  # of a rank that follows

    def learner(
        self, start: Start, optimizer: Mapping[str, Any], token_budget: int, threads: int = 1,
        critic: Mapping[str, Any] | None = None,
    ) -> Learner:
        """Return a learner of which every rank holds its part; `critic` is a CriticSpec as JSON.

        Raises as Learner does.
        """
        number = next(self._numbers)
        settings: dict[str, Any] = {"optimizer": dict(optimizer), "token_budget": token_budget, "threads": threads,
                                    "critic": None if critic is None else dict(critic)}
        call = RankCall(_MAKE, number, [start.snapshot.outline()], settings)
        proxy = LearnerProxy(self, number, self.do(call, partial(Learner, start, ranks=self.ranks, **settings)))
        weakref.finalize(proxy, self._gone.append, number)
        return cast(Learner, proxy)

    def beat(self) -> None:
        """Let the other ranks know that rank 0 is alive, and which learners are gone. Raises RanksLost."""
        self._send(RankCall(_BEAT))

    def end(self) -> None:
        """Let the other ranks end."""
        self._send(RankCall(_END))

    def do(self, call: RankCall, here: Callable[[], Result]) -> Result:
        """Have the other ranks make a call, make it on this rank as `here`, and return its result.

        An error that all ranks have is raised here. Raises RanksLost when only some ranks have an error.
        """
        self._send(call)
        return self._together(here)

    def follow(self) -> None:
        """Make the calls of rank 0 until it lets this rank end. Raises RanksLost."""
        while (call := RankCall.decode(self.ranks.broadcast(b""))).name != _END:
            for number in call.gone:
                self._learners.pop(number, None)
            if call.name != _BEAT:
                self._follow(call)

    def _follow(self, call: RankCall) -> None:
        try:
            self._together(partial(self._make if call.name == _MAKE else self._call, call))
        except RanksLost:
            raise
        except Exception as problem:  # rank 0 has the same error and reports it
            log.warning("%s: %s", call.name, problem)

    def _make(self, call: RankCall) -> None:
        start = Start.elsewhere(*call.arguments)
        self._learners[call.learner] = Learner(start, ranks=self.ranks, **call.keywords)

    def _call(self, call: RankCall) -> None:
        getattr(self._learners[call.learner], call.name)(*call.arguments, **call.keywords)

    def _send(self, call: RankCall) -> None:
        if self.ranks.size > 1:
            while self._gone:  # filled by whichever thread drops a learner
                call.gone.append(self._gone.pop())
            self.ranks.broadcast(call.encode())

    def _together(self, work: Callable[[], Result]) -> Result:
        try:
            result = work()
        except Exception as problem:
            if self.ranks.is_lost(problem):
                raise RanksLost(f"{type(problem).__name__}: {problem}") from problem
            self._compare(f"{type(problem).__name__}: {problem}")
            raise
        self._compare("")
        return result

    def _compare(self, error: str) -> None:
        """Exchange errors with the other ranks; "" is none. Raises RanksLost when only some ranks have an error."""
        errors = [each.decode() for each in self.ranks.all_gather(error.encode())]
        message = "; ".join(f"rank {rank}: {each or 'done'}" for rank, each in enumerate(errors))
        if len({bool(each) for each in errors}) > 1:
            raise RanksLost(message)
        if len(set(errors)) > 1:
            log.warning("all ranks have failed, with different errors: %s", message)


class LearnerProxy:
    """A learner on rank 0 whose method calls run on all ranks. Attributes are those of rank 0's part."""

    def __init__(self, group: RankGroup, number: int, learner: Learner) -> None:
        self._group, self._number, self._learner = group, number, learner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._learner, name)
        if not callable(found):
            return found

        def on_all_ranks(*arguments: Any, **keywords: Any) -> Any:
            call = RankCall(name, self._number, list(arguments), keywords)
            return self._group.do(call, partial(found, *arguments, **keywords))

        return on_all_ranks
