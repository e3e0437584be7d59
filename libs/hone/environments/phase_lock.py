"""PhaseLock: doors in a row, each opened with the key of its colour. Only the present door matters: HIPIF's test task.

arXiv 2606.10507 has other environments; this small one is a reconstruction. Taking the key of the door's colour, then
opening, passes a door. Looking names the colour again. Any other command has no effect.
"""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field

from hone.environments.contract import (
    Entities,
    EnvironmentParams,
    EpisodeOver,
    Message,
    Observation,
    Row,
    Transition,
)
from hone.environments.hashing import digest, splitmix
from hone.environments.seeded import Seeded
from hone.spec.snapshots import WrongSnapshot, state_of

COLOURS = ("red", "blue", "green", "yellow", "white", "black", "orange", "purple")


class PhaseLockParams(EnvironmentParams):
    """The doors, their colours, and the time to open them."""

    doors: int = Field(4, ge=1, le=50, description="Number of doors in a row.")
    colours: int = Field(4, ge=2, le=len(COLOURS), description="Number of colours that doors can have.")
    slack: float = Field(2.5, ge=1, le=10, description="Most commands, in multiples of the two that a door needs.")

    @property
    def turns(self) -> int:
        """Most commands of an episode."""
        return int(2 * self.doors * self.slack)


class PhaseLock(Seeded):
    """The policy reads a door's colour, takes the key of that colour and opens the door. The last door scores 1."""

    summary = "Doors in a row: take the key of each door's colour, then open it."
    params = PhaseLockParams
    harness = "folding"

    def content(self, params: PhaseLockParams, seed: int, item: Row | None) -> list[str]:
        return doors(params, seed)

    def episode(self, params: PhaseLockParams, seed: int, item: Row | None) -> "PhaseLockEpisode":
        return PhaseLockEpisode(doors(params, seed), params)


def doors(params: PhaseLockParams, seed: int) -> list[str]:
    """Return the colour of each door of a seed's episode."""
    return [COLOURS[splitmix(splitmix(seed) + place) % params.colours] for place in range(params.doors)]


@dataclass(frozen=True)
class _Progress:
    passed: int = 0  # doors
    holds: bool = False  # the key of the present door
    turns: int = 0


class PhaseLockEpisode:
    """One row of doors."""

    def __init__(self, colours: list[str], params: PhaseLockParams) -> None:
        self._doors, self._params, self._state = colours, params, _Progress()
        self._commands = [*(f"take {colour}" for colour in COLOURS[:params.colours]), "open", "look"]

    def reset(self) -> Observation:
        self._state = _Progress()
        task = f"Open {len(self._doors)} doors. Commands: {', '.join(self._commands)}."
        return self._seen([{"role": "system", "content": f"{task}\n"}, {"role": "user", "content": self._door()}])

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the last door is open, or the turns are used up")
        before, command = self._state, action.strip()
        self._state, said = self._after(command)
        effect = (self._state.passed, self._state.holds) != (before.passed, before.holds)
        seen = self._seen([{"role": "user", "content": said}])
        return Transition(seen, self._over(), command in self._commands, effect=effect)

    def snapshot(self) -> dict[str, Any]:
        return {"passed": self._state.passed, "holds": self._state.holds, "turns": self._state.turns}

    def restore(self, snapshot: dict[str, Any]) -> None:
        state = state_of(_Progress, snapshot)
        if state.passed > len(self._doors):
            raise WrongSnapshot("passed", state.passed, f"at most {len(self._doors)}, the doors of the task")
        self._state = state

    def fork(self) -> "PhaseLockEpisode":
        other = PhaseLockEpisode(self._doors, self._params)
        other._state = self._state
        return other

    def state_hash(self) -> str:
        return digest({"doors": self._doors, **self.snapshot()})

    def verify(self) -> float | None:
        """Return 1 when all doors are open, else 0."""
        return float(self._state.passed == len(self._doors))

    def _after(self, command: str) -> tuple[_Progress, str]:
        """Return the state after a command, and what is said of it."""
        state = replace(self._state, turns=self._state.turns + 1)
        colour = self._doors[state.passed]
        if command == f"take {colour}" and not state.holds:
            return replace(state, holds=True), f"You hold the {colour} key."
        if command == "open" and state.holds:
            passed = state.passed + 1
            rest = f" {self._door(passed)}" if passed < len(self._doors) else ""
            return replace(state, passed=passed, holds=False), f"The door opens.{rest}"
        return state, self._door() if command == "look" else "Nothing happens."

    def _door(self, place: int | None = None) -> str:
        return f"The door is {self._doors[self._state.passed if place is None else place]}."

    def _over(self) -> bool:
        return self._state.passed == len(self._doors) or self._state.turns >= self._params.turns

    def _seen(self, said: list[Message]) -> Observation:
        item = {"doors": self._doors, "verified": self.verify()}
        entities = Entities(sorted(set(self._doors)), list(COLOURS[:self._params.colours]))
        return Observation(
            said, item, {"type": "environment"}, self._params.turns - self._state.turns, self.state_hash(),
            admissible=self._commands, entities=entities)
