"""A complete spec to begin with, for every preset that runs: as an object, and as YAML that a person goes on with."""

from typing import Any

from hone.algorithms import presets
from hone.algorithms.slots import builder
from hone.environments.catalogue import ENVIRONMENTS, has
from hone.graders import specs
from hone.resolution.judges import own_grader
from hone.spec.files import as_text
from hone.spec.problems import Invalid, Problem, one_of
from hone.spec.run import AlgorithmSpec, TaskSource

Fields = dict[str, Any]

BASE, DATASET = "my-base", "my-rows"
"""Names that stand for a model and a dataset where none was named."""

_ENVIRONMENT = "sort_digits"
_ENVIRONMENTS: dict[str, tuple[str, Fields]] = {
    "gigpo": ("sort_turns", {}),
    **{preset: ("dialogue", {"domain": "sales", "rules": {"repetition": 1.0, "compliance": 1.0, "identity": 1.0}})
       for preset in ("hian", "duca")},
    "hipif": ("phase_lock", {}), "trust_sql": ("sql_exploration", {}), "pgpo": ("table_questions", {}),
    "selskill": ("skill_points", {}), "skill1": ("phase_lock", {}),
}
"""Preset -> environment whose tasks it can learn from, and parameters; a preset without one takes any."""

_EXACT: Fields = {"type": "exact", "reference": "{{ item.answer }}"}
_OF_ROWS: dict[str, Fields] = {"pgpo": {"type": "table_steps"}}
"""Preset -> grader of a dataset's rows, where it is another one than `exact`."""

_HINT = "The answer is {{ item.answer }}."
_ADDED: dict[str, Fields] = {
    **{preset: {"roles": {"teacher": {"model": BASE}}} for preset in ("opd", "scope")},
    "aopd": {"roles": {"teacher": {"model": BASE, "top_k": 8}}},
    **{preset: {"contexts": {"privileged": [{"text": _HINT}]}} for preset in ("sdar", "rlsd")},
    "hipif": {"harness": {"name": "folding"}},
    "heavyskill": {"harness": {"name": "heavy", "params": {"attempts": 4}}},
    "selskill": {"harness": {"name": "skills", "params": {"library": {"aid": ""}, "retrieve": 0.0}},
                 "grader": {"type": "skill_use"}},
    "skill1": {"harness": {"name": "library"}, "grader": {"type": "skill_credit", "penalty": 0.1}},
}
"""Preset -> fields that it needs besides its task and grader."""

_PARTS: dict[str, dict[str, str]] = {preset: {"right": "", "format": "</answer>"} for preset in ("gdpo", "rdpo")}
"""Preset -> parts of its weighted grader, each with the text that it looks for; the one without grades the answer."""


_CALLS: dict[str, Fields] = {"heavyskill": {"kinds": ["attempt", "deliberate"], "decide": ["deliberate"]}}
"""Preset -> which calls its grader grades, each by itself."""


def make(preset: str, base: str = "", dataset: str = "", environment: str = "") -> Fields:
    """Return a spec that is valid once its model and dataset exist.

    `dataset` or `environment` is the source of its tasks; without either it is one that the preset can learn from, and
    a given one is not checked. Raises Invalid for an unknown preset or environment, and for a preset that no run can
    have yet.
    """
    _refuse(preset, environment)
    head = {"name": f"{preset} run", "model": {"base": base or BASE}}
    if presets.supervised(AlgorithmSpec(preset=preset)):
        return {**head, "task": {"dataset": dataset or DATASET}, "algorithm": preset, "batch": {"prompts": 32},
                "optimizer": {"lr": 1e-5}, "steps": 100}
    return {**head, **_tasks(preset, dataset, environment), "algorithm": preset, **_ADDED.get(preset, {}),
            "batch": {"prompts": 32, "samples": 8}, "sampling": {"max_tokens": 256}, "optimizer": {"lr": 1e-5},
            "eval": {"prompts": 64, "every": 20}, "steps": 100}


def _refuse(preset: str, environment: str) -> None:
    if preset not in presets.PRESETS:
        raise Invalid([Problem("preset", preset, one_of(preset, presets.PRESETS))])
    if reason := presets.unmet(preset):
        raise Invalid([Problem("preset", preset, f"a preset that runs; {reason}")])
    if environment and environment not in ENVIRONMENTS:
        raise Invalid([Problem("environment", environment, one_of(environment, ENVIRONMENTS))])


def _tasks(preset: str, dataset: str, environment: str) -> Fields:
    """Return the fields task and grader."""
    fitting, params = _ENVIRONMENTS.get(preset, (_ENVIRONMENT, {}))
    if dataset and preset in _ENVIRONMENTS and ENVIRONMENTS.facts(fitting).columns:
        return {"task": {"environment": fitting, "dataset": dataset}}
    if dataset:
        return {"task": {"dataset": dataset}, "grader": _grader(preset, _OF_ROWS.get(preset, _EXACT))}
    chosen = environment or fitting
    given = {**ENVIRONMENTS.facts(chosen).example, **(params if chosen == fitting else {})}
    task: Fields = {"environment": chosen, **({"params": given} if given else {})}
    if has(chosen, "needs_rows"):
        task["dataset"] = DATASET
    if preset not in _PARTS and preset not in _CALLS:
        return {"task": task}
    own = own_grader(TaskSource.model_validate(task))
    return {"task": task, "grader": _grader(preset, _EXACT if specs.checked(own).grader.pooled else own)}


def _grader(preset: str, whole: Fields) -> Fields:
    """Return a grader of the kind that the preset reads; `whole` grades all of an answer."""
    if preset in _CALLS:
        return {"type": "each_call", "grader": whole, **_CALLS[preset]}
    if preset not in _PARTS:
        return whole
    return {"type": "weighted", "parts": {
        name: {"grader": _contains(text) if text else whole} for name, text in _PARTS[preset].items()}}


def _contains(text: str) -> Fields:
    return {"type": "string_check", "operation": "like", "input": "{{ sample.output_text }}", "reference": text}


def text(spec: Fields) -> str:
    """Return a spec of `make` as YAML, below what its preset does and needs."""
    preset = spec["algorithm"]
    slots, asked = presets.filled(AlgorithmSpec(preset=preset)), presets.asked(preset)
    made = ("steps from the rows of a dataset" if builder(slots).from_rows else
            "steps from pairs of rollouts" if builder(slots).makes_pairs else "steps from rollouts")
    head = [f"# {preset}: {made}; advantage {slots['advantage']['name']}, loss {slots['loss']['name']}.",
            *([f"# It needs {' and '.join(asked)}."] if asked else [])]
    return "\n".join([*head, as_text(spec)])
