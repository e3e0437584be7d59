"""The demo's task and the two runs that learn it: first by imitation, then from rewards alone.

The task is to sort six digits: the answer to `s529170=` is `012579`. The first run imitates demonstrations and stops
early, so that the base gets about half of the answers right. The second run only learns whether an answer was right.
"""

import json
from typing import Any

from hone.environments import streams
from hone.environments.tasks import episode

NAME = "sort_digits"
PARAMS = {"digits": 6}
SOURCE = {"environment": NAME, "params": PARAMS}
DEMONSTRATION_STEPS = 75
DEMONSTRATIONS_PER_STEP = 128
STEPS = 260


def demonstrations(seed: int) -> bytes:
    """Return a JSONL dataset of solved training tasks; none of them is held out."""
    count = DEMONSTRATION_STEPS * DEMONSTRATIONS_PER_STEP
    tasks = streams.draw(NAME, dict(PARAMS), "train", seed, 0, count)
    observations = (episode(task).reset() for task in tasks)
    rows = ({"prompt": seen.messages[0]["content"], "completion": seen.item["answer"]} for seen in observations)
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def supervised_spec(name: str, base: str, dataset: str, seed: int) -> dict[str, Any]:
    """Return the spec of the supervised run that makes the base."""
    return {
        "name": name, "seed": seed, "model": {"base": base}, "task": {"dataset": dataset}, "algorithm": "sft",
        "batch": {"prompts": DEMONSTRATIONS_PER_STEP, "samples": 1}, "steps": DEMONSTRATION_STEPS,
        "sampling": {"max_tokens": 8}, "snapshot_every": 25,
        "optimizer": {"lr": 2e-3, "weight_decay": 0.01, "schedule_params": {"warmup_steps": 20}},
        "eval": {"prompts": 256, "every": DEMONSTRATION_STEPS, "source": SOURCE},
    }


def reinforcement_spec(name: str, base: str, seed: int, steps: int = STEPS) -> dict[str, Any]:
    """Return the spec of the run that learns from rewards."""
    return {
        "name": name, "seed": seed, "model": {"base": base}, "task": SOURCE,
        "algorithm": {"preset": "grpo", "loss": {"name": "clip_higher"}, "aggregation": {"name": "token-mean"}},
        "batch": {"prompts": 64, "samples": 8}, "steps": steps, "sampling": {"max_tokens": 8}, "snapshot_every": 10,
        "optimizer": {"lr": 2e-4, "schedule": "linear", "schedule_params": {"decay_fraction": 0.34}},
        "eval": {"prompts": 256, "every": 25},
    }
