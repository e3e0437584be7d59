"""Problems of combinations: fields that are right by themselves and cannot go together."""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import cast

from hone.algorithms.allocation.dynamo import SuccessVarianceParams
from hone.algorithms.allocation.inputs import RolloutBounds
from hone.algorithms.slots import SLOTS, builder, method, needs
from hone.environments.catalogue import ENVIRONMENTS, has
from hone.graders import specs
from hone.harnesses.catalogue import HARNESSES, able
from hone.harnesses.contract import evaluates_only
from hone.resolution import graders, mixtures, names, noise, preferences, roles, sources, stop_texts
from hone.resolution.judges import own_grader
from hone.resolution.names import Slots
from hone.resolution.shape import Watched, covered
from hone.resolution.sources import Source
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, Slot

_IMITATED_STALENESS = 2
Rule = Callable[[RunSpec, Slots], list[Problem]]
_SELF_VERIFY = "because builder self_verify"


def check(spec: RunSpec, unread: Collection[str] = ()) -> tuple[list[Problem], Slots]:
    """Return every problem of a typed spec without its stages, and its algorithm's slots.

    The slots are {} where the algorithm itself has a problem; combinations are not checked then. `unread` are paths of
    fields whose values are not the user's: what reads one of them is not checked. Each source of tasks is checked as a
    task of its own.
    """
    problems, slots = list[Problem](), Slots()
    for source in sources.of(spec):
        found_there, slots = _of_source(source.spec, source.own_paths(unread))
        problems += _placed(source, found_there)
    for source in sources.held_out(spec):
        if source.held_out_alone:
            problems += _placed(source, _of_held_out(source.spec, source.own_paths(unread)))
    known = not covered("task.mixture", unread)
    between = [*mixtures.problems(spec, slots), *(mixtures.of_evaluation(spec) if known else ())]
    between = [*between, *noise.of_evaluation(spec)]
    problems += [problem for problem in between if not covered(problem.field, unread)]
    if slots and not covered("algorithm", unread):
        problems += _broken(roles.asked, spec, slots, unread)
    return list(dict.fromkeys(problems)), slots


def _placed(source: Source, problems: Iterable[Problem]) -> list[Problem]:
    return [replace(problem, field=source.path(problem.field)) for problem in problems]


def _of_held_out(spec: RunSpec, unread: Collection[str]) -> list[Problem]:
    """Return the problems of tasks that are for evaluation alone."""
    problems = names.of_tasks(spec)
    if not problems:
        problems += [problem for rule in (*graders.RULES, noise.problems, stop_texts.problems, _heard_results)
                     for problem in _broken(rule, spec, {}, unread)]
    return [problem for problem in problems if not covered(problem.field, unread)]


def _of_source(spec: RunSpec, unread: Collection[str]) -> tuple[list[Problem], Slots]:
    problems, slots = names.check(spec)
    problems = [problem for problem in problems + roles.texts(spec) if not covered(problem.field, unread)]
    if slots and not covered("algorithm", unread):
        problems += [problem for rule in RULES for problem in _broken(rule, spec, slots, unread)]
    return problems, slots


def _broken(rule: Rule, spec: RunSpec, slots: Slots, unread: Collection[str]) -> list[Problem]:
    """Return the problems that a rule finds; none if it reads a field whose value is not the user's."""
    watched = Watched(spec)
    problems = rule(cast(RunSpec, watched), slots)
    return [] if any(covered(field, unread) for field in watched.fields) else problems


def _peers(spec: RunSpec, slots: Slots) -> list[Problem]:
    advantage = slots["advantage"]
    mixes = advantage["params"].get("mix_outcome", False)
    if spec.batch.samples > 1 or not (method(slots, "advantage").needs_peers or mixes):
        return []
    return [Problem("batch.samples", str(spec.batch.samples),
                    f"at least 2, because advantage {advantage['name']} compares the samples of a group")]


