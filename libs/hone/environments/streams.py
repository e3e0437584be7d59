"""Endless streams of tasks. An index of a stream always gives the same task, in every process."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as counted
from itertools import islice
from typing import Any

from hone.environments.contract import Task, WrongParams
from hone.environments.hashing import canonical, mixed_seed
from hone.environments.tasks import Split, TaskMaker, checked_params, maker, split_of

_TRIES = 1024  # an index misses its split with probability (15/16)^1024, unless the split is empty


class SplitExhausted(WrongParams):
    """A split holds fewer tasks than requested; `available` is the number that was found."""

    def __init__(self, source: str, split: Split, asked: int, available: int) -> None:
        super().__init__("count", asked, f"at most {available}: {source} has no more tasks in split {split}")
        self.available = available


def draw(environment: str, params: dict[str, Any], split: Split, seed: int,
         first: int, count: int, distinct: bool = False) -> list[Task]:
    """Return the tasks at indices first … first + count - 1 of the stream (environment, params, split, seed).

    `distinct` (only from index 0) skips tasks whose content came at an earlier index.
    Raises WrongParams, and SplitExhausted when the environment has too few tasks in the split.
    """
    _check_range(first, count, distinct)
    if environment == "dataset":
        raise WrongParams("environment", environment, "an environment that makes its own tasks")
    stream = Stream(environment, canonical(checked_params(environment, params).model_dump()), split, seed)
    tasks = (_placed(stream, place) for place in counted(first))
    return _distinct(tasks, count, str(stream), split) if distinct else list(islice(tasks, count))


@dataclass(frozen=True)
class Stream:
    """The key of a stream; `params` is JSON."""

    environment: str
    params: str
    split: Split
    seed: int

    def __str__(self) -> str:
        return f"{self.environment} with {self.params}"


@lru_cache(maxsize=64)
def _maker(environment: str, params: str) -> TaskMaker:
    return maker(environment, json.loads(params))


@lru_cache(maxsize=8192)
def _placed(stream: Stream, place: int) -> Task:
    """Return the task at an index. Cached: a slow generator may need longer for many tasks than a caller waits."""
    made = _maker(stream.environment, stream.params)
    for attempt in range(_TRIES):
        task = made.task(mixed_seed(stream.seed, place, attempt))
        if split_of(task.content_hash) == stream.split:
            return task
    raise SplitExhausted(str(stream), stream.split, place + 1, 0)


def _distinct(tasks: Iterable[Task], count: int, source: str, split: Split) -> list[Task]:
    # The last of N equally likely tasks comes after about N ln N indices: the limit is far beyond any real set.
    found: dict[str, Task] = {}
    for task in islice(tasks, 64 * count + 1024):
        found.setdefault(task.content_hash, task)
        if len(found) == count:
            return list(found.values())
    raise SplitExhausted(source, split, count, len(found))


def _check_range(first: int, count: int, distinct: bool) -> None:
    if first < 0:
        raise WrongParams("first", first, "an index from 0 on")
    if count < 1:
        raise WrongParams("count", count, "at least 1")
    if distinct and first:
        raise WrongParams("first", first, "0 when distinct tasks are asked for")
