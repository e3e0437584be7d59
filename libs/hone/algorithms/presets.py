"""Algorithms by name: each preset fills all slots. The driver resolves them without torch; the trainer applies them."""

from collections.abc import Mapping
from typing import Any

from hone.algorithms.slots import BUILDERS, READERS, SlotError, builder, fill, fillings, method, needs
from hone.catalogue.catalogue import Catalogue, Group
from hone.harnesses.catalogue import able
from hone.spec.run import AlgorithmSpec, Slot

Filling = Mapping[str, Any]
"""Slot -> method name, or (name, params); regularizers: a list of (name, params). A missing slot is as in BASE."""

BASE: Filling = {
    "builder": "rollouts", "allocation": "uniform", "sampler": "uniform", "filter": "none", "reward": "none",
    "advantage": "grpo", "modulation": "none", "correction": "tis", "loss": "ppo_clip", "aggregation": "token-mean",
    "regularizers": [],
}
"""The filling of each slot that neither preset nor spec names."""

_OWN: Mapping[str, Filling] = {
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
    "dynamo": {"allocation": "dynamo", "modulation": "dynamo", "loss": ("dual_clip", {"high": 0.28, "floor": 10.0})},
    "coba_rl": {"allocation": "coba_rl", "loss": "clip_higher"},
    "v0": {"allocation": "v0"},
    "v0_5": {"allocation": "v0_5", "advantage": "v0_5", "aggregation": "prompt-mean"},
    "topocurate": {"sampler": "topocurate"},
    "gdpo": {"advantage": "gdpo"},
    "rdpo": {"advantage": "rdpo", "aggregation": "seq-mean-token-mean"},
    "gigpo": {"advantage": "gigpo", "regularizers": [("kl", {"coefficient": 0.01})]},
    "hian": {"advantage": ("hian", {"w_turn_schedule": "linear"}), "regularizers": [("kl", {"coefficient": 0.001})]},
    "duca": {"advantage": ("hian", {"w_turn_schedule": "linear"}), "regularizers": [("kl", {"coefficient": 0.001})]},
    "hipif": {"advantage": "step_pooled", "regularizers": [("kl", {"coefficient": 0.01})]},
    "pgpo": {"filter": "length_band", "advantage": ("grpo", {"std_ddof": 0}), "loss": "clip_higher"},
    "ppo": {"advantage": "gae"},
    "trust_sql": {"advantage": ("dual_track", {"explore": "explore"}), "loss": "clip_higher",
                  "aggregation": "seq-mean-token-mean"},
    "skill1": {"advantage": "skill1", "regularizers": [("kl", {"coefficient": 0.01})]},
    "memocr": {"advantage": "memocr", "regularizers": [("kl", {"coefficient": 0.001})]},
    "heavyskill": {"advantage": "heavyskill"},
    "opd": {"advantage": "opd"},
    "aopd": {"advantage": "aopd", "regularizers": [("local_divergence", {})]},
    "scope": {"advantage": "scope"},
    "sdar": {"regularizers": [("kl", {"coefficient": 0.01}), ("sdar", {})]},
    "rlsd": {"modulation": "rlsd"},
    "self_verify": {"builder": "self_verify", "loss": ("dual_clip", {"low": 0.2, "high": 0.28, "floor": 10.0})},
    "selskill": {"builder": "selskill", "advantage": "preference", "modulation": "selskill", "correction": "none",
                 "loss": "reinforce", "aggregation": "token-sum"},
    "dpo": {"builder": "pairs", "advantage": "dpo", "correction": "none", "loss": "reinforce",
            "aggregation": "seq-mean-token-sum"},
    "sft": {"builder": "dataset", "advantage": "none", "correction": "none", "loss": "mle"},
    "internalization": {"builder": "dataset", "advantage": "none", "correction": "none", "loss": "mle",
                        "regularizers": [("kl", {"coefficient": 0.01})]},
}
"""Hone's own presets by name, with the slots that differ from BASE."""


