"""A database to ask, a game and sums: their words as tokens, and episodes of a teacher who errs in a share of them."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.tasks import episode
from hone.harnesses.tool_loop import ToolLoopParams, actions
from hone.models import toy

SQL: dict[str, Any] = {"environment": "sqlite", "params": {"rows": 10, "turns": 3, "questions": ["count", "sum"]}}
GAME: dict[str, Any] = {"environment": "textworld", "params": {"objects": 2, "quest_length": 1, "turns": 2}}
SUMS: dict[str, Any] = {"environment": "reasoning_gym", "params": {
    "task": "chain_sum", "min_terms": 3, "max_terms": 3, "min_digits": 1, "max_digits": 1}}
SYNTAX: dict[str, Any] = {"syntax": "line", "describe": False}
QUERIES = {"name": "tool_loop", "params": SYNTAX}
MAX_TOKENS = 32
"""Most tokens of an answer: a command that names two things."""

_FUNCTIONS = {"how": "count(*)", "total": "total(price)"}
_PHRASES = [
    "query: SELECT ", *_FUNCTIONS.values(), " FROM items WHERE kind = '", "how many ", "total price of ",
    "State the final answer to the following arithmetic problem: ", "You are in the ", "You see: ", "You carry: ",
    "You can: "]
_COMMON = 5
"""Times that a word occurs in what is shown before it is a token of its own."""


def policy(shown: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return the sizes and symbols of a policy for such rows: recurring phrases and common words are tokens."""
    texts = (text for rows in shown.values() for row in rows for text in row.values())
    counts = Counter(word for text in texts for word in re.findall(r"\b[A-Za-z]{3,}\b", text))
    words = sorted(word for word, count in counts.items() if count >= _COMMON and word != "eos")
    symbols = [*toy.TEXT, *_PHRASES, *words]
    return {"vocab_size": -(-len(symbols) // 64) * 64, "symbols": symbols}


def asked(count: int, careless: float) -> Iterator[Row]:
    """Yield episodes of a teacher who asks the database for another figure in the share `careless` of them.

    What the database says stands between the two answers, behind the end of the first one, as in a run.
    """
    for world, chance in _worlds("sqlite", SQL["params"], count):
        seen = world.reset()
        question = seen.messages[0]["content"]
        right, errs = _FUNCTIONS[question.split()[0]], chance.random() < careless
        function = next(one for one in _FUNCTIONS.values() if (one != right) == errs)
        query = f"query: SELECT {function} FROM items WHERE kind = '{question.strip()[-2]}'"
        [action] = actions(ToolLoopParams.model_validate(SYNTAX), query, seen.tools or [])
        found = world.step(action).observation.messages[0]["content"]
        yield {"prompt": question, "completion": f"{query}<eos>{found}{found.strip()}"}


def played(count: int, careless: float) -> Iterator[Row]:
    """Yield first commands of a teacher who draws one at random in the share `careless` of the games."""
    for world, chance in _worlds("textworld", GAME["params"], count):
        seen = world.reset()
        possible = sorted(seen.admissible or [])
        command = chance.choice(possible) if chance.random() < careless else _winning(world, possible)
        yield {"prompt": seen.messages[0]["content"], "completion": command}


def added(count: int, careless: float) -> Iterator[Row]:
    """Yield sums of a teacher who says another number in the share `careless` of them."""
    for world, chance in _worlds("reasoning_gym", SUMS["params"], count):
        seen = world.reset()
        answer = int(seen.item["answer"])
        wrong = chance.choice([-2, -1, 1, 2]) if chance.random() < careless else 0
        yield {"prompt": seen.messages[0]["content"], "completion": str(answer + wrong)}


def _worlds(environment: str, params: dict[str, Any], count: int) -> Iterator[tuple[Episode, random.Random]]:
    for place, task in enumerate(streams.draw(environment, params, "train", 0, 0, count)):
        yield episode(task), random.Random(f"shown {environment} {place}")


def _winning(world: Episode, possible: list[str]) -> str:
    """Return a command that wins at once, or the first one where none does."""
    won = (one for one in possible if (after := world.fork()).step(one) and after.verify() == 1)
    return next(won, possible[0])

