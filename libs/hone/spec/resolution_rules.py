"""Names a spec uses and combinations it makes: each rule looks at a typed spec and says what cannot be."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hone.algorithms import presets
from hone.algorithms.slots import FROM_ROWS, SLOTS, SlotError, needs
from hone.environments import ENVIRONMENTS, trial
from hone.environments.contract import WrongParams
from hone.graders import specs
from hone.harnesses import HARNESSES
from hone.spec import batches, role_rules, verification_rules
from hone.spec.problems import Invalid, Problem, found, from_validation, one_of
from hone.spec.run import RunSpec, Slot, TaskSource

Slots = dict[str, Any]

_NEED_PEERS = {"grpo", "dr_grpo", "reinforce_pp_baseline", "gdpo", "rdpo", "gigpo", "step_pooled"}
"""Advantages that compare a sample with the others of its group."""

_PARTS_READ = {"dual_track": ("exec", "fmt", "schema")}
"""Parts of a reward that an advantage reads by name."""


def check(spec: RunSpec) -> tuple[list[Problem], Slots]:
    """Return every problem of a typed spec, and its algorithm's slots when their names are right."""
    problems, slots = _algorithm(spec)
    problems += _schedule(spec)
    problems += batches.problems(spec)
    problems += [problem for at, source in _sources(spec) for problem in _source(source, at)]
    problems += _harness(spec.harness)
    problems += [problem for at, grader in _graders(spec) for problem in _grader(grader, at)]
    problems += role_rules.texts(spec)
    problems += [problem for rule in RULES for problem in rule(spec, slots)] if slots else []
    return problems, slots


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
        return [Problem(f"{at}.name", found(name), one_of(name, methods))]
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
        return [Problem("optimizer.schedule", found(name), one_of(name, methods))]
    return _validated(methods[name], spec.optimizer.schedule_params, "optimizer.schedule_params", strict=False)


def _harness(harness: Slot | None) -> list[Problem]:
    if harness is None:
        return []
    if harness.name not in HARNESSES:
        return [Problem("harness.name", found(harness.name), one_of(harness.name, HARNESSES))]
    return _validated(HARNESSES[harness.name].params, harness.params, "harness.params")


def filled_harness(spec: RunSpec) -> Slot:
    """Return a checked spec's harness, or else its environment's own, with every parameter written out."""
    own = Slot(name=ENVIRONMENTS[spec.task.kind].harness)
    harness = spec.harness or own
    params = HARNESSES[harness.name].params.model_validate(harness.params)
    return harness.model_copy(update={"params": params.model_dump(mode="json")})


def filled(source: TaskSource) -> TaskSource:
    """Return a checked source with every parameter of its environment written out."""
    model = ENVIRONMENTS[source.kind].params
    return source.model_copy(update={"params": model.model_validate(source.params).model_dump(mode="json")})


def _sources(spec: RunSpec) -> Iterator[tuple[str, TaskSource]]:
    yield "task", spec.task
    if spec.eval is not None and spec.eval.source is not None:
        yield "eval.source", spec.eval.source


def _source(source: TaskSource, at: str) -> list[Problem]:
    name = source.kind
    if source.environment == "dataset":
        return [Problem(f"{at}.environment", found("dataset"), f"the name of an uploaded dataset in {at}.dataset")]
    if name not in ENVIRONMENTS:
        return [Problem(f"{at}.environment", found(name), one_of(name, set(ENVIRONMENTS) - {"dataset"}))]
    environment = ENVIRONMENTS[name]
    if source.dataset is not None and environment.columns is None:
        return [Problem(f"{at}.dataset", found(source.dataset), f"none: environment {name} makes its own tasks")]
    problems = _validated(environment.params, source.params, f"{at}.params")
    if problems or source.dataset is not None:
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
    """Yield the run's own grader and those of its datasets; one that is no object is its source's problem."""
    if spec.grader is not None:
        yield "grader", spec.grader
    for at, source in _sources(spec):
        if source.dataset is not None and isinstance(source.params.get("grader"), dict):
            yield f"{at}.params.grader", source.params["grader"]


def _grader(grader: Mapping[str, Any], at: str) -> list[Problem]:
    try:
        specs.checked(grader, at)
    except Invalid as wrong:
        return wrong.problems
    return []


def _peers(spec: RunSpec, slots: Slots) -> list[Problem]:
    name = slots["advantage"]["name"]
    if spec.batch.samples > 1 or name not in _NEED_PEERS:
        return []
    return [Problem("batch.samples", str(spec.batch.samples),
                    f"at least 2, because advantage {name} compares the samples of a group")]


