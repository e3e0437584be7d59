"""The critic's clipped loss, PPO, arXiv 1707.06347."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def critic_loss(values: "Tensor", returns: "Tensor", values_old: "Tensor", clip: float = 0.5) -> "Tensor":
    """Return 0.5 max((V - ret)^2, (clip(V, V_old - c, V_old + c) - ret)^2), [M], for `clip` c in units of reward.

    V has the gradient. V_old is V before the first update on this batch.
    """
    near = values.clamp(values_old - clip, values_old + clip)
    return 0.5 * (values - returns).square().maximum((near - returns).square())
