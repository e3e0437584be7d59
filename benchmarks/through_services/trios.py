"""Three sources of tasks that are trained together and one after the other, and how a base for them is taught."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.through_services import sorting, worlds
from benchmarks.through_services.comparison import Row, Spec
from hone.environments import streams
from hone.environments.tasks import episode

Shown = Mapping[str, Sequence[Row]]
"""Demonstrations by the name of their source."""


@dataclass(frozen=True)
class Trio:
    """Three sources, the orders in which they are trained, and the run that teaches their base."""

    about: str
    sources: Mapping[str, Mapping[str, Any]]
    orders: Sequence[Sequence[str]]
    shown: Callable[[], Shown]
    taught: Mapping[str, Any]  # steps and batch of the run that teaches
    steps: int = 45  # of each arm
    lr: float = 3e-4
    max_tokens: int = 8
    policy: Callable[[Shown], Mapping[str, Any]] = field(default=lambda _: {})  # sizes and symbols of the base

    def arms(self) -> dict[str, Spec]:
        """Return each arm's spec, without name, base and seed."""
        mixture = [{"name": name, "weight": 1, **tasks} for name, tasks in self.sources.items()]
        joint: Spec = {
            "task": {"mixture": mixture}, "algorithm": "grpo", "steps": self.steps,
            "sampling": {"max_tokens": self.max_tokens}, "batch": {"prompts": 24, "samples": 8},
            "optimizer": {"lr": self.lr}, "snapshot_every": self.steps,
            "eval": {"prompts": 64, "samples": 4, "every": self.steps}}
        share = self.steps // 3
        return {"joint": joint, **{", ".join(order): {**joint, "stages": [
            self._stage(name, share * (place + 1)) for place, name in enumerate(order)]} for order in self.orders}}

    def teaching(self) -> Spec:
        """Return the spec of the run that teaches the base, without the base."""
        return {
            "name": "base", "algorithm": "sft", "chat": {"control_tokens": True}, **self.taught,
            "task": {"mixture": [{"name": name, "dataset": f"shown-{name}"} for name in self.sources]},
            "optimizer": {"lr": 3e-3, "schedule_params": {"warmup_steps": 10}}, "snapshot_every": 50,
            "sampling": {"max_tokens": self.max_tokens}, "eval": {"prompts": 64, "every": self.taught["steps"],
                "sources": [{"name": f"held-{name}", **tasks} for name, tasks in self.sources.items()]}}

    def _stage(self, source: str, until: int) -> Spec:
        tasks = dict(self.sources[source])
        harness = {"harness": tasks.pop("harness")} if "harness" in tasks else {}
        return {"name": source, "until": until, "task": tasks, **harness}


_EVEN: dict[str, Any] = {"environment": "even_digits", "params": {"digits": 4}}
_FOUR: dict[str, Any] = {"environment": "sort_digits", "params": {"digits": 4}}


def _sorting() -> Shown:
    return {"four": list(sorting.demonstrations(3200, careless=0.5, digits=4)),
            "five": list(sorting.demonstrations(3200, careless=0.5)), "even": list(_even(3200))}


def _even(count: int) -> Iterator[Row]:
    """Yield answers of four digits, half of which are even by chance."""
    for place, task in enumerate(streams.draw("even_digits", _EVEN["params"], "train", 0, 0, count)):
        chance = random.Random(f"even {place}")
        yield {"prompt": episode(task).reset().messages[0]["content"],
               "completion": "".join(chance.choice("0123456789") for _ in range(4))}


def _worlds() -> Shown:
    return {"sql": list(worlds.asked(6000, careless=0.5)), "game": list(worlds.played(3000, careless=0.5)),
            "sums": list(worlds.added(8000, careless=0.5))}


TRIOS: Mapping[str, Trio] = {
    "sorting": Trio(
        "`four` and `five` sort four and five digits (right or wrong), `even` is paid the share of even digits in its "
        "answer.",
        {"four": _FOUR, "five": sorting.TASK, "even": _EVEN}, [("four", "five", "even"), ("even", "five", "four")],
        _sorting, {"steps": 150, "batch": {"prompts": 64}}),
    "environments": Trio(
        "`sql` asks a database of the environment `sqlite` with a tool and then answers, `game` wins a game of "
        "`textworld` with one command of two, `sums` adds and subtracts three digits (`chain_sum` of `reasoning_gym`).",
        {"sql": {**worlds.SQL, "harness": worlds.QUERIES}, "game": worlds.GAME, "sums": worlds.SUMS},
        [("sql", "game", "sums"), ("sums", "game", "sql")], _worlds, {"steps": 1200, "batch": {"prompts": 72}},
        120, 6e-4, worlds.MAX_TOKENS, worlds.policy),
}
"""Every trio by name."""
