"""Problems of single fields: unknown names, and parameters that the named method, environment or grader refuses."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hone.algorithms import catalogue, presets
from hone.algorithms.slots import SLOTS, SlotError
from hone.catalogue.catalogue import Catalogue
from hone.environments import trial
from hone.environments.capabilities import HoldsGraders, PlaysElsewhere
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import WrongParams
from hone.graders import specs
from hone.harnesses.catalogue import HARNESSES
from hone.resolution import batches
from hone.spec.problems import Invalid, Problem, found, from_validation, one_of
from hone.spec.run import RunSpec, Slot, TaskSource

Slots = dict[str, Any]


def check(spec: RunSpec) -> tuple[list[Problem], Slots]:
    """Return the problems of a typed spec's fields, and its algorithm's slots; {} where the algorithm has a problem."""
    problems, slots = _algorithm(spec)
    problems += _schedule(spec)
    problems += batches.problems(spec)
    return problems + of_tasks(spec), slots


def of_tasks(spec: RunSpec) -> list[Problem]:
    """Return the problems of the task of a spec with one source, and of its harness and grader."""
    graded = [problem for at, grader in _graders(spec) for problem in of_grader(grader, at)]
    return [*of_source(spec.task, "task"), *of_harness(spec.harness), *graded]


def _algorithm(spec: RunSpec) -> tuple[list[Problem], Slots]:
    algorithm = spec.algorithm
    if algorithm.preset not in presets.PRESETS:
        names = one_of(algorithm.preset, presets.PRESETS)
        return [Problem("algorithm.preset", found(algorithm.preset), names)], {}
    given = {slot: getattr(algorithm, slot) for slot in SLOTS if getattr(algorithm, slot, None) is not None}
    problems = [problem for slot, filling in given.items() for problem in _fillings(slot, filling)]
    if problems:
        return problems, {}
    try:
        return [], presets.resolve(algorithm)
    except SlotError as error:
        return [Problem(error.field, found(error.found), error.expected)], {}


def _fillings(slot: str, filling: Slot | list[Slot]) -> list[Problem]:
    if isinstance(filling, Slot):
        return _filling(slot, filling.name, filling.params, f"algorithm.{slot}")
    placed = [(each, f"algorithm.{slot}[{place}]") for place, each in enumerate(filling)]
    return [problem for each, at in placed for problem in _filling(slot, each.name, each.params, at)]


def _filling(slot: str, name: str, params: Mapping[str, Any], at: str) -> list[Problem]:
    methods = SLOTS[slot]
    if name not in methods:
        return [Problem(f"{at}.name", found(name), _method(slot, name))]
    return _validated(methods[name], params, f"{at}.params")


def _validated(model: type[BaseModel], params: Mapping[str, Any], at: str, strict: bool = True) -> list[Problem]:
    try:
        model.model_validate(params, strict=strict)
    except ValidationError as error:
        return from_validation(error, model, at)
    return []


def _schedule(spec: RunSpec) -> list[Problem]:
    name, methods = spec.optimizer.schedule, SLOTS["schedule"]
    if name not in methods:
        return [Problem("optimizer.schedule", found(name), _method("schedule", name))]
    return _validated(methods[name], spec.optimizer.schedule_params, "optimizer.schedule_params", strict=False)


def of_harness(harness: Slot | None) -> list[Problem]:
    """Return the problems of a harness's name and parameters."""
    if harness is None:
        return []
    if harness.name not in HARNESSES:
        return [Problem("harness.name", found(harness.name), _usable(harness.name, HARNESSES))]
    return _validated(HARNESSES[harness.name].params, harness.params, "harness.params")


def _usable(name: str, known: Catalogue[Any, Any]) -> str:
    """Return the expectation for a name that a catalogue cannot give."""
    fault = known.fault(name)
    return f"another name: {fault}" if fault else one_of(name, set(known) - {"dataset"})


def _method(slot: str, name: str) -> str:
    """Return the expectation for a method that a slot does not know."""
    fault = catalogue.METHODS[slot].fault(name) if slot in catalogue.METHODS else ""
    return f"another name: {fault}" if fault else one_of(name, SLOTS[slot])


def of_source(source: TaskSource, at: str) -> list[Problem]:
    """Return the problems of a source of tasks, whose field is `at`; a first task is made where that needs no row."""
    name = source.kind
    if source.environment == "dataset":
        return [Problem(f"{at}.environment", found("dataset"), f"the name of an uploaded dataset in {at}.dataset")]
    if name not in ENVIRONMENTS:
        return [Problem(f"{at}.environment", found(name), _usable(name, ENVIRONMENTS))]
    environment = ENVIRONMENTS[name]
    if source.dataset is not None and environment.columns is None:
        return [Problem(f"{at}.dataset", found(source.dataset), f"none: environment {name} makes its own tasks")]
    problems = _validated(environment.params, source.params, f"{at}.params")
    if problems or source.dataset is not None or isinstance(environment, PlaysElsewhere):
        return problems
    try:
        if environment.foreign:
            trial.tried(name, source.params)
        else:
            environment.messages(environment.params.model_validate(source.params), 0, None)
    except WrongParams as error:
        return [Problem(f"{at}.{error.field}", found(error.found), error.expected)]
    return []


def _graders(spec: RunSpec) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the graders of the run, its dataset and its parameters. A grader that is no object is a problem there."""
    if spec.grader is not None:
        yield "grader", spec.grader
    if spec.task.dataset is not None and isinstance(spec.task.params.get("grader"), dict):
        yield "task.params.grader", spec.task.params["grader"]
    environment = ENVIRONMENTS.get(spec.task.kind)
    held: tuple[str, ...] = environment.param_graders if isinstance(environment, HoldsGraders) else ()
    for name in held:
        if isinstance(spec.task.params.get(name), dict):
            yield f"task.params.{name}", spec.task.params[name]


def of_grader(grader: Mapping[str, Any], at: str) -> list[Problem]:
    """Return the problems of a grader, whose field is `at`."""
    try:
        specs.checked(grader, at)
    except Invalid as wrong:
        return wrong.problems
    return []
