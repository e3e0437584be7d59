"""Judgements of sorted digits in the toy alphabet: `s72051=01257?` is answered `+` for a right answer, else `-`."""

import random
from collections.abc import Iterator
from typing import Any

from benchmarks.through_services.comparison import Row

WORDING: dict[str, Any] = {"template": "{question}{judged}?", "verdict": "word", "yes_text": "+", "no_text": "-"}


def judged(rows: Iterator[Row], wrong: float, seed: int = 0) -> Iterator[Row]:
    """Yield rows as they are, and after each a judgement of it or of its answer with one digit changed.

    In the share `wrong` the judge says the opposite of what is so.
    """
    for place, row in enumerate(rows):
        yield row
        chance = random.Random(f"judge {seed} {place}")
        right = "".join(sorted(row["prompt"][1:-1]))
        shown = right if chance.random() < 0.5 else _changed(right, chance)
        says = (shown == right) == (chance.random() >= wrong)
        yield {"prompt": f"{row['prompt']}{shown}?", "completion": "+" if says else "-"}


def _changed(answer: str, chance: random.Random) -> str:
    place = chance.randrange(len(answer))
    return answer[:place] + str(chance.randrange(10)) + answer[place + 1:]