def _lacks(made: Any) -> str:
    if not isinstance(made, Mapping):
        return "a mapping of slots to methods"
    unknown = sorted(made.keys() - BASE.keys())
    return f"slots among {', '.join(BASE)} alone: {', '.join(unknown)}" if unknown else ""


PRESETS: Catalogue[Filling, Filling] = Catalogue(Group("hone.presets", "preset", _lacks, dict, dict), _OWN)
"""Every preset by name, with the slots that differ from BASE: Hone's own, and presets of installed packages."""

_ASKED: Mapping[str, str] = {
    "logp_teacher": "roles.teacher or contexts.privileged",
    "support": "its top_k",
    "components": "a grader of named components",
    "rules": "an environment that grades turns by rules",
    "steps": "a grader of steps, or an environment that grades turns by rules",
    "spans": "a harness that names spans",
    "kinds": "a harness whose calls are of its kinds",
}
"""Inputs that a method may need and a spec has to provide, by the names of `Params.needs`, as users read them."""

LACKS: Mapping[str, str] = {
    "internalization": "lessons that are extracted from rollouts and chosen by a model, and rollouts that read them "
                       "and are trained without them: it imitates the rows that it is given",
    "sdar": "skills that are written and retrieved: the spec gives its texts",
    "skill1": "an encoder, so that skills are found by common words, and an episode of the other outcome that is read "
              "beside the distilled one; evaluations distil, too",
    "heavyskill": "a choice of queries by how their attempts did, and a reward for the width of attempts",
    "pgpo": "tables as images: its steps are checked over tables of text",
}
"""Presets that run without a part of their method: that part, as users read it."""

HOMES: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "hipif": ("harness", ("folding",), "subgoals, their records and the penalties of their steps"),
    "pgpo": ("grader", ("table_steps", "process_critic"), "scores of an answer's steps, which gate its reward"),
}
"""Presets whose method is also a harness or a grader: the names of those that do, and what they run without beside
another one, as users read it."""

