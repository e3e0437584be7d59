"""HiddenShelf taught in words that are a token each: by experts who know where the thing is, and by who looks first.

The teacher of budget B goes to the first B shelves in the order in which they stand, writes down where it saw the
thing, or else where it saw nothing, and goes where the thing is. Of shelves that nobody looked at no clone can know
that, so that (B + 1)/N of its attempts are right, and all from B = N - 1 on (map.md, example 2).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.through_services.comparison import Comparison, Direction, Near, Row, Spec
from benchmarks.through_services.imitation import Teacher, imitation, shown
from hone.environments.contract import Episode
from hone.environments.hidden_shelf import HiddenShelfEpisode
from hone.models import toy

PLACES, SPARE, EPISODES, STEPS = 6, 6, 500, 400
PARAMS = {"places": PLACES, "spare": SPARE, "attempts": 1, "turns": 12}
TASK = {"environment": "hidden_shelf", "params": PARAMS}
TEXTS = {"explore": "{task}Look around.\n", "signals": "", "write": "{task}You saw:\n{history}\nMap:\n", "window": 99,
         "append": False}
WORDS = [
    *(f"shelf {number}" for number in range(1, PLACES + SPARE + 1)), "table 1", "You see ", ", ",
    ". One shelf holds a mug.\nCommands: go to PLACE, look, take mug, put mug on table 1.\nYour task is to: put the "
    "mug on table 1.\n", "Look around.\n", "You saw:\n", "\nMap:\n", "Map of this task, made before:\n", "> ", "go to ",
    "look", "take mug", "put mug on table 1", "You arrive at ", ". On the ", ", you see nothing.", ", you see a mug.",
    " contains nothing", " contains mug", "You pick up the mug from the ", "You do not see a mug here.",
    "Nothing happens."]
"""What the task, the harness and the teachers write, a token each."""
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 192, "symbols": [*toy.TEXT, *WORDS]}
"""Sizes of the policy: a hundred thousand parameters."""
MAX_TOKENS = 24
BUDGETS = (0, 3, 5)


def harness(budget: int) -> Spec:
    """Return the harness that explores so long; without a budget its prompts are those of `chat`."""
    return {"name": "map_then_act", "params": {**TEXTS, "budget": budget}}


def closed_form(budget: int) -> float:
    """Return which share of attempts is right after looking at `budget` different shelves."""
    return min(1.0, (budget + 1) / PLACES)


def demonstrations(budget: int, count: int = EPISODES) -> Iterator[Row]:
    """Yield the conversations of `count` episodes of a teacher."""
    return shown(Teacher("hidden_shelf", PARAMS, harness(budget), partial(_script, budget)), count)


def _script(budget: int, world: Episode) -> Mapping[str, Sequence[str]]:
    assert isinstance(world, HiddenShelfEpisode)
    first = re.findall(r"shelf \d+", world.reset().messages[0]["content"])[:budget]
    solution = world.solution()
    place = solution[0].removeprefix("go to ")
    seen = [f"{place} contains mug"] if place in first else [f"{one} contains nothing" for one in first]
    return {"explore": [f"go to {one}" for one in first], "map": ["\n".join(seen)], "execute": solution}


def _arm(budget: int) -> str:
    return f"B={budget}"


HIDDEN_SHELF = Comparison(
    "map.md (b)", "Six shelves, one attempt: does a clone of who looks at B of them first, and writes a map, find as "
    "many things as can be found, and a clone of experts who know (B=0) no more than chance?",
    {_arm(budget): imitation("shelves", f"shelves-{budget}", TASK, harness(budget), MAX_TOKENS, STEPS)
     for budget in BUDGETS},
    (Direction("B=5", "B=0", "sampled"), Direction("B=3", "B=0", "sampled"), Direction("B=5", "B=3", "sampled")),
    near=tuple(Near(_arm(budget), "sampled", closed_form(budget), 0.05) for budget in BUDGETS),
    remark="Who never looked is right less often than by chance: 41 of 384 sampled attempts, where 64 are expected. "
    "Where it went was not looked at. The recipe was chosen on other trials of one seed.")
