"""Grader specifications: reads them from JSON, checks them and hashes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from pydantic import ValidationError

from hone.environments.hashing import canonical, digest
from hone.graders.catalogue import GRADERS
from hone.graders.contract import LONGEST_NAME, Bounds, Grader, GraderParams, Names, Needs, is_name
from hone.graders.sample import Reads
from hone.spec import strict_json
from hone.spec.problems import Invalid, Problem, found, from_validation, one_of, unstorable

STORED = "stored"
"""Type of JSON that names a grader. The gateway puts the grader in its place."""
DEEPEST = 3
"""Most graders inside each other, without the outermost."""
_NESTED = 100
"""Most levels of a grader's JSON, which may hold a JSON schema."""

NAMED_BY: Mapping[Needs, tuple[str, str]] = {
    Needs.JUDGE: ("model", "chat"), Needs.VERIFIER: ("server", "verify"), Needs.RATER: ("model", "pooling")}
"""The parameter of a grader that names whom it needs, and what that one has to speak."""


@dataclass(frozen=True)
class Spec:
    """A grader, its parameters and its inner graders by their paths. Every stored grade holds `hash`."""

    grader: Grader[Any]
    params: GraderParams
    json: str
    inner: Mapping[str, "Spec"] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        return digest(json.loads(self.json))

    @cached_property
    def all(self) -> "tuple[Spec, ...]":
        """The grader and its inner ones."""
        return (self, *(each for inner in self.inner.values() for each in inner.all))

    @cached_property
    def pooled(self) -> bool:
        """Whether it runs in a process that is killed when it hangs."""
        return any(one.grader.pooled for one in self.all)

    @cached_property
    def needs(self) -> frozenset[Needs]:
        """Resources that it waits for; without any it is a pure function."""
        return frozenset(need for one in self.all for need in one.grader.needs)

    @cached_property
    def judges(self) -> Mapping[str, str]:
        """The names of the judges and servers that it asks, in order, and what each has to speak."""
        return dict(sorted((str(getattr(one.params, field)), protocol) for one in self.all for field, protocol in (
            NAMED_BY[need] for need in one.grader.needs if need in NAMED_BY)))

    @cached_property
    def limit_s(self) -> float:
        """Seconds that a grade may take where it waits: for the slowest of its graders."""
        return max(one.grader.limit_s for one in self.all)

    @cached_property
    def reads(self) -> frozenset[Reads]:
        """Parts of a sample that it reads, beside the output."""
        return frozenset(read for one in self.all for read in one.grader.reads)

    @cached_property
    def components(self) -> Names:
        """The names of the components that it gives."""
        return self.grader.components(self.params, {path: inner.components for path, inner in self.inner.items()})

    @cached_property
    def turn_scores(self) -> Names:
        """The names of the scores that it gives single calls."""
        return self.grader.turn_scores(self.params, {path: inner.turn_scores for path, inner in self.inner.items()})

    @cached_property
    def step_scores(self) -> Names:
        """The names of the scores that it gives steps inside answers."""
        return self.grader.step_scores(self.params, {path: inner.step_scores for path, inner in self.inner.items()})

    @cached_property
    def bounds(self) -> Bounds:
        """The smallest and the largest score that it gives."""
        if self.grader.bounds is None:
            return self.grader.low, self.grader.high
        return self.grader.bounds(self.params, {path: inner.bounds for path, inner in self.inner.items()})


@lru_cache(maxsize=256)
def spec(text: str) -> Spec:
    """Return the specification in a JSON text. Raises Invalid with every problem of the object's fields."""
    try:
        given = strict_json.read(text)
    except ValueError as error:
        raise Invalid([Problem("grader", found(text), f"a JSON object ({error})")]) from error
    if not isinstance(given, dict):
        raise Invalid([Problem("grader", found(given), "a JSON object")])
    return checked(given)


def checked(given: Mapping[str, Any], at: str = "", depth: int = 0) -> Spec:
    """Return the specification in an object. Raises Invalid with every problem; `at` precedes their fields.

    `depth` is the number of graders that it is inside of.
    """
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in GRADERS:
        field = f"{at}.type" if at else "type"
        if kind == STORED:
            raise Invalid([Problem(field, found(kind), "the grader's own JSON: only a gateway knows stored names")])
        named = kind if isinstance(kind, str) else ""
        fault = GRADERS.fault(named)
        raise Invalid([Problem(field, found(kind), f"another name: {fault}" if fault else one_of(named, GRADERS))])
    grader = GRADERS[kind]
    try:
        params = grader.params.model_validate(given)
    except ValidationError as error:
        raise Invalid(from_validation(error, grader.params, at)) from error
    except UnicodeEncodeError:  # of a pattern that meets half of a surrogate pair
        raise Invalid(unstorable(dict(given), at, deepest=_NESTED)) from None
    given_inside = {} if grader.inner is None else grader.inner(params)
    inner = {path: _inner(inside, f"{at}.{path}" if at else path, depth + 1) for path, inside in given_inside.items()}
    if not depth and (problems := unstorable(dict(given), at, deepest=_NESTED)):
        raise Invalid(problems)
    made = Spec(grader, params, canonical(given), inner)
    if unnamed := sorted(name for name in made.components | made.turn_scores | made.step_scores if not is_name(name)):
        raise Invalid([Problem(at or "grader", f"a component of {len(unnamed[0])} characters: {found(unnamed[0])}",
                               f"names of components of 1 to {LONGEST_NAME} characters")])
    return made


def _inner(given: dict[str, Any], at: str, depth: int) -> Spec:
    kind = given.get("type")
    named = GRADERS.get(kind) if isinstance(kind, str) else None
    if depth > DEEPEST:
        raise Invalid([Problem(at, "a grader", f"at most {DEEPEST} graders inside each other")])
    if named is not None and Reads.GROUP in named.reads:
        raise Invalid([Problem(f"{at}.type", found(kind), "a grader of single samples")])
    return checked(given, at, depth)
