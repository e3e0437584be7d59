"""Policies that are taught from nothing by a supervised run: whole episodes of a scripted teacher as rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.methods.local_play import LocalPlay, chains
from benchmarks.through_services.comparison import Row, Spec
from hone.environments import streams
from hone.environments.contract import Episode
from hone.environments.tasks import episode

ROWS = 128
"""Rows of a step."""


@dataclass(frozen=True)
class Teacher:
    """Who plays an environment in a harness, and what it says at each call of a kind."""

    environment: str
    params: Mapping[str, Any]
    harness: Spec
    script: Callable[[Episode], Mapping[str, Sequence[str]]]


def shown(teacher: Teacher, count: int) -> Iterator[Row]:
    """Yield the conversations of `count` training episodes in which the teacher succeeds, each phase a row."""
    found = 0
    for task in streams.draw(teacher.environment, dict(teacher.params), "train", 0, 0, 2 * count):
        one = LocalPlay(episode(task), teacher.harness["name"], teacher.harness["params"])
        if found < count and _played(one, teacher.script(episode(task))):
            found += 1
            yield from ({"messages": chain} for chain in chains(one.calls))


def imitation(base: str, dataset: str, source: Mapping[str, Any], harness: Spec, max_tokens: int, steps: int) -> Spec:
    """Return the spec of a run that imitates a dataset's conversations, and is evaluated in the source with a harness.
    """
    evaluated = {"name": source["environment"], **source, "harness": harness, "grader": {"type": "map_use"}}
    return {
        "model": {"base": base}, "task": {"dataset": dataset}, "algorithm": "sft", "harness": harness,
        "batch": {"prompts": ROWS, "samples": 1}, "steps": steps, "sampling": {"max_tokens": max_tokens},
        "optimizer": {"lr": 3e-3, "schedule": "cosine", "schedule_params": {"warmup_steps": 10}},
        "eval": {"prompts": 128, "every": steps, "sources": [evaluated]}, "snapshot_every": steps}


def _played(one: LocalPlay, said: Mapping[str, Sequence[str]]) -> bool:
    """Play a teacher's words to the end; return whether they were enough and the episode succeeded."""
    play, text, counts = one.playing(), None, dict[str, int]()
    while True:
        try:
            kind = (next(play) if text is None else play.send(text)).kind
        except StopIteration:
            return one.episode.verify() == 1.0
        place = counts[kind] = counts.get(kind, -1) + 1
        if place == len(said[kind]):
            return False
        text = said[kind][place]
