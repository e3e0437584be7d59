"""Advantages (S4): estimators over the trajectories of a step, one value for each trained token."""

from collections.abc import Mapping

import numpy as np

from hone.algorithms.advantages.aopd import AopdParams, aopd, imitated
from hone.algorithms.advantages.dpo import DpoParams, dpo
from hone.algorithms.advantages.dr_grpo import dr_grpo
from hone.algorithms.advantages.dual_track import DualTrackParams, dual_track
from hone.algorithms.advantages.gae import GaeParams, gae
from hone.algorithms.advantages.gdpo import GdpoParams, gdpo
from hone.algorithms.advantages.gigpo import GigpoParams, gigpo
from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.advantages.heavyskill import HeavyskillParams, heavyskill
from hone.algorithms.advantages.hian import HianParams, hian
from hone.algorithms.advantages.memocr import MemocrParams, memocr
from hone.algorithms.advantages.opd import OpdParams, opd
from hone.algorithms.advantages.preference import PreferenceParams, preference
from hone.algorithms.advantages.rdpo import RdpoParams, rdpo
from hone.algorithms.advantages.reinforce import ReinforceParams, reinforce
from hone.algorithms.advantages.reinforce_pp import ReinforcePpParams, WhitenParams, reinforce_pp, reinforce_pp_baseline
from hone.algorithms.advantages.rloo import rloo
from hone.algorithms.advantages.scope import ScopeParams, scope
from hone.algorithms.advantages.skill1 import Skill1Params, skill1
from hone.algorithms.advantages.step_pooled import StepPooledParams, step_pooled
from hone.algorithms.advantages.v0_5 import V05BaselineParams, v0_5
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.preferences import SIDES


def none(inputs: AdvantageInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """A = 1: all trained tokens have the same weight, as in supervised training."""
    return np.ones(int(inputs.tokens.sum())), state, {}


_SEVERAL = {("reward", "overlong"): "which shapes one reward a trajectory, of several",
            ("filter", "dynamic_sampling"): "which looks at one reward a trajectory, of several"}


def _parts(name: str) -> dict[tuple[str, str], str]:
    return {("reward", "overlong"): f"which shapes the sum; {name} reads the parts of a reward"}


ADVANTAGES: Mapping[str, Method[AdvantageInputs, Estimate]] = {
    "none": Method(none, within_group=True),
    "grpo": Method(grpo, GrpoParams, needs_peers=True, within_group=True),
    "dr_grpo": Method(dr_grpo, needs_peers=True, within_group=True),
    "rloo": Method(rloo, within_group=True, reads_baseline=True),
    "reinforce": Method(reinforce, ReinforceParams, within_group=True, reads_baseline=True),
    "reinforce_pp": Method(reinforce_pp, ReinforcePpParams),
    "reinforce_pp_baseline": Method(reinforce_pp_baseline, WhitenParams, needs_peers=True),
    "v0_5": Method(v0_5, V05BaselineParams, excludes={
        ("reward", "overlong"): "whose prediction is of the reward as it was graded"}),
    "gae": Method(gae, GaeParams),
    "gdpo": Method(gdpo, GdpoParams, needs_peers=True, excludes=_parts("gdpo")),
    "gigpo": Method(gigpo, GigpoParams, needs_peers=True, within_group=True),
    "step_pooled": Method(step_pooled, StepPooledParams, needs_peers=True, within_group=True),
    "hian": Method(hian, HianParams),
    "dual_track": Method(dual_track, DualTrackParams, needs_peers=True, components=("exec", "fmt", "schema")),
    "skill1": Method(skill1, Skill1Params, kinds=("query", "play", "rerank", "distill"),
                     components=("r_rank", "r_dist")),
    "memocr": Method(memocr, MemocrParams, excludes=_SEVERAL, kinds=("draft", "read_std", "read_augM", "read_augQ")),
    "heavyskill": Method(heavyskill, HeavyskillParams, excludes=_SEVERAL, kinds=("attempt", "deliberate")),
    "rdpo": Method(rdpo, RdpoParams, needs_peers=True, excludes=_parts("rdpo")),
    "dpo": Method(dpo, DpoParams, builder="pairs"),
    "preference": Method(preference, PreferenceParams, builder="selskill", kinds=SIDES),
    "opd": Method(opd, OpdParams),
    "aopd": Method(aopd, AopdParams, imitated=imitated),
    "scope": Method(scope, ScopeParams),
}
