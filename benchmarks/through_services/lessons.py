"""PhaseLock as a chat without a turn to lose, lessons that name a step's action, and a careless teacher who heeds them.

A lesson is a condition and what to do: `red door: take red`. The start is shown lessons one at a time, at the step that
they are about. How it reads them all at once, nothing teaches it.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.phase_lock import COLOURS
from hone.environments.tasks import episode
from hone.models import toy

PARAMS = {"doors": 4, "colours": len(COLOURS), "slack": 1.0}
TASK = {"environment": "phase_lock", "params": PARAMS}
ACTIONS = [*(f"take {colour}" for colour in COLOURS), "open", "look"]
LESSONS: Sequence[tuple[str, str, str]] = [
    *((f"door is {colour}", f"{colour} door: ", f"take {colour}") for colour in COLOURS),
    ("You hold the", "key in hand: ", "open")]
"""What a step's message says, the lesson's condition, and the action that it names."""
WORDS = [
    *COLOURS, f"Open 4 doors. Commands: {', '.join(ACTIONS)}.", "take ", "open", "look", "You hold the ", " key.",
    "The door is ", "The door opens. ", "Nothing happens.", " door: ", "key in hand: "]
"""What the task and the lessons write, a token each."""
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 128, "symbols": [*toy.TEXT, *WORDS]}
"""Sizes of the policy: a hundred thousand parameters."""
MAX_TOKENS = 4


def contexts(at: str) -> Row:
    """Return the lessons as a run's privileged texts: all of them for the whole task, or each at its step."""
    return {"privileged": [{"text": condition + action, "at": at, **({"match": said} if at == "step" else {})}
                           for said, condition, action in LESSONS]}


def demonstrations(count: int, careless: float, share: float, seed: int = 0) -> Iterator[Row]:
    """Yield `count` steps of a teacher who draws the share `careless` of its actions at random.

    The share `share` of the steps that a lesson is about has it in a line before what is said last, and is done as it
    says.
    """
    steps = (row for place, task in enumerate(streams.draw("phase_lock", PARAMS, "train", seed, 0, count))
             for row in _played(episode(task), random.Random(f"lessons {seed} {place}"), careless, share))
    return islice(steps, count)


def _played(world: Episode, chance: random.Random, careless: float, share: float) -> Iterator[Row]:
    opening = [message["content"] for message in world.reset().messages]
    said, before, over = opening[-1], "".join(opening[:-1]), False
    condition = right = ""
    while not over:
        found = _lesson(said)
        condition, right = found or (condition, right)
        advised = found is not None and chance.random() < share
        action = chance.choice(ACTIONS) if not advised and chance.random() < careless else right
        yield {"prompt": f"{before}{condition}{action}\n{said}" if advised else before + said, "completion": action}
        taken = world.step(action)
        before, said, over = f"{before}{said}{action}<eos>", taken.observation.messages[0]["content"], taken.done


def _lesson(said: str) -> tuple[str, str] | None:
    """Return the lesson about a step at which this is said: its condition, and the action that it names."""
    return next(((condition, action) for wanted, condition, action in LESSONS if wanted in said), None)
