"""Algorithms by name: fillings of all slots. Torch-free: the driver resolves, the trainer applies."""

from collections.abc import Mapping
from typing import Any

from hone.algorithms.slots import SlotError, fill
from hone.spec.run import AlgorithmSpec, Slot

Filling = Mapping[str, Any]
"""Slot -> method name, or (name, params); regularizers: a list of (name, params). A slot left out is the base's."""

_BASE: Filling = {
    "builder": "rollouts", "allocation": "uniform", "filter": "none", "reward": "none", "advantage": "grpo",
    "modulation": "none", "correction": "tis", "loss": "ppo_clip", "aggregation": "token-mean", "regularizers": [],
}

PRESETS: Mapping[str, Filling] = {
    "grpo": {"aggregation": "seq-mean-token-mean"},
    "dr_grpo": {"advantage": "dr_grpo", "aggregation": "seq-mean-token-sum-norm"},
    "rloo": {"advantage": "rloo", "loss": "reinforce", "aggregation": "seq-mean-token-sum"},
    "reinforce_pp": {"advantage": "reinforce_pp"},
    "reinforce_pp_baseline": {"advantage": "reinforce_pp_baseline"},
    "dapo": {"filter": "dynamic_sampling", "reward": "overlong", "loss": "clip_higher"},
    "sft": {"builder": "dataset", "advantage": "none", "correction": "none", "loss": "mle"},
}
"""Every preset by name; what it does not say is the base filling."""

_DATASET_ONLY = {"filter": "none", "reward": "none", "advantage": "none", "correction": "none", "regularizers": []}


def resolve(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return every slot as plain JSON, {name, params with defaults}; regularizers is a list of those.

    Slots given in the spec replace the preset's. Raises SlotError with the field's name when a preset, method or
    parameter is unknown, or when slots do not fit together.
    """
    if spec.preset not in PRESETS:
        raise SlotError("algorithm.preset", spec.preset, f"one of {', '.join(PRESETS)}")
    resolved: dict[str, Any] = {}
    for slot, default in {**_BASE, **PRESETS[spec.preset]}.items():
        chosen = getattr(spec, slot)
        resolved[slot] = _filled(slot, default if chosen is None else chosen)
    _refuse_misfits(resolved)
    return {**resolved, "skip_zero_advantage": spec.skip_zero_advantage}


def _filled(slot: str, filling: Any) -> Any:
    if isinstance(filling, list):
        return [fill(slot, *_pair(each), f"algorithm.{slot}.{place}") for place, each in enumerate(filling)]
    return fill(slot, *_pair(filling), f"algorithm.{slot}")


def _pair(filling: str | Slot) -> tuple[str, dict[str, Any]]:
    return (filling, {}) if isinstance(filling, str) else (filling.name, filling.params)


def _refuse_misfits(resolved: Mapping[str, Any]) -> None:
    advantage = resolved["advantage"]["name"]
    if resolved["loss"]["name"] == "mle" and advantage != "none":
        raise SlotError("algorithm.advantage", advantage, "'none', because loss 'mle' reads no advantage")
    if resolved["builder"]["name"] == "rollouts":
        return
    for slot, wanted in _DATASET_ONLY.items():
        found = resolved[slot] if slot == "regularizers" else resolved[slot]["name"]
        if found != wanted:
            raise SlotError(f"algorithm.{slot}", found, f"{wanted!r}, because builder 'dataset' has no rollouts")
