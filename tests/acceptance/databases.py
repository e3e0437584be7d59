"""The toy run with tools: query a SQLite database once, then answer. Its base model is taught in this process."""

import random
from pathlib import Path
from typing import Any

from hone.environments import streams
from hone.environments.contract import Task
from hone.environments.tasks import episode
from hone.harnesses.tool_loop import ToolLoopParams, actions
from hone.models import toy
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Call, Trajectory
from services.learner.trainer.learner import Learner
from tests.acceptance.toy import supervised_plan

PARAMS = {"rows": 10, "questions": ["count", "sum"]}
HARNESS = {"syntax": "line", "describe": False}
_FUNCTIONS = {"how": "count(*)", "total": "total(price)"}
_BATCH = 32


def write_base(directory: Path, steps: int = 200, careless: float = 0.4, seed: int = 0) -> Path:
    """Write a model directory. The model queries in good form; the share `careless` asks the wrong thing.

    With a half of them wrong it would not know that the question matters: rewards then teach it to ask the same
    always, on some processors, and its groups lose their variance at a reward of 0.5.
    """
    files = toy.files(seed, hidden=128, ffn=512, heads=4, head_dim=32, vocab_size=128, symbols=toy.TEXT)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    learner, chance = Learner.create(files, {"lr": 3e-3}, token_budget=65536, threads=2), random.Random(seed)
    for n in range(1, steps + 1):
        tasks = streams.draw("sqlite", PARAMS, "train", seed, _BATCH * (n - 1), _BATCH)
        shown = [_demonstration(tokenizer, task, place, chance.random() < careless) for place, task in enumerate(tasks)]
        learner.forward_backward(supervised_plan(n), shown)
        learner.optim_step(3e-3, 1.0)
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in {**files, "model.safetensors": learner.weights()}.items():
        (directory / name).write_bytes(data)
    return directory


def spec(name: str, steps: int, **changes: Any) -> dict[str, Any]:
    """Return the spec of the run."""
    return {
        "name": name, "seed": 0, "model": {"base": "database-base"},
        "task": {"environment": "sqlite", "params": PARAMS}, "steps": steps,
        "harness": {"name": "tool_loop", "params": HARNESS},
        "algorithm": {"preset": "grpo", "loss": {"name": "clip_higher"}, "aggregation": {"name": "token-mean"}},
        "batch": {"prompts": 8, "samples": 8}, "sampling": {"max_tokens": 64}, "snapshot_every": 4,
        "optimizer": {"lr": 5e-4}, "eval": {"prompts": 48, "every": 1000}, **changes,
    }


def _demonstration(tokenizer: Tokenizer, task: Task, place: int, wrong: bool) -> Trajectory:
    """Return an episode of two calls. Its query uses the wrong function if `wrong`."""
    one = episode(task)
    seen = one.reset()
    question = seen.messages[0]["content"]
    function = _FUNCTIONS[question.split()[0]]
    if wrong:
        function = next(other for other in _FUNCTIONS.values() if other != function)
    query = f"query: SELECT {function} FROM items WHERE kind = '{question.strip()[-2]}'"
    first = _call(tokenizer, 0, tokenizer.prompt_ids(seen.messages), query)
    [action] = actions(ToolLoopParams.model_validate(HARNESS), query, seen.tools or [])
    said = one.step(action).observation.messages
    prompt_ids = tokenizer.next_prompt_ids(seen.messages, first.prompt_ids, first.completion_ids, said)
    second = _call(tokenizer, 1, prompt_ids, said[0]["content"].strip())
    return Trajectory(0, 0, place, {}, "", {}, [first, second], [], "ok", None, None)


def _call(tokenizer: Tokenizer, number: int, prompt_ids: list[int], text: str) -> Call:
    ids = [*tokenizer.encode(text), tokenizer.eos_id]
    return Call(number, prompt_ids, ids, [], "stop", [], text, [True] * len(ids), turn=number)
