"""Algorithms by name: fillings of all slots. Torch-free: the driver resolves, the trainer applies."""

from collections.abc import Mapping, Sequence
from typing import Any

from hone.algorithms.slots import SlotError, fill, needs
from hone.spec.run import AlgorithmSpec, Slot

Filling = Mapping[str, Any]
"""Slot -> method name, or (name, params); regularizers: a list of (name, params). A slot left out is the base's."""

BASE: Filling = {
    "builder": "rollouts", "allocation": "uniform", "filter": "none", "reward": "none", "advantage": "grpo",
    "modulation": "none", "correction": "tis", "loss": "ppo_clip", "aggregation": "token-mean", "regularizers": [],
}
"""What fills a slot that neither preset nor spec says."""

PRESETS: Mapping[str, Filling] = {
    "grpo": {"aggregation": "seq-mean-token-mean"},
    "dr_grpo": {"advantage": "dr_grpo", "aggregation": "seq-mean-token-sum-norm"},
    "rloo": {"advantage": "rloo", "loss": "reinforce", "aggregation": "seq-mean-token-sum"},
    "reinforce_pp": {"advantage": "reinforce_pp"},
    "reinforce_pp_baseline": {"advantage": "reinforce_pp_baseline"},
    "dapo": {"filter": "dynamic_sampling", "reward": "overlong", "loss": "clip_higher"},
    "gspo": {"loss": "gspo", "aggregation": "seq-mean-token-mean"},
    "cispo": {"loss": "cispo"},
    "sapo": {"loss": "sapo", "aggregation": "seq-mean-token-mean"},
    "maspo": {"loss": "maspo"},
    "dynamo": {"modulation": "dynamo", "loss": ("dual_clip", {"high": 0.28, "floor": 10.0})},
    "gdpo": {"advantage": "gdpo"},
    "rdpo": {"advantage": "rdpo", "aggregation": "seq-mean-token-mean"},
    "gigpo": {"advantage": "gigpo", "regularizers": [("kl", {"coefficient": 0.01})]},
    "hian": {"advantage": ("hian", {"w_turn_schedule": "linear"}), "regularizers": [("kl", {"coefficient": 0.001})]},
    "hipif": {"advantage": "step_pooled", "regularizers": [("kl", {"coefficient": 0.01})]},
    "pgpo": {"filter": "length_band", "advantage": ("grpo", {"std_ddof": 0}), "loss": "clip_higher"},
    "ppo": {"advantage": "gae"},
    "trust_sql": {"advantage": "dual_track", "loss": "clip_higher", "aggregation": "seq-mean-token-mean"},
    "skill1": {"advantage": "skill1", "regularizers": [("kl", {"coefficient": 0.01})]},
    "memocr": {"advantage": "memocr", "regularizers": [("kl", {"coefficient": 0.001})]},
    "heavyskill": {"advantage": "heavyskill"},
    "opd": {"advantage": "opd"},
    "aopd": {"advantage": "aopd", "regularizers": [("local_divergence", {})]},
    "scope": {"advantage": "scope"},
    "sdar": {"regularizers": [("kl", {"coefficient": 0.01}), ("sdar", {})]},
    "rlsd": {"modulation": "rlsd"},
    "self_verify": {"builder": "self_verify", "loss": ("dual_clip", {"low": 0.2, "high": 0.28, "floor": 10.0})},
    "dpo": {"builder": "pairs", "advantage": "dpo", "correction": "none", "loss": "reinforce",
            "aggregation": "seq-mean-token-sum"},
    "sft": {"builder": "dataset", "advantage": "none", "correction": "none", "loss": "mle"},
    "internalization": {"builder": "dataset", "advantage": "none", "correction": "none", "loss": "mle",
                        "regularizers": [("kl", {"coefficient": 0.01})]},
}
"""Every preset by name; what it does not say is the base filling."""

_MISSING: Mapping[str, str] = {
    "kinds": "a harness whose calls are of its kinds",
}
"""What a method may need and no run has yet: by the names that `Params.needs` uses."""

_ASKED: Mapping[str, str] = {
    "logp_teacher": "roles.teacher or contexts.privileged",
    "support": "its top_k",
    "components": "a grader of type weighted",
    "rules": "an environment that grades turns by rules",
    "spans": "a harness that names spans",
}
"""What a method may need and a spec has to give."""

_UNFINISHED: Mapping[str, str] = {
    "hipif": "a harness that folds finished subgoals, and its penalties",
    "pgpo": "a critic of the reasoning, whose score gates the reward",
}
"""Presets of which only the slots exist: what of the method a run does not have yet."""

EXCLUDED: Sequence[tuple[str, str, str, str, str]] = (
    ("loss", "mle", "modulation", "dynamo", "which changes advantages that mle does not read"),
    ("loss", "mle", "modulation", "step_credit", "which changes advantages that mle does not read"),
    ("loss", "mle", "modulation", "sdar", "which changes advantages that mle does not read"),
    ("loss", "mle", "modulation", "rlsd", "which changes advantages that mle does not read"),
    ("advantage", "gdpo", "reward", "overlong", "which shapes the sum; gdpo reads the parts of a reward"),
    ("advantage", "rdpo", "reward", "overlong", "which shapes the sum; rdpo reads the parts of a reward"),
    ("advantage", "heavyskill", "reward", "overlong", "which shapes one reward a trajectory, of several"),
    ("advantage", "memocr", "reward", "overlong", "which shapes one reward a trajectory, of several"),
    ("advantage", "heavyskill", "filter", "dynamic_sampling", "which looks at one reward a trajectory, of several"),
    ("advantage", "memocr", "filter", "dynamic_sampling", "which looks at one reward a trajectory, of several"),
    ("modulation", "sdar", "regularizers", "sdar", "which is the same term once more"),
)
"""Pairs that exclude each other: slot, method, other slot, its method, why."""

