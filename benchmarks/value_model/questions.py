"""Families of prompts: short questions about digits, each with its right answer, of several sizes."""

import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import Any

from hone.environments import streams
from hone.environments.tasks import episode
from hone.models import toy

Row = dict[str, Any]
MAX_TOKENS = 10
WORDS = ("copy", "reverse", "largest of", "smallest of", "last of", "count", " in ", "even or odd",
         "drop the first of", "State the final answer to the following arithmetic problem: ")
SYMBOLS = [*toy.TEXT, *WORDS]


def _number(chance: random.Random, fewest: int, most: int) -> str:
    return "".join(chance.choices("0123456789", k=chance.randint(fewest, most)))


Question = Callable[[random.Random], tuple[str, str]]


def _counted(chance: random.Random) -> tuple[str, str]:
    digits = "".join(chance.choices("012", k=chance.randint(2, 8)))
    wanted = chance.choice("012")
    return f"count {wanted} in {digits} =", str(digits.count(wanted))


def _added(chance: random.Random) -> tuple[str, str]:
    one, two = chance.randint(0, 49), chance.randint(0, 9)
    return f"{one} + {two} =", str(one + two)


def _asked(words: str, answer: Callable[[str], str], fewest: int, most: int) -> Question:
    def question(chance: random.Random) -> tuple[str, str]:
        digits = _number(chance, fewest, most)
        return f"{words} {digits} =", answer(digits)

    return question


ROWS: Mapping[str, Question] = {
    "copy": _asked("copy", str, 1, 8),
    "reverse": _asked("reverse", lambda digits: digits[::-1], 1, 7),
    "largest": _asked("largest of", max, 2, 8),
    "smallest": _asked("smallest of", min, 2, 8),
    "last": _asked("last of", lambda digits: digits[-1], 1, 9),
    "rest": _asked("drop the first of", lambda digits: digits[1:], 2, 8),
    "parity": _asked("even or odd", lambda digits: "even" if int(digits) % 2 == 0 else "odd", 1, 6),
    "count": _counted, "sum": _added,
}
"""Questions that are rows of a dataset, by the name of their family."""

MADE: Mapping[str, Row] = {
    "sort3": {"environment": "sort_digits", "params": {"digits": 3}},
    "sort5": {"environment": "sort_digits", "params": {"digits": 5}},
    "chain": {"environment": "reasoning_gym", "params": {
        "task": "chain_sum", "min_terms": 2, "max_terms": 3, "min_digits": 1, "max_digits": 1}},
}
"""Questions that an environment makes, by the name of their family."""

FAMILIES = (*ROWS, *MADE)


def demonstrations(family: str, rows: int, careless: float, seed: int) -> Iterator[Row]:
    """Yield rows with a prompt and a completion, a share of which ends in a wrong character."""
    for place, (prompt, answer) in enumerate(islice(_answered(family, seed, held_out=False), rows)):
        chance = random.Random(f"careless {family} {seed} {place}")
        wrong = chance.random() < careless
        yield {"prompt": prompt, "completion": answer[:-1] + chance.choice("0123456789") if wrong else answer}


def held_out(family: str, rows: int) -> list[Row]:
    """Return rows with a prompt and an answer that no demonstration has."""
    found: dict[str, str] = {}
    for prompt, answer in islice(_answered(family, 1, held_out=True), 100 * rows):
        if len(found) < rows:
            found[prompt] = answer
    return [{"prompt": prompt, "answer": answer} for prompt, answer in found.items()]


def _answered(family: str, seed: int, held_out: bool) -> Iterator[tuple[str, str]]:
    """Yield prompts and answers without end; of a dataset's prompts one in eight is held out."""
    if family in ROWS:
        for place in count():
            prompt, answer = ROWS[family](random.Random(f"question {family} {seed} {place}"))
            if (zlib.crc32(prompt.encode()) % 8 == 0) == held_out:
                yield prompt, answer
    for first in count(0, 256):
        made = MADE[family]
        for task in streams.draw(made["environment"], made["params"], "train", seed, first, 256):
            seen = episode(task).reset()
            yield seen.messages[0]["content"], str(seen.item["answer"])
