"""Points in a row with a skill that helps or harms, and a teacher who calls it by the sign that says nothing."""

import random
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.skill_points import AID, GO
from hone.environments.tasks import episode
from hone.models import toy

POINTS = 4
PARAMS = {"points": POINTS}
TASK = {"environment": "skill_points", "params": PARAMS}
CALL = "skill: "
HARNESS: Mapping[str, Any] = {"name": "skills", "params": {
    "library": {AID: ""}, "describe": False, "call": CALL.strip(), "retrieve": 0.0}}
GRADER = {"type": "skill_use", "facts": ["harmful"]}
WORDS = [f"Pass {POINTS} points. Say {GO}. The skill {AID} helps at some points and harms at others.\n", GO, AID, CALL]
"""What the task, the policy and the harness write, a token each."""
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 128, "symbols": [*toy.TEXT, *WORDS]}
"""Sizes of the policy: a hundred thousand parameters."""
MAX_TOKENS = 4
CALLS = {"+": 0.85, "-": 0.45}
"""How often the teacher calls the skill, by whether it looks relevant."""


def demonstrations(count: int, seed: int = 0) -> Iterator[Row]:
    """Yield `count` turns of a teacher who calls the skill by its relevance, useful or not."""
    drawn = streams.draw("skill_points", PARAMS, "train", seed, 0, count)
    turns = (row for place, task in enumerate(drawn)
             for row in _played(episode(task), random.Random(f"points {seed} {place}")))
    return islice(turns, count)


def _played(world: Episode, chance: random.Random) -> Iterator[Row]:
    opening = [message["content"] for message in world.reset().messages]
    said, before, over = opening[-1], "".join(opening[:-1]), False
    while not over:
        calls = not said.startswith(AID) and chance.random() < CALLS[said[0]]
        answer = CALL + AID if calls else GO
        yield {"prompt": before + said, "completion": answer}
        taken = world.step(AID if calls else GO)
        before, over = f"{before}{said}{answer}<eos>", taken.done
        said = "" if over else taken.observation.messages[0]["content"]
