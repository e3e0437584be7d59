"""What filters read: the raw task rewards of candidate groups, before S3, and how long their rollouts are."""

from collections.abc import Sequence
from dataclasses import dataclass

Groups = Sequence[Sequence[float | None]]
"""Raw rewards of each group's samples; None is a sample whose grade is missing through our own fault."""


@dataclass(frozen=True)
class FilterInputs:
    """A step's candidate groups of all rounds so far, in order of arrival."""

    rewards: Groups
    lengths: Sequence[float] = ()  # mean completion of each group's rollouts, tokens