def _rollouts(spec: RunSpec, slots: Slots) -> list[Problem]:
    """Refuse numbers of rollouts that an allocation cannot give or should not: estimated variances are noisy."""
    name, samples = slots["allocation"]["name"], spec.batch.samples
    params = SLOTS["allocation"][name].model_validate(slots["allocation"]["params"])
    if not isinstance(params, SuccessVarianceParams | RolloutBounds):
        return []
    low, high = params.bounds(samples)
    if not low <= samples <= high:
        return [Problem("batch.samples", str(samples),
                        f"between {low} and {high}, the rollouts that allocation {name} may give a prompt")]
    if isinstance(params, RolloutBounds):
        return [] if low > 1 or not method(slots, "advantage").needs_peers else [Problem(
            "algorithm.allocation.params.n_min", "1", f"at least 2, because advantage {slots['advantage']['name']} "
            "compares the samples of a group, and a single sample has no peer")]
    fewest = max(math.ceil(samples / 2), min(samples, 1 + method(slots, "advantage").needs_peers))
    if low >= fewest:
        return []
    return [Problem("algorithm.allocation.params.n_min", str(low), f"at least {fewest}, half of batch.samples: with "
                    "fewer, estimated variances are worse than equal shares, and a single sample has no peer")]


def _lone_baseline(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A single sample is compared with its prompt's earlier outcomes, which are not shaped."""
    advantage, reward = slots["advantage"]["name"], slots["reward"]["name"]
    if advantage != "rloo" or spec.batch.samples > 1 or reward == "none":
        return []
    return [Problem("algorithm.reward", found(reward), "none, because advantage rloo compares a single sample with "
                    "earlier outcomes, which no shaping changed; or batch.samples of at least 2")]


def _batch_schedule(spec: RunSpec, slots: Slots) -> list[Problem]:
    if spec.batch.schedule is None or not builder(slots).judges_answers:
        return []
    return [Problem("batch.schedule", found(spec.batch.schedule.name), "null, because the run judges its own answers, "
                    "which come as many as they are")]


def _parts(spec: RunSpec, slots: Slots) -> list[Problem]:
    name = slots["advantage"]["name"]
    if "components" not in needs(slots, "advantage") or names.of_source(spec.task, "task"):
        return []
    given = spec.grader or own_grader(spec.task)
    if names.of_grader(given, "grader"):
        return []
    grader, wanted = specs.checked(given), method(slots, "advantage").components
    if not grader.components:
        return [Problem("grader", found(spec.grader), f"a grader of named components, of type weighted for instance, "
                        f"because advantage {name} reads the parts of a reward")]
    if set(wanted) <= grader.components:
        return [Problem(f"grader.parts.{part}.grader.type", found(inside.params.type),
                        f"a grader with scores from 0 to 1, because advantage {name} reads 1 as a right result")
                for part in wanted if part == "exec" and (inside := grader.inner.get(f"parts.{part}.grader"))
                and inside.bounds != (0, 1)]
    field = "grader.parts" if grader.params.type == "weighted" else "grader"
    return [Problem(field, ", ".join(sorted(grader.components)), f"components named {', '.join(wanted)} among them, "
                    f"because advantage {name} reads these")]


def _spans(spec: RunSpec, slots: Slots) -> list[Problem]:
    if "spans" not in needs(slots, "advantage") or names.of_harness(spec.harness):
        return []
    advantage, harness = slots["advantage"], spec.harness or Slot(name=ENVIRONMENTS[spec.task.kind].harness)
    marked, given = HARNESSES[harness.name].params.marked, harness.params.get("spans", [])
    named, params = sorted(marked | {marks["name"] for marks in given}), advantage["params"]
    missing = [name for name in (params["span"], params["explore"]) if name is not None and name not in named]
    return [Problem("harness.params.spans", ", ".join(named) or found(None),
                    f"a span named {name}, because advantage {advantage['name']} reads it") for name in missing]


def _kinds(spec: RunSpec, slots: Slots) -> list[Problem]:
    wanted = method(slots, "advantage").kinds
    if not wanted or names.of_harness(spec.harness) or names.of_source(spec.task, "task"):
        return []
    harness = _harness(spec)
    fitting = able(wanted)
    if harness in fitting:
        return []
    return [Problem("harness.name", found(harness), f"{' or '.join(fitting)}, because advantage "
                    f"{slots['advantage']['name']} tells apart calls of the kinds {', '.join(wanted)}")]


def _harness(spec: RunSpec) -> str:
    return spec.harness.name if spec.harness else ENVIRONMENTS[spec.task.kind].harness


def _evaluating_harness(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """Refuse to train on a harness whose calls are of several tasks under one reward."""
    if spec.harness is None or names.of_harness(spec.harness) or not evaluates_only(HARNESSES[spec.harness.name]):
        return []
    return [Problem("harness.name", found(spec.harness.name),
                    "a harness that can be trained; this harness only evaluates, so name it in eval.sources")]


def _temperatures(spec: RunSpec, slots: Slots) -> list[Problem]:
    """The trainer scores all tokens of a step at one temperature. Calls of evaluations may have one of their own."""
    if builder(slots).from_rows or spec.harness is None or names.of_harness(spec.harness):
        return []
    params, ours = HARNESSES[spec.harness.name].params.model_validate(spec.harness.params), spec.sampling.temperature
    return [Problem(f"harness.params.{name}", f"{own:g}", f"null or sampling.temperature, {ours:g}, because a step is "
                    "trained at one temperature; a harness of eval.sources may have another")
            for name, own in params.temperatures.items() if own != ours]


def _turn_rules(spec: RunSpec, slots: Slots) -> list[Problem]:
    readers = [slot for slot in ("advantage", "modulation") if needs(slots, slot) & {"rules", "steps"}]
    if not readers or names.of_source(spec.task, "task"):
        return []
    reader, environment = slots[readers[0]], ENVIRONMENTS[spec.task.kind]
    rules = {*environment.rules(environment.params.model_validate(spec.task.params))}
    given = spec.grader or own_grader(spec.task)
    if names.of_grader(given, "grader"):
        return []
    grader = specs.checked(given)
    if "steps" in needs(slots, readers[0]) and grader.step_scores:
        return []
    rules |= grader.turn_scores
    if rules:
        unknown = {rule: weight for rule, weight in reader["params"].get("rule_weights", {}).items()
                   if rule not in rules}
        return [Problem(f"algorithm.advantage.params.rule_weights.{rule}", found(weight),
                        f"weights of the rules that grade turns here: {', '.join(sorted(rules))}")
                for rule, weight in unknown.items()]
    scored = ", or a grader of steps" if "steps" in needs(slots, readers[0]) else ""
    why = f"grades turns{scored}, because {readers[0]} {reader['name']} reads the scores of turns"
    if "rules" in environment.params.model_fields:
        return [Problem("task.params.rules", "nothing", f"a rule that {why}")]
    return [Problem("task.environment", found(spec.task.kind), f"an environment that {why}")]


def _spread(spec: RunSpec, slots: Slots) -> list[Problem]:
    if spec.batch.samples > 1 or slots["filter"]["name"] == "none":
        return []
    return [Problem("algorithm.filter", f"{slots['filter']['name']} with batch.samples 1",
                    "batch.samples of at least 2: one sample never varies")]


def _completions(spec: RunSpec, slots: Slots) -> list[Problem]:
    if not builder(slots).from_rows:
        return []
    problems = []
    if spec.task.dataset is None:
        problems.append(Problem("task.dataset", "nothing", "a dataset with completions, because the run is supervised"))
    if spec.batch.samples != 1:
        problems.append(Problem("batch.samples", str(spec.batch.samples), "1, because the run is supervised"))
    if spec.grader is not None and spec.eval is None:
        problems.append(Problem("grader", found(spec.grader), "null: the run is supervised and evaluates nothing"))
    if spec.eval is not None and spec.eval.source is None and spec.eval.sources is None:
        problems.append(Problem("eval.source", "nothing", "a source of held-out tasks, because the training "
                                "rows have completions and no answers; or eval: null"))
    if spec.eval is not None:
        problems += [Problem(f"eval.sources[{place}].name", found(one.name), "a source with an environment or a "
                             "dataset, because the training rows have completions and no answers")
                     for place, one in sources.references(spec.eval.sources)]
    return problems


def _updates(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A step's groups are cut into at most as many parts as there are groups; how many pairs there are, none knows."""
    batch = spec.batch
    if builder(slots).from_rows:
        given = (("minibatches", batch.minibatches), ("epochs", batch.epochs))
        return [Problem(f"batch.{name}", str(count), "1, because the run is supervised")
                for name, count in given if count != 1]
    if batch.minibatches <= batch.prompts or builder(slots).makes_pairs:
        return []
    return [Problem("batch.minibatches", str(batch.minibatches),
                    f"at most {batch.prompts} (batch.prompts): each part has at least one group")]


def _verified_pace(spec: RunSpec, slots: Slots) -> list[Problem]:
    """The task of a step has to be known before its groups are requested."""
    if not builder(slots).judges_answers or spec.max_staleness == 0:
        return []
    return [Problem("max_staleness", str(spec.max_staleness),
                    f"0, {_SELF_VERIFY} asks for verdicts only after the answers of the steps before are graded")]


def _imitated_states(spec: RunSpec, slots: Slots) -> list[Problem]:
    """Imitation has no importance weights, so that it learns from the states of older policies as they are."""
    if spec.max_staleness <= _IMITATED_STALENESS or method(slots, "advantage").imitated is None:
        return []
    return [Problem("max_staleness", str(spec.max_staleness), f"at most {_IMITATED_STALENESS}, because advantage "
                    f"{slots['advantage']['name']} imitates the teacher in the sampler's states, uncorrected")]


def _verified_size(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A batch of one prompt makes no item of each label."""
    if not builder(slots).judges_answers or spec.batch.prompts > 1:
        return []
    return [Problem("batch.prompts", str(spec.batch.prompts),
                    f"at least 2, {_SELF_VERIFY} makes floor(prompts / 2) items of each label")]


def _verified_question(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A judge reads a question and an answer to it, both as text."""
    name = spec.task.kind
    if not builder(slots).judges_answers or name not in ENVIRONMENTS:
        return []
    if has(name, "needs_rows") or not has(name, "asks"):
        return [Problem("task.environment", found(name),
                        f"an environment that asks a question and is answered once, {_SELF_VERIFY} shows a judge both "
                        "texts")]
    if spec.harness is not None and spec.harness.name != "chat":
        return [Problem("harness.name", found(spec.harness.name),
                        f"chat, {_SELF_VERIFY} reads answers and verdicts as text")]
    return []


def _verified_reward(spec: RunSpec, slots: Slots) -> list[Problem]:
    """A judgement has neither parts of a reward nor the fields of the task's items."""
    if not builder(slots).judges_answers:
        return []
    problems = []
    if "components" in needs(slots, "advantage"):
        name = slots["advantage"]["name"]
        problems.append(Problem("algorithm.advantage.name", found(name),
                                f"a method that does not read components of a reward, {_SELF_VERIFY} has verdicts "
                                "without components"))
    if spec.contexts.privileged:
        problems.append(Problem("contexts.privileged", f"{len(spec.contexts.privileged)} texts",
                                f"none, {_SELF_VERIFY} has judgements, and their items are not the task's"))
    return problems


def _heard_results(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """A memory that rewrites what to remember reads what the probes of a period showed."""
    harness = spec.harness
    if harness is None or names.of_harness(harness) or harness.params.get("memory") != "awi-evolve":
        return []
    if spec.task.kind != "changing_user" or spec.task.params.get("results", True):
        return []
    return [Problem("task.params.results", "false", "true, because the memory awi-evolve reads a period's results")]


RULES: tuple[Rule, ...] = (
    _peers, _rollouts, _lone_baseline, _batch_schedule, _parts, _spans, _kinds, *graders.RULES,
    _evaluating_harness, _temperatures, _turn_rules, _spread, _completions, _imitated_states, roles.teacher,
    roles.likeliest, roles.temperature, roles.critic, _updates, _verified_pace, _verified_size, _verified_question,
    _verified_reward, _heard_results, preferences.pace, preferences.outcomes, preferences.branches, noise.problems,
    stop_texts.problems)
"""Every rule about combinations with one source of tasks, in the order in which problems are reported."""
