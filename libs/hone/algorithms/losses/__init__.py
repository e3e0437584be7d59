"""Losses (S7): policy losses to be minimised, one value for each trained token."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hone.algorithms.inputs import LossInputs
from hone.algorithms.losses.cispo import CispoParams, cispo
from hone.algorithms.losses.clip import ClipHigherParams, ClipParams, clip
from hone.algorithms.losses.dual_clip import DualClipParams, dual_clip
from hone.algorithms.losses.gspo import GspoParams, gspo
from hone.algorithms.losses.maspo import MaspoParams, maspo
from hone.algorithms.losses.plain import mle, reinforce
from hone.algorithms.losses.sapo import SapoParams, sapo
from hone.algorithms.losses.teacher import TeacherK3Params, TeacherKlParams, teacher_k3, teacher_kl
from hone.algorithms.method import Method

if TYPE_CHECKING:
    from torch import Tensor

LOSSES: "Mapping[str, Method[LossInputs, Tensor]]" = {
    "ppo_clip": Method(clip, ClipParams),
    "clip_higher": Method(clip, ClipHigherParams),
    "dual_clip": Method(dual_clip, DualClipParams),
    "gspo": Method(gspo, GspoParams),
    "cispo": Method(cispo, CispoParams),
    "sapo": Method(sapo, SapoParams),
    "maspo": Method(maspo, MaspoParams),
    "reinforce": Method(reinforce),
    "mle": Method(mle, reads_advantage=False, excludes={
        ("modulation", name): "which changes advantages that mle does not read"
        for name in ("dynamo", "step_credit", "sdar", "rlsd")}),
    "teacher_k3": Method(teacher_k3, TeacherK3Params),
    "teacher_kl": Method(teacher_kl, TeacherKlParams),
}
