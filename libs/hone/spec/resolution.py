"""From what a user wrote to the run spec that is run: every default filled in, or every problem at once. Torch-free."""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from hone.algorithms import presets
from hone.spec import batches, stage_rules, stages
from hone.spec.problems import Invalid, Problem, found, from_validation, unstorable
from hone.spec.resolution_rules import check, filled, filled_harness
from hone.spec.run import AlgorithmSpec, EvalSpec, LoraSpec, ModelSpec, RunSpec, StageSpec
from hone.spec.supervision import supervised

Raw = dict[str, Any]


def read(path: Path | str) -> Raw:
    """Return the object in a YAML or JSON file. Raises Invalid when there is none."""
    try:
        return parse(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise Invalid([Problem(str(path), error.strerror or "nothing", "a file that can be read")]) from None


def parse(text: bytes, name: str = "spec") -> Raw:
    """Return the object that YAML or JSON text holds; `name` is what problems call the text. Raises Invalid."""
    try:
        value = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid([Problem(name, " ".join(str(error).split()), "YAML or JSON")]) from None
    if not isinstance(value, dict):
        raise Invalid([Problem(name, found(value), "an object with the keys of a run spec")])
    return value


def resolve(raw: Raw) -> RunSpec:
    """Return the spec with every slot of its algorithm and every default written out.

    Resolving a resolved spec changes nothing. Raises Invalid with all problems: unknown keys, wrong types, unknown
    names, combinations that cannot train.
    """
    problems = unstorable(raw)
    if problems:
        raise Invalid(problems)
    spec = _typed(raw)
    problems, _ = check(stages.rest(spec))
    problems += stage_rules.problems(spec, problems)
    if problems:
        raise Invalid(problems)
    return spec.model_copy(update={**_filled(spec), "eval": _filled_eval(spec.eval), "model": _filled_model(spec.model),
                                   "critic": stage_rules.filled_critic(spec),
                                   "stages": [_filled_stage(spec, stage) for stage in spec.stages]})


def _filled(spec: RunSpec) -> Raw:
    """Return what a run and a stage of one have both, with every default written out."""
    slots = presets.resolve(spec.algorithm)
    return {"algorithm": AlgorithmSpec.model_validate({"preset": spec.algorithm.preset, **slots}),
            "task": filled(spec.task), "harness": filled_harness(spec), "batch": batches.filled(spec)}


def _filled_stage(spec: RunSpec, stage: StageSpec) -> StageSpec:
    held = stages.of(spec, stage)
    return stage.model_copy(update={**_filled(held), "grader": held.grader, "sampling": held.sampling,
                                    "lr": held.optimizer.lr, "name": stage.name or held.algorithm.preset})


def _filled_eval(evaluation: EvalSpec | None) -> EvalSpec | None:
    if evaluation is None or evaluation.source is None:
        return evaluation
    return evaluation.model_copy(update={"source": filled(evaluation.source)})


def _filled_model(model: ModelSpec) -> ModelSpec:
    return model.model_copy(update={"lora": model.lora or LoraSpec()}) if model.kind == "lora" else model


def _typed(raw: Raw) -> RunSpec:
    try:
        spec = RunSpec.model_validate(raw, strict=True)
    except ValidationError as error:
        raise Invalid(from_validation(error, RunSpec)) from None
    if not supervised(spec):
        return spec
    return _without_rollouts(spec, raw)


def _without_rollouts(spec: RunSpec, raw: Raw) -> RunSpec:
    """A supervised run samples nothing unless it says so: no evaluation, one row a prompt."""
    unsaid: Raw = {} if "eval" in raw else {"eval": None}
    if "samples" not in (raw.get("batch") or {}):
        unsaid["batch"] = spec.batch.model_copy(update={"samples": 1})
    return spec.model_copy(update=unsaid)


def as_json(spec: RunSpec) -> Raw:
    """Return a spec as plain JSON, keys in the order of their definition."""
    return spec.model_dump(mode="json")


def canonical(value: Any) -> str:
    """Return JSON that is equal for equal values; hashes are taken over it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class _Loader(yaml.SafeLoader):
    """Numbers as JSON and YAML 1.2 have them (2e-4 is one), and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                said = f"the key {key} twice" if key in seen else f"the key {key!r}, which is no text"
                raise yaml.constructor.ConstructorError(None, None, said, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789."))
