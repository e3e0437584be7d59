"""A resolved spec without what a default would fill in again: the spec as a person might have written it."""

from copy import deepcopy
from typing import Any

from hone.resolution import resolve
from hone.spec.files import as_json
from hone.spec.problems import Invalid

Fields = dict[str, Any]

_ALWAYS = ("name", "algorithm")
_MOST_STAGES = 16
"""More stages are left as they are: each field costs a resolution of them all."""


def brief(resolved: Fields) -> Fields:
    """Return the shortest spec found that resolves to the same.

    It is `resolved` itself if this release does not resolve it any more, and if it has more stages than 16.
    """
    if len(resolved.get("stages", ())) > _MOST_STAGES:
        return resolved
    try:
        target = as_json(resolve(resolved))
    except Invalid:
        return resolved
    spec = deepcopy(target)  # in the order of the fields' definition, which a stored spec has lost
    _name_preset(spec, target)
    _shorten(spec, spec, target)
    return spec


def _name_preset(spec: Fields, target: Fields) -> None:
    """Name the algorithm by its preset alone where that says everything, in the run and in each stage."""
    for owner in (spec, *spec.get("stages", [])):
        algorithm = owner.get("algorithm")
        if isinstance(algorithm, dict):
            owner["algorithm"] = algorithm.get("preset")
            if not _same(spec, target):
                owner["algorithm"] = algorithm


def _shorten(owner: Fields, spec: Fields, target: Fields) -> None:
    """Take every field out of `owner`, a part of `spec`, that can go; shorten those that cannot."""
    order = list(owner)
    for name in order:
        value = owner.pop(name)
        if not (owner is spec and name in _ALWAYS) and _same(spec, target):
            continue
        owner[name] = value
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                _shorten(inner, spec, target)
    left = [(name, owner.pop(name)) for name in order if name in owner]
    owner.update(left)


def _same(spec: Fields, target: Fields) -> bool:
    try:
        return as_json(resolve(spec)) == target
    except Invalid:
        return False
