"""Any advantage with any loss, aggregation, correction and modulation: it runs, and no cut of the step changes it.

Each advantage is composed with the loss of a spec that names none, and each loss with its advantage. `make soak` does
so with all pairs.
"""

import itertools
import math

import pytest
import torch

from hone.algorithms.catalogue import METHODS
from hone.algorithms.presets import PRESETS, resolve, unmet
from hone.algorithms.slots import SlotError
from hone.spec.run import AlgorithmSpec
from tests.support.learner.learners import gradient
from tests.unit.trajectory.samples import of_kinds, random_episodes, with_proposals, with_teacher


def runs(slot, name):
    """Return whether a run can have the inputs that the method needs."""
    try:
        resolve(AlgorithmSpec.model_validate({slot: [{"name": name}] if slot == "regularizers" else {"name": name}}))
    except SlotError as refused:
        return refused.field != f"algorithm.{slot}" or "which no run has yet" not in refused.expected
    return True


def names(slot):
    return [name for name, one in METHODS[slot].items()
            if name not in ("none", "mle") and one.builder is None and runs(slot, name)]


ROTATING = [itertools.cycle(names(slot)) for slot in ("aggregation", "correction", "modulation")]
USUAL = {resolve(AlgorithmSpec())[slot]["name"] for slot in ("advantage", "loss")}
PAIRS = sorted(itertools.product(names("advantage"), names("loss")), key=lambda pair: not USUAL & {*pair})
COMPOSITIONS = [pytest.param(*pair, *map(next, ROTATING), marks=[] if USUAL & {*pair} else pytest.mark.soak)
                for pair in PAIRS]


@pytest.mark.parametrize(("advantage", "loss", "aggregation", "correction", "modulation"), COMPOSITIONS)
def test_a_composition_gives_the_same_gradient_however_the_step_is_cut(
    advantage, loss, aggregation, correction, modulation
):
    slots = {"advantage": advantage, "loss": loss, "aggregation": aggregation, "correction": correction,
             "modulation": modulation}
    made, trajectories = random_episodes(algorithm={slot: {"name": name} for slot, name in slots.items()})
    made = with_proposals(made) if advantage == "dual_track" else made
    step = made.model_copy(update={"teacher": "model"}), with_teacher(of_kinds(made, trajectories))
    (whole, at_once), (cut, parts) = gradient(step, critic={}), gradient(step, token_budget=40, critic={})
    for name, tensor in at_once.items():
        scale = max(1.0, float(tensor.abs().max()))
        torch.testing.assert_close(parts[name], tensor, atol=4e-6 * scale, rtol=1e-4, msg=name)
    assert all(map(math.isfinite, whole.values()))
    # Terms of some nats cancel in the loss of a cispo: the result has their rounding errors.
    assert cut["loss"] == pytest.approx(whole["loss"], rel=1e-4, abs=5e-6)
    assert whole["forward_tokens"] > 0


EXCLUDED = [(slot, name, other, excluded, why) for slot in ("loss", "advantage", "modulation")
            for name, declared in METHODS[slot].items() for (other, excluded), why in declared.excludes.items()]


@pytest.mark.parametrize(("slot", "method", "other", "excluded", "why"), EXCLUDED)
def test_an_excluded_pair_is_refused_by_name(slot, method, other, excluded, why):
    chosen = {"advantage": {"name": "none"}} if method == "mle" else {}
    chosen |= {slot: {"name": method}, other: {"name": excluded}}
    spec = {name: [filling] if name == "regularizers" else filling for name, filling in chosen.items()}
    with pytest.raises(SlotError) as refused:
        resolve(AlgorithmSpec.model_validate(spec))
    assert (refused.value.field, refused.value.found, why in refused.value.expected) == (
        f"algorithm.{other}", excluded, True)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_runs_or_says_what_it_needs(name):
    needed = unmet(name)
    if needed is None:
        assert resolve(AlgorithmSpec(preset=name))["advantage"]["name"] in METHODS["advantage"]
        return
    assert needed.startswith("needs: a ")
    with pytest.raises(SlotError, match="which no run has yet"):
        resolve(AlgorithmSpec(preset=name))
