"""PhaseLock in the folding harness: its words as single tokens, and whole episodes of a careless teacher as rows."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.phase_lock import COLOURS
from hone.environments.tasks import episode
from hone.harnesses.folding import Story, render
from hone.models import toy

PARAMS = {"doors": 4, "colours": 8, "slack": 2.5}
TASK = {"environment": "phase_lock", "params": PARAMS}
NO_PENALTIES = {"grounding": 0.0, "false_finish": 0.0, "loop": 0.0, "format": 0.0}
ACTIONS = [*(f"take {colour}" for colour in COLOURS), "open", "look"]
_OPENING = f"Open 4 doors. Commands: {', '.join(ACTIONS)}."
WORDS = [
    *COLOURS, _OPENING, "take ", "open", "look", "> ", "You hold the ", " key.", "The door is ", "The door opens. ",
    "Nothing happens.", "Finished: the ", " door", "Subgoal: the ", "reflect: ", "passed", "not yet", "\ndone: ",
    "\nsubgoal: the ", "\naction: ",
]
"""What the task and the harness write, a token each."""
POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 128, "symbols": [*toy.TEXT, *WORDS]}
"""Sizes of the policy: a hundred thousand parameters."""


def harness(fold: bool, penalties: bool) -> Row:
    """Return the harness of an arm."""
    given = {} if penalties else {"penalties": NO_PENALTIES}
    return {"name": "folding", "params": {"fold": fold, "describe": False, **given}}


def demonstrations(count: int, careless: float, seed: int = 0) -> Iterator[Row]:
    """Yield `count` steps of a teacher who names each door, and draws the share `careless` of its actions at random.

    Every other episode is shown folded, the others with their whole history.
    """
    chance, left = random.Random(f"doors {seed}"), count
    for place, task in enumerate(streams.draw("phase_lock", PARAMS, "train", seed, 0, count)):
        for row in _shown(episode(task), chance, careless, fold=place % 2 == 0):
            yield row
            left -= 1
            if not left:
                return


def _shown(world: Episode, chance: random.Random, careless: float, fold: bool) -> Iterator[Row]:
    seen = world.reset()
    colours, passed, over = seen.item["doors"], 0, False
    story = Story(seen.messages[0]["content"].strip(), seen.messages[1]["content"])
    opened, holds = True, False
    while not over:
        prompt, subgoal = render(story, fold), f"the {colours[passed]} door"
        right = "open" if holds else f"take {colours[passed]}"
        action = chance.choice(ACTIONS) if chance.random() < careless else right
        named = f"\nsubgoal: {subgoal}" if opened else ""
        judged = ("passed", 1) if opened and passed else ("not yet", 0)
        yield {"prompt": prompt, "completion": f"reflect: {judged[0]}\ndone: {judged[1]}{named}\naction: {action}"}
        story = story.begun(subgoal) if opened else story
        taken = world.step(action)
        over, opened = taken.done, action == "open" and bool(taken.effect)
        holds = not opened and (holds or bool(taken.effect))
        passed += opened
        story = story.went_on(action, taken.observation.messages[0]["content"])