def resolve(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return every slot as plain JSON, {name, params with defaults}; regularizers is a list of those.

    Slots given in the spec replace the preset's. Raises SlotError for an unknown preset, method or parameter, and for
    slots that do not fit together.
    """
    if spec.preset not in PRESETS:
        raise SlotError("algorithm.preset", spec.preset, f"one of {', '.join(PRESETS)}")
    resolved = filled(spec)
    _refuse_misfits(resolved)
    return {**resolved, "skip_zero_advantage": spec.skip_zero_advantage, "truncated": spec.truncated}


def filled(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return every slot of a known preset as plain JSON, also where no run has the inputs that its methods need."""
    chosen = {slot: getattr(spec, slot) for slot in BASE}
    defaults = {**BASE, **PRESETS[spec.preset]}
    return {slot: _filled(slot, defaults[slot] if own is None else own) for slot, own in chosen.items()}


def _filled(slot: str, filling: Any) -> Any:
    if isinstance(filling, list):
        return [fill(slot, *_pair(each), f"algorithm.{slot}.{place}") for place, each in enumerate(filling)]
    return fill(slot, *_pair(filling), f"algorithm.{slot}")


def _pair(filling: str | tuple[str, dict[str, Any]] | Slot) -> tuple[str, dict[str, Any]]:
    if isinstance(filling, str):
        return filling, {}
    return filling if isinstance(filling, tuple) else (filling.name, filling.params)


def _refuse_misfits(resolved: Mapping[str, Any]) -> None:
    advantage, loss = resolved["advantage"]["name"], resolved["loss"]["name"]
    if not method(resolved, "loss").reads_advantage and advantage != "none":
        raise SlotError("algorithm.advantage", advantage, f"'none', because loss {loss!r} reads no advantage")
    _refuse_excluded(resolved)
    _refuse_unmet(resolved)
    _refuse_misbuilt(resolved)
    _refuse_two_borders(resolved)


def _refuse_misbuilt(resolved: Mapping[str, Any]) -> None:
    """Refuse methods that do not fit the builder."""
    name = resolved["builder"]["name"]
    for slot in ("advantage", "modulation"):
        wanted = method(resolved, slot).builder
        if wanted not in (None, name):
            raise SlotError(f"algorithm.{slot}", resolved[slot]["name"],
                            f"builder {wanted!r} with it: it compares the two sides of pairs")
    for slot, only in builder(resolved).fixed.items():
        found = resolved[slot]["name"]
        if found != only:
            why = "trains on pairs" if builder(resolved).makes_pairs else "has no rollouts"
            raise SlotError(f"algorithm.{slot}", found, f"{only!r}, because builder {name!r} {why}")
    judged = not (builder(resolved).from_rows or builder(resolved).makes_pairs)
    if not judged and needs(resolved, "regularizers") & {"logp_teacher", "support"}:
        raise SlotError("algorithm.regularizers", ", ".join(_names(resolved, "regularizers")),
                        f"none that reads a teacher, because builder {name!r} has no rollouts to be judged")


def _refuse_two_borders(resolved: Mapping[str, Any]) -> None:
    """Refuse a second border between reinforced and imitated tokens beside an advantage that has one."""
    if method(resolved, "advantage").imitated is None:
        return
    name, kappa = resolved["advantage"]["name"], resolved["advantage"]["params"]["kappa"]
    for place, filling in enumerate(resolved["regularizers"]):
        if filling["params"].get("kappa") not in (None, kappa):
            raise SlotError(f"algorithm.regularizers.{place}.params.kappa", filling["params"]["kappa"],
                            f"null or {kappa:g}, because advantage {name!r} splits the tokens there")


def _refuse_excluded(resolved: Mapping[str, Any]) -> None:
    for slot in ("loss", "advantage", "modulation"):
        for (other, excluded), why in method(resolved, slot).excludes.items():
            if excluded in _names(resolved, other):
                name = resolved[slot]["name"]
                raise SlotError(f"algorithm.{other}", excluded, f"another method beside {slot} {name!r}, {why}")


def _refuse_unmet(resolved: Mapping[str, Any]) -> None:
    """Refuse a method that tells kinds of calls apart which no harness makes."""
    wanted = method(resolved, "advantage").kinds
    if wanted and not able(wanted):
        raise SlotError("algorithm.advantage", resolved["advantage"]["name"], "a method that runs; needs: a harness "
                        f"whose calls are of the kinds {', '.join(wanted)}, which no run has yet")


def _names(resolved: Mapping[str, Any], slot: str) -> list[str]:
    return [filling["name"] for filling in fillings(resolved, slot)]


def builder_of(spec: AlgorithmSpec) -> str:
    """Return the name of an algorithm's builder, whether or not the spec is resolved; an unknown preset has BASE's."""
    return str(PRESETS.get(spec.preset, {}).get("builder", BASE["builder"])) if spec.builder is None else (
        spec.builder.name)


def supervised(spec: AlgorithmSpec) -> bool:
    """Return whether an algorithm learns from a dataset's completions instead of sampling its own."""
    name = builder_of(spec)
    return name in BUILDERS and BUILDERS[name].from_rows


def asked(preset: str) -> list[str]:
    """Return the parts of a spec that this preset requires besides a task, as users read them."""
    resolved = filled(AlgorithmSpec(preset=preset))
    words, columns = needs(resolved, *READERS), builder(resolved).columns
    rows = [f"a dataset with {' and '.join(columns)}"] if len(columns) > 1 else []
    return rows + [given for word, given in _ASKED.items() if word in words]


def unmet(preset: str) -> str | None:
    """Return the parts that a preset needs and no run has yet; None for a preset that runs."""
    try:
        resolve(AlgorithmSpec(preset=preset))
    except SlotError as error:
        return error.expected.partition("; ")[2]
    return None
