"""Offers of a step's samples: they become versions of collections, whose number is the step.

A version is written in the transaction that plans its step, and read by groups once the step has committed. It has the
offers of the graded samples that the step trains on, in the order of groups, samples and calls.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import collections
from hone.harnesses.offers import NOTE
from hone.resolution import sources
from hone.spec.run import RunSpec
from hone.store.objects import Objects
from hone.trajectory import parts
from hone.trajectory.plan import StepPlan
from services.learner.driver.decisions import CollectionVersion
from services.learner.driver.groups import CHAT
from services.learner.driver.reporting import Event

MOST_OF_STEP = 1024
"""Items that one step adds to a collection. Later ones are left out, and an event says how many."""
Calls = Sequence[Mapping[str, Any]]
"""The notes of a sample's calls, in order."""


def offered(plan: StepPlan, spec: RunSpec, objects: Objects) -> list[CollectionVersion]:
    """Return the versions that come with a step; none where no harness of the spec names a collection."""
    names = named(spec)
    return versions(plan.n, names, _samples(plan, objects)) if names else []


def named(spec: RunSpec) -> list[str]:
    """Return the collections of all harnesses of a spec, in order of their names."""
    harnesses = {(one.spec.harness or CHAT).name for one in sources.of(spec)}
    return sorted(frozenset[str]().union(*(collections(HARNESSES.get(name)) for name in harnesses)))


def versions(step: int, names: Iterable[str], samples: Sequence[Calls]) -> list[CollectionVersion]:
    """Return a version of each collection to which these samples, in order, offered something."""
    made = [offer for calls in samples for notes in calls for offer in notes.get(NOTE, ())]
    return [_version(step, name, own) for name in names
            if (own := [offer["item"] for offer in made if offer["collection"] == name])]


def _version(step: int, name: str, items: Sequence[Mapping[str, Any]]) -> CollectionVersion:
    kept = items[:MOST_OF_STEP]
    metrics = {f"collection/{name}/items": float(len(kept))}
    lost = len(items) - len(kept)
    event = Event("offers", f"{len(items)} items were offered to {name}: found more than {MOST_OF_STEP} in a step, and "
                  f"the last {lost} are left out", {"collection": name, "left_out": lost}) if lost else None
    return CollectionVersion(name, step, kept, {}, metrics, event)


def _samples(plan: StepPlan, objects: Objects) -> list[Calls]:
    stored = {key: parts.notes(objects.get(key)) for key in sorted({key for one in plan.groups for key in one.parts})}
    return [stored[key][group.group_id, index]
            for group in sorted(plan.groups, key=lambda one: one.request_no)
            for index, reward in enumerate(group.rewards) if reward is not None
            for key in group.parts if (group.group_id, index) in stored[key]]
