"""Schedules (S10): factors of the peak learning rate by step."""

from collections.abc import Mapping

from hone.algorithms.inputs import Progress
from hone.algorithms.method import Method
from hone.algorithms.schedules.constant import Warmup, constant
from hone.algorithms.schedules.cosine import CosineParams, cosine
from hone.algorithms.schedules.linear import LinearParams, linear

SCHEDULES: Mapping[str, Method[Progress, float]] = {
    "constant": Method(constant, Warmup),
    "linear": Method(linear, LinearParams),
    "cosine": Method(cosine, CosineParams),
}
