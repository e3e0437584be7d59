"""Tasks from seeds: each family is a program that lays out the desk and computes the truth from the same draws."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, get_args

from hone.environments.desk.file_tasks import clean, expenses, invoices
from hone.environments.desk.meeting_tasks import book, reschedule
from hone.environments.desk.people_tasks import answer, merge
from hone.environments.desk.scenery import DeskScene, Variant
from hone.environments.desk.task import DeskTask

Family = Literal["reschedule", "invoices", "merge", "answer", "clean", "book", "expenses"]
_PROGRAMS: Mapping[Family, Callable[[DeskScene], DeskTask]] = {
    "reschedule": reschedule, "invoices": invoices, "merge": merge, "answer": answer, "clean": clean, "book": book,
    "expenses": expenses}
FAMILIES: tuple[Family, ...] = get_args(Family)


def task(family: Family, seed: int, variant: Variant | None = None) -> DeskTask:
    """Return the task of a family and a seed. Equal arguments give equal tasks."""
    scene = DeskScene(family, seed, variant or Variant())
    return replace(_PROGRAMS[family](scene), denied=scene.variant.denied)
