"""Methods that do not go with an advantage of several rewards for a trajectory."""

from collections.abc import Mapping

SEVERAL: Mapping[tuple[str, str], str] = {
    ("reward", "overlong"): "which shapes one reward a trajectory, of several",
    ("filter", "dynamic_sampling"): "which looks at one reward a trajectory, of several"}
"""Slot and method -> reason."""
