"""The toy run: sort a few digits. Its base model is taught in this process, so every test starts from the same one."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone.algorithms import presets
from hone.environments import streams
from hone.environments.contract import Observation
from hone.environments.tasks import episode
from hone.models import toy
from hone.spec.run import AlgorithmSpec
from hone.text.tokenizer import Tokenizer
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Call, Trajectory
from services.learner.trainer.learner import Learner

DIGITS = 3
SOURCE = {"environment": "sort_digits", "params": {"digits": DIGITS}}
_SIZES: dict[str, Any] = {"layers": 2, "head_dim": 32}


def write_base(
    directory: Path, steps: int = 60, seed: int = 0, digits: int = DIGITS, careless: float = 0.0, hidden: int = 64,
    taught_by: "type[Teacher] | None" = None,
) -> Path:
    """Write a directory with a random model that was taught for `steps` steps. It answers some of the tasks.

    The share `careless` of the demonstrations has one wrong digit. `taught_by` is the class of the teacher.
    """
    files = toy.files(seed, **{**_SIZES, "hidden": hidden, "ffn": 4 * hidden, "heads": hidden // 32})
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    teacher = (taught_by or Teacher)(tokenizer, seed, digits, careless)
    learner = Learner.create(files, {"lr": 3e-3}, token_budget=65536)
    for n in range(1, steps + 1):
        learner.forward_backward(supervised_plan(n), teacher.demonstrations(64 * (n - 1), 64))
        learner.optim_step(3e-3, 1.0)
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in {**files, "model.safetensors": learner.weights()}.items():
        (directory / name).write_bytes(data)
    return directory


def spec(name: str, base: str, steps: int, **changes: Any) -> dict[str, Any]:
    """Return the spec of the toy run."""
    return {
        "name": name, "seed": 0, "model": {"base": base}, "task": SOURCE, "steps": steps,
        "algorithm": {"preset": "grpo", "loss": {"name": "clip_higher"}, "aggregation": {"name": "token-mean"}},
        "batch": {"prompts": 16, "samples": 4}, "sampling": {"max_tokens": DIGITS + 2}, "snapshot_every": 4,
        "optimizer": {"lr": 5e-4}, "eval": {"prompts": 32, "every": 1000}, **changes,
    }


def supervised_plan(n: int) -> StepPlan:
    """Return the plan of a supervised step."""
    slots = presets.resolve(AlgorithmSpec(preset="sft"))
    return StepPlan(n=n, builder="dataset", parts=[], groups=[], slots=slots, lr=3e-3, clip_norm=1.0, temperature=1.0,
                    max_tokens=16)


@dataclass(frozen=True)
class Teacher:
    """Writes demonstrations of solved tasks; a share of them is wrong."""

    tokenizer: Tokenizer
    seed: int
    digits: int
    careless: float

    def demonstrations(self, first: int, count: int) -> list[Trajectory]:
        """Return `count` demonstrations for the training tasks from index `first` of the stream."""
        tasks = streams.draw("sort_digits", {"digits": self.digits}, "train", self.seed, first, count)
        return [self._demonstration(first + place, episode(task).reset()) for place, task in enumerate(tasks)]

    def _demonstration(self, place: int, seen: Observation) -> Trajectory:
        answer = self._answer(seen.item["answer"], random.Random(f"{self.seed} {place}"))
        ids = [*self.tokenizer.encode(answer), self.tokenizer.eos_id]
        prompt = self.tokenizer.prompt_ids(seen.messages)
        call = Call(0, prompt, ids, [], "stop", [], answer, [True] * len(ids))
        return Trajectory(0, 0, place, {}, "", {}, [call], [], "ok", None, None)

    def _answer(self, right: str, chance: random.Random) -> str:
        if chance.random() >= self.careless:
            return right
        place = chance.randrange(len(right))
        return right[:place] + str(chance.randrange(10)) + right[place + 1:]