_NO_ROLLOUTS = {"filter": "none", "reward": "none", "correction": "none"}
_OF_ROWS: Mapping[str, Mapping[str, Any]] = {
    "dataset": {**_NO_ROLLOUTS, "advantage": "none"},
    "pairs": {**_NO_ROLLOUTS, "advantage": "dpo", "modulation": "none", "loss": "reinforce"},
}
"""What builders without rollouts leave no choice of."""


def resolve(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return every slot as plain JSON, {name, params with defaults}; regularizers is a list of those.

    Slots given in the spec replace the preset's. Raises SlotError with the field's name when a preset, method or
    parameter is unknown, or when slots do not fit together.
    """
    if spec.preset not in PRESETS:
        raise SlotError("algorithm.preset", spec.preset, f"one of {', '.join(PRESETS)}")
    if spec.preset in _UNFINISHED:
        raise SlotError("algorithm.preset", spec.preset, "a preset that runs, or its slots by name; needs: "
                        f"{_UNFINISHED[spec.preset]}, which no run has yet")
    resolved = filled(spec)
    _refuse_misfits(resolved)
    return {**resolved, "skip_zero_advantage": spec.skip_zero_advantage, "truncated": spec.truncated}


def filled(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return every slot of a known preset as plain JSON, whether or not a run can have what its methods need."""
    fillings = {slot: getattr(spec, slot) for slot in BASE}
    defaults = {**BASE, **PRESETS[spec.preset]}
    return {slot: _filled(slot, defaults[slot] if chosen is None else chosen) for slot, chosen in fillings.items()}


def _filled(slot: str, filling: Any) -> Any:
    if isinstance(filling, list):
        return [fill(slot, *_pair(each), f"algorithm.{slot}.{place}") for place, each in enumerate(filling)]
    return fill(slot, *_pair(filling), f"algorithm.{slot}")


def _pair(filling: str | tuple[str, dict[str, Any]] | Slot) -> tuple[str, dict[str, Any]]:
    if isinstance(filling, str):
        return filling, {}
    return filling if isinstance(filling, tuple) else (filling.name, filling.params)


def _refuse_misfits(resolved: Mapping[str, Any]) -> None:
    advantage = resolved["advantage"]["name"]
    if resolved["loss"]["name"] == "mle" and advantage != "none":
        raise SlotError("algorithm.advantage", advantage, "'none', because loss 'mle' reads no advantage")
    _refuse_excluded(resolved)
    _refuse_unmet(resolved)
    builder = resolved["builder"]["name"]
    if advantage == "dpo" and builder != "pairs":
        raise SlotError("algorithm.advantage", "dpo", "builder 'pairs' with it: it compares two given completions")
    for slot, wanted in _OF_ROWS.get(builder, {}).items():
        found = resolved[slot]["name"]
        if found != wanted:
            raise SlotError(f"algorithm.{slot}", found, f"{wanted!r}, because builder {builder!r} has no rollouts")
    if builder in _OF_ROWS and needs(resolved, "regularizers") & {"logp_teacher", "support"}:
        raise SlotError("algorithm.regularizers", ", ".join(_names(resolved, "regularizers")),
                        f"none that reads a teacher, because builder {builder!r} has no rollouts to be judged")


def _refuse_excluded(resolved: Mapping[str, Any]) -> None:
    for slot, method, other, excluded, why in EXCLUDED:
        if method in _names(resolved, slot) and excluded in _names(resolved, other):
            raise SlotError(f"algorithm.{other}", excluded, f"another method beside {slot} {method!r}, {why}")


def _refuse_unmet(resolved: Mapping[str, Any]) -> None:
    """Refuse a method that reads what no run has yet."""
    for slot in ("advantage", "modulation", "correction", "loss", "regularizers"):
        for word in sorted(needs(resolved, slot) & _MISSING.keys()):
            raise SlotError(f"algorithm.{slot}", ", ".join(_names(resolved, slot)),
                            f"a method that runs; needs: {_MISSING[word]}, which no run has yet")


def _names(resolved: Mapping[str, Any], slot: str) -> list[str]:
    fillings = resolved[slot] if slot == "regularizers" else [resolved[slot]]
    return [filling["name"] for filling in fillings]


def asked(preset: str) -> list[str]:
    """Return what a spec with this preset has to give besides its task."""
    resolved = filled(AlgorithmSpec(preset=preset))
    slots = ("advantage", "modulation", "correction", "loss", "regularizers")
    words = frozenset[str]().union(*(needs(resolved, slot) for slot in slots))
    rows = ["a dataset with chosen and rejected"] if resolved["builder"]["name"] == "pairs" else []
    return rows + [given for word, given in _ASKED.items() if word in words]


def unmet(preset: str) -> str | None:
    """Return what a preset needs and no run has yet; None where it can be run."""
    try:
        resolve(AlgorithmSpec(preset=preset))
    except SlotError as error:
        return error.expected.partition("; ")[2]
    return None
