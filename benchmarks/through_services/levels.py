"""Words to spell backward, a level for each length: reasoning-gym's spell_backward, and a teacher who slips on letters.

A level's rows are distinct words. What is shown, trained and held out has no word in common.
"""

import random
import string
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

from benchmarks.through_services.comparison import Row
from hone.models import toy

LETTERS: Sequence[int] = (3, 4, 6, 8, 9, 10)
"""Letters of a word, the easiest level first."""
TRAINED, HELD_OUT = 96, 64
"""Rows of a level that are trained on, and that are held out."""
MAX_TOKENS = LETTERS[-1] + 2
_ASKS = "Spell this word backward (example: sun -> nus): "
_WEIGHTS: Mapping[int, int] = {3: 12, 4: 9, 5: 7, 6: 5, 7: 4, 8: 3, 9: 2, 10: 1}
"""How often a level is demonstrated, relative to the others."""
_GRADER = {"type": "exact"}
"""Right or wrong. The task's own verifier also pays single letters."""
POLICY: Mapping[str, Any] = {
    "vocab_size": 64, "symbols": [*toy.SPECIALS, *string.ascii_letters, _ASKS, "-"]}


def name(letters: int) -> str:
    """Return the name of a level."""
    return f"{letters}-letters"


def trained() -> list[Row]:
    """Return the sources of a mixture of all levels with equal weights."""
    return [{"name": name(letters), "weight": 1.0, "dataset": f"words-{letters}", "grader": _GRADER}
            for letters in LETTERS]


def held_out() -> list[Row]:
    """Return the sources of held-out tasks."""
    return [{"name": name(letters), "dataset": f"other-words-{letters}", "grader": _GRADER} for letters in LETTERS]


def datasets() -> dict[str, list[Row]]:
    """Return the rows of every dataset that `trained` and `held_out` name."""
    found: dict[str, list[Row]] = {}
    for letters in LETTERS:
        rows = _rows(letters)
        found[f"words-{letters}"] = list(rows[:TRAINED])
        found[f"other-words-{letters}"] = list(rows[TRAINED:])
    return found


def demonstrations(many: int, careless: float, seed: int = 0) -> Iterator[Row]:
    """Yield `many` answers, of long words fewer. Each letter is another one with chance `careless` times the length."""
    chance = random.Random(f"levels {seed}")
    words = {letters: _others(letters) for letters in LETTERS}
    for _ in range(many):
        [letters] = chance.choices(LETTERS, [_WEIGHTS[one] for one in LETTERS])
        row = next(words[letters])
        yield {"prompt": row["prompt"], "completion": _slipped(row["answer"], chance, careless * letters)}


def _others(letters: int) -> Iterator[Row]:
    """Yield a level's words that are neither trained on nor held out."""
    kept = {row["prompt"] for row in _rows(letters)}
    return (row for row in _words(letters) if row["prompt"] not in kept)


@lru_cache
def _rows(letters: int) -> tuple[Row, ...]:
    """Return the rows of a level that are trained on or held out, all different."""
    found: dict[str, Row] = {}
    for row in _words(letters):
        found.setdefault(row["prompt"], row)
        if len(found) == TRAINED + HELD_OUT:
            break
    return tuple(found.values())


def _words(letters: int) -> Iterator[Row]:
    """Yield a level's tasks as the package draws them, without end."""
    from reasoning_gym.factory import create_dataset  # needed only here: it takes seconds

    made = create_dataset("spell_backward", min_word_len=letters, max_word_len=letters, seed=0, size=1)
    for place in count():
        entry = made[place]
        if entry["answer"].isascii() and entry["answer"].isalpha():
            yield {"prompt": entry["question"], "answer": entry["answer"]}


def _slipped(answer: str, chance: random.Random, careless: float) -> str:
    return "".join(chance.choice(string.ascii_lowercase) if chance.random() < careless else letter
                   for letter in answer)
