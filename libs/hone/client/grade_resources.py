"""Resources of samples that are graded again."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from hone.client.resources import Resource


class Regrade(Resource):
    """A sample's later grade beside its first one. `turns` has scores by name, by the number of the call."""

    group_id: int
    index: int
    first_status: str
    first_score: float | None = None
    status: str
    score: float | None = None
    components: Mapping[str, float] = Field(default_factory=dict)
    turns: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    reasons: Sequence[str] = ()


class Regrades(Resource):
    """Samples that were graded again by one grader. `next` is the last group's id if there are more."""

    grader_hash: str
    data: list[Regrade]
    next: int | None = None