def _bounds(spec: RunSpec, slots: Slots) -> list[Problem]:
    allocation = slots["allocation"]["params"]
    low, high = allocation.get("n_min", 1), allocation.get("n_max", spec.batch.samples)
    if low <= spec.batch.samples <= high:
        return []
    return [Problem("batch.samples", str(spec.batch.samples), f"between {low} and {high}, the rollouts that allocation "
                    f"{slots['allocation']['name']} may give a prompt")]


def _parts(spec: RunSpec, slots: Slots) -> list[Problem]:
    name, grader = slots["advantage"]["name"], spec.grader or {}
    if "components" not in needs(slots, "advantage") or _grader(grader or {"type": "exact"}, "grader"):
        return []
    if grader.get("type") != "weighted":
        return [Problem("grader", found(spec.grader), f"a grader of type weighted, because advantage {name} reads the "
                        "parts of a reward")]
    wanted = _PARTS_READ.get(name, ())
    if set(wanted) <= grader["parts"].keys():
        return []
    return [Problem("grader.parts", ", ".join(sorted(grader["parts"])), f"parts named {', '.join(wanted)} among them, "
                    f"because advantage {name} reads these")]


def _spans(spec: RunSpec, slots: Slots) -> list[Problem]:
    if "spans" not in needs(slots, "advantage") or _harness(spec.harness):
        return []
    advantage, given = slots["advantage"], spec.harness.params.get("spans", []) if spec.harness else []
    names, wanted = sorted({marks["name"] for marks in given}), advantage["params"]["span"]
    if wanted in names:
        return []
    return [Problem("harness.params.spans", ", ".join(names) or found(None),
                    f"a span named {wanted}, because advantage {advantage['name']} reads it")]


def _turn_rules(spec: RunSpec, slots: Slots) -> list[Problem]:
    readers = [slot for slot in ("advantage", "modulation") if "rules" in needs(slots, slot)]
    if not readers or _source(spec.task, "task"):
        return []
    reader, environment = slots[readers[0]], ENVIRONMENTS[spec.task.kind]
    rules = environment.rules(environment.params.model_validate(spec.task.params))
    if rules:
        unknown = {rule: weight for rule, weight in reader["params"].get("rule_weights", {}).items()
                   if rule not in rules}
        return [Problem(f"algorithm.advantage.params.rule_weights.{rule}", found(weight),
                        f"weights of the rules that grade turns here: {', '.join(rules)}")
                for rule, weight in unknown.items()]
    why = f"grades turns, because {readers[0]} {reader['name']} reads what rules gave them"
    if "rules" in environment.params.model_fields:
        return [Problem("task.params.rules", "nothing", f"a rule that {why}")]
    return [Problem("task.environment", found(spec.task.kind), f"one that {why}")]


def _spread(spec: RunSpec, slots: Slots) -> list[Problem]:
    if spec.batch.samples > 1 or slots["filter"]["name"] == "none":
        return []
    return [Problem("algorithm.filter", f"{slots['filter']['name']} with batch.samples 1",
                    "batch.samples of at least 2: one sample never varies")]


def _completions(spec: RunSpec, slots: Slots) -> list[Problem]:
    if slots["builder"]["name"] not in FROM_ROWS:
        return []
    problems = []
    if spec.task.dataset is None:
        problems.append(Problem("task.dataset", "nothing", "a dataset with completions, because the run is supervised"))
    if spec.batch.samples != 1:
        problems.append(Problem("batch.samples", str(spec.batch.samples), "1, because the run is supervised"))
    if spec.grader is not None and spec.eval is None:
        problems.append(Problem("grader", found(spec.grader), "none: the run is supervised and evaluates nothing"))
    if spec.eval is not None and spec.eval.source is None:
        problems.append(Problem("eval.source", "nothing", "where held-out tasks come from, because the training "
                                "rows have completions and no answers; or eval: null"))
    return problems


RULES: tuple[Callable[[RunSpec, Slots], list[Problem]], ...] = (
    _peers, _bounds, batches.alone, _parts, _spans, _turn_rules, _spread, _completions, role_rules.teacher,
    role_rules.likeliest, role_rules.temperature, role_rules.asked, role_rules.critic, role_rules.updates,
    verification_rules.pace, verification_rules.size, verification_rules.question, verification_rules.reading)
"""Every rule about what goes together."""
