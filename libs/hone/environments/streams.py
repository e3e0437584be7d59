"""Endless streams of tasks: the same place of a stream is always the same task, whoever asks and however often."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as counted
from itertools import islice
from typing import Any

from hone.environments.contract import Row, Task, WrongParams
from hone.environments.hashing import canonical, mixed_seed
from hone.environments.tasks import Maker, Split, checked_params, maker, split_of

_TRIES = 1024  # a place misses its split with probability (15/16)^1024, unless the split is empty


class SplitExhausted(WrongParams):
    """A split holds fewer tasks than were asked for; `available` says how many were found."""

    def __init__(self, source: str, split: Split, asked: int, available: int) -> None:
        super().__init__("count", asked, f"at most {available}: {source} has no more tasks in split {split}")
        self.available = available


def draw(environment: str, params: dict[str, Any], split: Split, seed: int,
         first: int, count: int, distinct: bool = False) -> list[Task]:
    """Return the tasks at places first … first + count - 1 of the stream (environment, params, split, seed).

    `distinct` (only from place 0) passes over tasks whose content came at an earlier place.
    Raises WrongParams, and SplitExhausted when the environment has too few tasks in the split.
    """
    _check_range(first, count, distinct)
    if environment == "dataset":
        raise WrongParams("environment", environment, "one that makes its own tasks; rows are drawn by a RowStream")
    stream = Stream(environment, canonical(checked_params(environment, params).model_dump()), split, seed)
    tasks = (_placed(stream, place) for place in counted(first))
    return _distinct(tasks, count, str(stream), split) if distinct else list(islice(tasks, count))


@dataclass(frozen=True)
class Stream:
    """What names a stream; `params` is their JSON."""

    environment: str
    params: str
    split: Split
    seed: int

    def __str__(self) -> str:
        return f"{self.environment} with {self.params}"


@lru_cache(maxsize=64)
def _maker(environment: str, params: str) -> Maker:
    return maker(environment, json.loads(params))


@lru_cache(maxsize=8192)
def _placed(stream: Stream, place: int) -> Task:
    """Return the task at a place. Kept, as slow generators take longer for an evaluation set than a caller waits."""
    made = _maker(stream.environment, stream.params)
    for attempt in range(_TRIES):
        task = made.task(mixed_seed(stream.seed, place, attempt))
        if split_of(task.content_hash) == stream.split:
            return task
    raise SplitExhausted(str(stream), stream.split, place + 1, 0)


class RowStream:
    """The tasks of a dataset's split: every epoch visits each row once, in an order of its own."""

    def __init__(self, rows: Sequence[Row], params: dict[str, Any], split: Split, seed: int) -> None:
        """Hash every row. Raises WrongParams naming the first that is no task."""
        made = maker("dataset", params)
        tasks = (made.task(number, row) for number, row in enumerate(rows))
        self._tasks = [task for task in tasks if split_of(task.content_hash) == split]
        self._split, self._seed = split, seed

    def __len__(self) -> int:
        return len(self._tasks)

    def draw(self, first: int, count: int, distinct: bool = False) -> list[Task]:
        """Return the tasks at places first … first + count - 1; `distinct` passes over equal rows.

        Raises WrongParams, and SplitExhausted when the split is empty or has too few distinct rows.
        """
        _check_range(first, count, distinct)
        if distinct:
            return _distinct(self._epoch(0), count, "the dataset", self._split)
        if not self._tasks:
            raise SplitExhausted("the dataset", self._split, count, 0)
        epoch, skipped = divmod(first, len(self._tasks))
        tasks = (task for number in counted(epoch) for task in self._epoch(number))
        return list(islice(tasks, skipped, skipped + count))

    def _epoch(self, number: int) -> list[Task]:
        keys = [(mixed_seed(self._seed, number, place), place) for place in range(len(self._tasks))]
        return [self._tasks[place] for _, place in sorted(keys)]


def _distinct(tasks: Iterable[Task], count: int, source: str, split: Split) -> list[Task]:
    # The last of N equally likely tasks is met after about N ln N places: the bound is far beyond any real set.
    found: dict[str, Task] = {}
    for task in islice(tasks, 64 * count + 1024):
        found.setdefault(task.content_hash, task)
        if len(found) == count:
            return list(found.values())
    raise SplitExhausted(source, split, count, len(found))


def _check_range(first: int, count: int, distinct: bool) -> None:
    if first < 0:
        raise WrongParams("first", first, "a place from 0 on")
    if count < 1:
        raise WrongParams("count", count, "at least 1")
    if distinct and first:
        raise WrongParams("first", first, "0 when distinct tasks are asked for")
