"""The toy run: sort a few digits. Its base is taught here, in this process, so that every test starts from the same."""

from pathlib import Path
from typing import Any

from hone.algorithms import presets
from hone.environments import streams
from hone.environments.tasks import episode
from hone.models import toy
from hone.spec.run import AlgorithmSpec
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Call, Trajectory
from hone.trajectory.tokens import Tokenizer
from services.learner.trainer.learner import Learner

DIGITS = 3
SOURCE = {"environment": "sort_digits", "params": {"digits": DIGITS}}
_SIZES = {"hidden": 64, "layers": 2, "heads": 2, "head_dim": 32, "ffn": 256}


def write_base(directory: Path, steps: int = 60, seed: int = 0) -> Path:
    """Write a model directory that answers about half of the tasks: a random one, taught for `steps` steps."""
    files = toy.files(seed, **_SIZES)
    learner = Learner.create(files, {"lr": 3e-3}, token_budget=65536)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    for n in range(1, steps + 1):
        learner.forward_backward(_plan(n), _demonstrations(tokenizer, seed, 64 * (n - 1), 64))
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


def _plan(n: int) -> StepPlan:
    slots = presets.resolve(AlgorithmSpec(preset="sft"))
    return StepPlan(n=n, builder="dataset", parts=[], groups=[], slots=slots, lr=3e-3, clip_norm=1.0, temperature=1.0,
                    max_tokens=16)


def _demonstrations(tokenizer: Tokenizer, seed: int, first: int, count: int) -> list[Trajectory]:
    tasks = streams.draw("sort_digits", {"digits": DIGITS}, "train", seed, first, count)
    seen = [episode(task).reset() for task in tasks]
    return [_demonstration(tokenizer, place, one.messages, one.item["answer"]) for place, one in enumerate(seen)]


def _demonstration(tokenizer: Tokenizer, place: int, messages: Any, answer: str) -> Trajectory:
    ids = tokenizer.completion_ids(answer)
    call = Call(0, tokenizer.prompt_ids(messages), ids, [], "stop", [], answer, [True] * len(ids))
    return Trajectory(0, 0, place, {}, "", {}, [call], [], "ok", None, None)
