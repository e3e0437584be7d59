"""S7: how far? Policy losses, one value for each trained token, to be minimised."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hone.algorithms.losses.clip import ClipHigherParams, ClipParams, clip
from hone.algorithms.losses.dual_clip import DualClipParams, dual_clip
from hone.algorithms.losses.inputs import LossInputs
from hone.algorithms.losses.plain import mle, reinforce
from hone.algorithms.method import Method

if TYPE_CHECKING:
    from torch import Tensor

LOSSES: "Mapping[str, Method[LossInputs, Tensor]]" = {
    "ppo_clip": Method(clip, ClipParams),
    "clip_higher": Method(clip, ClipHigherParams),
    "dual_clip": Method(dual_clip, DualClipParams),
    "reinforce": Method(reinforce),
    "mle": Method(mle),
}
