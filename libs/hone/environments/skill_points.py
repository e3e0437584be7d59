"""Points in a row, each of which may succeed or fail, with a skill that helps or harms. SelSkill's test task.

Two signs are shown at each point: whether the skill looks relevant, and whether it is useful. `go` tries the point;
`aid` is the skill, which the environment executes itself: it costs a turn. A point succeeds with .80 without it, with
.97 where it is useful and with .55 where it is not. Reconstruction of the task in the study of arXiv 2606.00510.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import Field

from hone.environments.contract import EnvironmentParams, EpisodeOver, Message, Observation, Row, Transition
from hone.environments.hashing import SEED_BITS, digest, mixed_seed
from hone.environments.seeded import Seeded
from hone.spec.snapshots import WrongSnapshot, state_of

GO, AID = "go", "aid"


class SkillPointsParams(EnvironmentParams):
    """The points, their chances, and the time to pass them."""

    points: int = Field(4, ge=1, le=20, description="Number of points in a row.")
    plain: float = Field(0.8, ge=0, le=1, description="Chance of a point without the skill.")
    useful: float = Field(0.97, ge=0, le=1, description="Chance with the skill where it is useful.")
    harmful: float = Field(0.55, ge=0, le=1, description="Chance with the skill where it is not.")
    slack: int = Field(4, ge=0, le=100, description="Most turns beyond the two that a point needs with the skill.")

    @property
    def turns(self) -> int:
        """Most turns of an episode."""
        return 2 * self.points + self.slack


@dataclass(frozen=True)
class Point:
    """Sight of a point, and its success by either choice: drawn once, so that forks and repeats agree."""

    relevant: bool
    useful: bool
    plain: bool
    aided: bool

    @property
    def signs(self) -> str:
        """Observation of the policy."""
        return "".join("+" if sign else "-" for sign in (self.relevant, self.useful))


class SkillPoints(Seeded):
    """All points have to succeed: the last one scores 1, or 0. Which ones failed is not said."""

    summary = "Points in a row: go, or call a skill first, which helps or harms by a sign that is shown."
    params = SkillPointsParams
    harness = "skills"

    def content(self, params: SkillPointsParams, seed: int, item: Row | None) -> list[dict[str, bool]]:
        return [asdict(point) for point in points(params, seed)]

    def episode(self, params: SkillPointsParams, seed: int, item: Row | None) -> "SkillPointsEpisode":
        return SkillPointsEpisode(points(params, seed), params)


def points(params: SkillPointsParams, seed: int) -> list[Point]:
    """Return the points of a seed's episode. What a choice leads to depends on seed, point and choice alone."""
    return [_point(params, seed, place) for place in range(params.points)]


def _point(params: SkillPointsParams, seed: int, place: int) -> Point:
    def drawn(purpose: int) -> float:
        return mixed_seed(seed, place, purpose) * 2.0 ** -SEED_BITS

    relevant, useful = drawn(0) < 0.5, drawn(1) < 0.5
    return Point(relevant, useful, drawn(2) < params.plain, drawn(3) < (params.useful if useful else params.harmful))


@dataclass(frozen=True)
class _Passed:
    passed: int = 0  # points
    failed: int = 0
    aided: bool = False  # whether the present point has the skill
    calls: int = 0  # of the skill
    harmful: int = 0  # of them where it is not useful
    turns: int = 0


class SkillPointsEpisode:
    """One row of points."""

    def __init__(self, row: list[Point], params: SkillPointsParams) -> None:
        self._points, self._params, self._state = row, params, _Passed()

    def reset(self) -> Observation:
        self._state = _Passed()
        task = f"Pass {len(self._points)} points. Say {GO}. The skill {AID} helps at some points and harms at others.\n"
        return self._seen([{"role": "system", "content": task}, {"role": "user", "content": self._question()}])

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("all points are passed, or the turns are used up")
        before, command = self._state, action.strip()
        self._state = replace(self._after(command), turns=before.turns + 1)
        effect = (before.passed, before.aided) != (self._state.passed, self._state.aided)
        said: list[Message] = [] if self._over() else [{"role": "user", "content": self._question()}]
        return Transition(self._seen(said), self._over(), command == GO or (command == AID and effect), effect=effect)

    def snapshot(self) -> dict[str, Any]:
        return asdict(self._state)

    def restore(self, snapshot: dict[str, Any]) -> None:
        state = state_of(_Passed, snapshot)
        if state.passed > len(self._points):
            raise WrongSnapshot("passed", state.passed, f"at most {len(self._points)}, the points of the task")
        self._state = state

    def fork(self) -> "SkillPointsEpisode":
        other = SkillPointsEpisode(self._points, self._params)
        other._state = self._state
        return other

    def state_hash(self) -> str:
        return digest({"points": [asdict(point) for point in self._points], **self.snapshot()})

    def verify(self) -> float | None:
        """Return 1 when all points are passed and none failed, else 0."""
        return float(self._state.passed == len(self._points) and not self._state.failed)

    def _after(self, command: str) -> _Passed:
        state, point = self._state, self._points[self._state.passed]
        if command == GO:
            failed = state.failed + (not (point.aided if state.aided else point.plain))
            return replace(state, passed=state.passed + 1, failed=failed, aided=False)
        if command == AID and not state.aided:
            return replace(state, aided=True, calls=state.calls + 1, harmful=state.harmful + (not point.useful))
        return state

    def _question(self) -> str:
        """Return the present point's signs, and whether it has the skill."""
        return f"{AID if self._state.aided else ''}{self._points[self._state.passed].signs}?"

    def _over(self) -> bool:
        return self._state.passed == len(self._points) or self._state.turns >= self._params.turns

    def _seen(self, said: list[Message]) -> Observation:
        item = {"signs": [point.signs for point in self._points], "calls": self._state.calls,
                "harmful": self._state.harmful, "verified": self.verify()}
        return Observation(
            said, item, {"type": "environment"}, self._params.turns - self._state.turns, self.state_hash(),
            admissible=[GO] if self._state.aided else [GO, AID])
