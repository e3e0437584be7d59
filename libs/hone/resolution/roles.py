"""The models beside the policy: teacher, critic, models of asked roles, and the policy with privileged texts.

A spec may name a model only where a method or an environment of the run uses it, and must where one needs it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hone.algorithms import presets
from hone.algorithms.slots import READERS, fillings, needs
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.noise.written import NOISER
from hone.graders import templates
from hone.graders.variables import Variable
from hone.resolution import sources
from hone.spec.problems import Problem, found, one_of
from hone.spec.run import RunSpec, TaskSource

Slots = Mapping[str, Any]

def reader(slots: Slots, *words: str) -> str:
    """Return slot and name of the first method of a resolved algorithm that needs one of the words; "" if none does."""
    return next((method for method, read in _readings(slots) if read & set(words)), "")


def _readings(slots: Slots) -> Iterator[tuple[str, frozenset[str]]]:
    for slot in READERS:
        several = slot == "regularizers"
        for filling in fillings(slots, slot):
            read = needs({slot: [filling] if several else filling}, slot)
            yield f"{'regularizer' if several else slot} {filling['name']}", read


def teacher(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A method that reads a teacher's log-probabilities gets them from one source: a teacher, or privileged texts."""
    model, texts = spec.roles.teacher, spec.contexts.privileged
    by = reader(slots, "logp_teacher", "support")
    if not by:
        named = [("roles.teacher", model.model)] if model else []
        named += [("contexts.privileged", f"texts: {len(texts)}")] if texts else []
        return [Problem(at, what, "none, because no method of the run reads it") for at, what in named]
    if model is None and not texts:
        return [Problem("roles.teacher", "nothing", f"a teacher, or contexts.privileged, because {by} reads "
                        "its log-probabilities")]
    if model is not None and texts:
        return [Problem("contexts.privileged", f"texts: {len(texts)}, as well as roles.teacher", "only roles.teacher "
                        "or "
                        f"only contexts.privileged, because {by} reads a single teacher")]
    return []


def likeliest(spec: RunSpec, slots: Slots) -> list[Problem]:
    """The teacher's likeliest ids are kept exactly where a method reads them."""
    by, given = reader(slots, "support"), spec.roles.teacher
    problems = []
    for at, top_k, speaks in (("roles.teacher.top_k", given.top_k if given else 0, given is not None),
                              ("contexts.top_k", spec.contexts.top_k, bool(spec.contexts.privileged))):
        if by and speaks and not top_k:
            problems.append(Problem(at, "0", f"at least 1, because {by} reads the likeliest ids"))
        if top_k and not (by and speaks):
            problems.append(Problem(at, str(top_k), "0, because no method of the run reads the likeliest ids"))
    return problems


def temperature(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """A teacher scores at temperature 1, and both sides of a log-ratio need the same temperature."""
    if spec.roles.teacher is None or spec.sampling.temperature == 1:
        return []
    return [Problem("sampling.temperature", str(spec.sampling.temperature), "1, because a teacher is asked at 1")]


def asked(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """Each role that the spec names a model for is asked by an environment of the run."""
    known = askable(spec)
    if any(kind not in ENVIRONMENTS for kind in _played(spec)):  # a problem of the source, reported there
        return []
    return [*_unnamed(spec), *(Problem(f"roles.asked.{role}", found(one.named), unasked(role, known))
                               for role, one in spec.roles.asked.items() if role not in known)]


def _unnamed(spec: RunSpec) -> Iterator[Problem]:
    """A policy writes no noise for itself: where a model writes it, the spec names that one."""
    if (at := _written(spec)) and NOISER not in spec.roles.asked:
        yield Problem(f"roles.asked.{NOISER}", "nothing", f"a model or an endpoint, because {at} is model")


def askable(spec: RunSpec) -> frozenset[str]:
    """Return the roles that the spec's environments, and their noise, may ask and that a spec may name a model for."""
    asks = [ENVIRONMENTS[kind].asked_roles for kind in _played(spec) if kind in ENVIRONMENTS]
    return frozenset({NOISER} if _written(spec) else ()).union(*asks) - {"policy", "teacher"}


def _written(spec: RunSpec) -> str:
    """Return the field by which a model writes noise in the run; empty: none does."""
    trained = [] if presets.supervised(spec.algorithm) else sources.of(spec)
    alone = [one for one in sources.held_out(spec) if one.held_out_alone]
    if spec.eval is not None and spec.eval.noise is not None and spec.eval.noise.written:
        return "eval.noise.writer"
    noises = (one.spec.task.noise for one in [*trained, *alone])
    return "task.noise.writer" if any(noise is not None and noise.written for noise in noises) else ""


def unasked(role: str, known: frozenset[str]) -> str:
    """Return the expectation for a role that no environment asks: the roles that they do ask, `known`."""
    return f"a role that the run's environments ask: {one_of(role, known)}" if known else (
        "none, because the run's environments ask nobody")


def _played(spec: RunSpec) -> set[str]:
    """Return the names of the environments whose episodes the run plays, for training and evaluation."""
    trained = [] if presets.supervised(spec.algorithm) else sources.of(spec)
    held_out = [one for one in sources.held_out(spec) if one.held_out_alone]
    return {one.spec.task.kind for one in [*trained, *held_out]}


def critic(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A critic is named only where a method reads its values."""
    if spec.critic is None or reader(slots, "values"):
        return []
    return [Problem("critic", "a critic", "none, because no method of the run reads values")]


def texts(spec: RunSpec) -> list[Problem]:
    """Return the problems of variables in privileged texts. Each names a field of the task's item that is known."""
    problems, fields = [], _fields(spec.task) if spec.contexts.privileged else None
    for place, one in enumerate(spec.contexts.privileged):
        at = f"contexts.privileged[{place}].text"
        try:
            variables = dict.fromkeys(templates.variables(one.text))
        except ValueError as error:
            problems.append(Problem(at, found(one.text), str(error)))
        else:
            problems += [problem for variable in variables for problem in _variable(variable, fields, at)]
    return problems


def _variable(variable: Variable, fields: set[str] | None, at: str) -> list[Problem]:
    if variable.root != "item":
        return [Problem(at, found(str(variable)),
                        "variables under item: the text is put in before anything is sampled")]
    if fields is None or variable.path[0] in fields:
        return []
    return [Problem(at, found(str(variable)), one_of(str(variable), (f"item.{name}" for name in fields)))]


def _fields(source: TaskSource) -> set[str] | None:
    """Return the fields of the items that an environment makes itself; None where they cannot be known here."""
    environment = ENVIRONMENTS.get(source.kind)
    if source.dataset is not None or environment is None or environment.foreign:
        return None
    try:
        first = environment.episode(environment.params.model_validate(source.params), 0, None)
    except ValueError:  # a problem of the source, reported there
        return None
    return set(first.reset().item)
