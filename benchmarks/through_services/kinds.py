"""Three sources of tasks in one run, whose rewards are of three kinds: 0 or 1, shares, and any number.

`sorted` is right or wrong. `digits` is paid for even digits, for multiples of four, which are even, too, and for digits
from five on. `brief` is paid the share of odd digits, and for being shorter than the others of its group up to five on
either side, ten times as much. Its held-out answers are scored by their odd digits alone.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.through_services import sorting
from benchmarks.through_services.comparison import Row
from hone.environments import streams
from hone.environments.tasks import episode

LONGEST = 6
"""Most digits of a demonstrated answer to `brief`."""
_FOUR: Row = {"digits": 4}
_THREE: Row = {"digits": 3}


def _share(wanted: str) -> Row:
    return {"type": "character_share", "wanted": wanted, "among": "0123456789"}


def _parts(**graders: Row) -> Row:
    return {"type": "weighted", "parts": {name: {"grader": grader} for name, grader in graders.items()}}


SOURCES: Mapping[str, Mapping[str, Any]] = {
    "sorted": {"environment": "sort_digits", "params": _FOUR, "grader": _parts(right={"type": "exact"})},
    "digits": {"environment": "even_digits", "params": _FOUR,
               "grader": _parts(even=_share("02468"), fours=_share("048"), high=_share("56789"))},
    "brief": {"environment": "even_digits", "params": _THREE,
              "grader": {"type": "concise", "grader": _share("13579"), "weight": 10.0, "right": 0.0}}}
TASK = {"mixture": [{"name": name, "weight": 1.0, **tasks} for name, tasks in SOURCES.items()]}
HELD_OUT = [{"name": "sorted"}, {"name": "digits"},
            {"name": "brief", **{**SOURCES["brief"], "grader": _share("13579")}}]


def demonstrations(count: int) -> Iterator[Row]:
    """Yield rows of the three sources in turn: half of `sorted` is right, the digits of the others are random."""
    each = zip(sorting.demonstrations(count, careless=0.5, digits=4), _digits(count, _FOUR, 4, 4),
               _digits(count, _THREE, 1, LONGEST), strict=True)
    return (row for rows in each for row in rows)


def _digits(count: int, params: Row, fewest: int, most: int) -> Iterator[Row]:
    for place, task in enumerate(streams.draw("even_digits", params, "train", 0, 0, count)):
        chance = random.Random(f"digits {params} {place}")
        yield {"prompt": episode(task).reset().messages[0]["content"],
               "completion": "".join(chance.choices("0123456789", k=chance.randint(fewest, most)))}
