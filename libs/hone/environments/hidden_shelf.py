"""HiddenShelf: a thing lies on one of N shelves, and only going to a shelf shows it. MAP's test task, arXiv 2605.13037.

After exploring B shelves without repetition, a policy with one attempt succeeds with (B+1)/N, and with 1 from N - 1 on:
what it did not see on N - 1 shelves is on the last one. One that never looks has 1/N, and 1 - (1 - 1/N)^k with k
attempts. The texts are a reconstruction, in the words of the household.
"""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import Field

from hone.environments.contract import (
    Entities,
    EnvironmentParams,
    EpisodeOver,
    Observation,
    Row,
    Transition,
)
from hone.environments.hashing import digest
from hone.environments.seeded import Seeded
from hone.spec.snapshots import state_of

THINGS = ("mug", "book", "vase", "key", "lamp", "bowl", "watch", "pen")
TABLE = "table 1"
NOTHING = "Nothing happens."


class HiddenShelfParams(EnvironmentParams):
    """The shelves, the things, and how long an episode is."""

    places: int = Field(6, ge=2, le=50, description="N, number of shelves; the thing lies on a single shelf.")
    spare: int = Field(18, ge=0, le=950, description="Numbers without a shelf: N shelves have different numbers of "
                       "the first N + spare; 0: 1 to N.")
    things: int = Field(1, ge=1, le=len(THINGS), description="Different things that may be asked for.")
    attempts: int = Field(1, ge=1, le=50, description="Attempts to take the thing; the last failed attempt ends the "
                          "episode.")
    turns: int = Field(20, ge=1, le=500, description="Most commands of an episode.")
    free: bool = Field(False, description="Going and looking cost no turn, up to ten times the turns.")


class HiddenShelf(Seeded):
    """Take the thing from its shelf and put it on the table. The last command scores 1."""

    summary = "A thing on one of N shelves: going there shows it; take it and put it on the table."
    params = HiddenShelfParams
    harness = "map_then_act"

    def content(self, params: HiddenShelfParams, seed: int, item: Row | None) -> dict[str, Any]:
        one = shelves(params, seed)
        return {"shelves": one.names, "place": one.place, "thing": one.thing}

    def episode(self, params: HiddenShelfParams, seed: int, item: Row | None) -> "HiddenShelfEpisode":
        return HiddenShelfEpisode(shelves(params, seed), params)


@dataclass(frozen=True)
class Shelves:
    """The shelves of an episode, the one that holds the thing, and the thing."""

    names: tuple[str, ...]
    place: str
    thing: str


def shelves(params: HiddenShelfParams, seed: int) -> Shelves:
    """Return the shelves of a seed's episode."""
    chance = random.Random(f"hidden_shelf {seed}")
    numbers = sorted(chance.sample(range(1, params.places + params.spare + 1), params.places))
    names = tuple(f"shelf {number}" for number in numbers)
    return Shelves(names, chance.choice(names), chance.choice(THINGS[:params.things]))


@dataclass(frozen=True)
class _ShelfState:
    at: str = ""  # the shelf or table; empty: none yet
    holds: bool = False
    delivered: bool = False
    failed: int = 0  # attempts
    turns: int = 0
    looks: int = 0  # commands that cost no turn


class HiddenShelfEpisode:
    """One thing on one shelf."""

    def __init__(self, world: Shelves, params: HiddenShelfParams) -> None:
        self._world, self._params, self._state = world, params, _ShelfState()
        self._shelves, self._place, self._thing = list(world.names), world.place, world.thing

    def reset(self) -> Observation:
        self._state = _ShelfState()
        commands = f"go to PLACE, look, take {self._thing}, put {self._thing} on {TABLE}"
        return self._seen(f"You see {', '.join([*self._shelves, TABLE])}. One shelf holds a {self._thing}.\n"
                          f"Commands: {commands}.\nYour task is to: put the {self._thing} on {TABLE}.\n")

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the thing is delivered, or attempts or turns are used up")
        before, command = self._state, " ".join(action.split())
        valid = command in self._possible()
        self._state, said = self._after(command)
        self._state = self._counted(command)
        changed = (self._state.at, self._state.holds, self._state.delivered) != (
            before.at, before.holds, before.delivered)
        return Transition(self._seen(f"{said}\n"), self._over(), valid, effect=changed)

    def snapshot(self) -> dict[str, Any]:
        return asdict(self._state)

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._state = state_of(_ShelfState, snapshot)

    def fork(self) -> "HiddenShelfEpisode":
        other = HiddenShelfEpisode(self._world, self._params)
        other._state = self._state
        return other

    def state_hash(self) -> str:
        return digest({**asdict(self._world), **self.snapshot()})

    def verify(self) -> float | None:
        """Return 1 when the thing is on the table, else 0."""
        return float(self._state.delivered)

    def solution(self) -> list[str]:
        """Return commands that do the task from the start, for demonstrations."""
        return [f"go to {self._place}", f"take {self._thing}", f"go to {TABLE}", f"put {self._thing} on {TABLE}"]

    def _possible(self) -> Sequence[str]:
        going = [f"go to {one}" for one in (*self._shelves, TABLE)]
        taking = [f"take {self._thing}"] * (self._state.at == self._place and not self._state.holds)
        putting = [f"put {self._thing} on {TABLE}"] * (self._state.at == TABLE and self._state.holds)
        return [*going, "look", *taking, *putting]

    def _after(self, command: str) -> tuple[_ShelfState, str]:
        """Return the state after a command, before it is counted, and what is said of it."""
        state = self._state
        if command.startswith("go to ") and command in self._possible():
            state = replace(state, at=command.removeprefix("go to "))
            return state, f"You arrive at {state.at}. {self._content(state)}"
        if command == "look":
            return state, f"You are at {state.at}. {self._content(state)}" if state.at else self._around()
        if command == f"take {self._thing}":
            if command in self._possible():
                return replace(state, holds=True), f"You pick up the {self._thing} from the {self._place}."
            return replace(state, failed=state.failed + 1), f"You do not see a {self._thing} here."
        if command == f"put {self._thing} on {TABLE}" and command in self._possible():
            return replace(state, holds=False, delivered=True), f"You put the {self._thing} on the {TABLE}."
        return state, NOTHING

    def _counted(self, command: str) -> _ShelfState:
        if self._params.free and (command == "look" or command.startswith("go to ")):
            return replace(self._state, looks=self._state.looks + 1)
        return replace(self._state, turns=self._state.turns + 1)

    def _content(self, state: _ShelfState) -> str:
        there = state.at == self._place and not state.holds
        return f"On the {state.at}, you see {f'a {self._thing}' if there else 'nothing'}."

    def _around(self) -> str:
        return f"You see {', '.join([*self._shelves, TABLE])}."

    def _over(self) -> bool:
        state = self._state
        return (state.delivered or state.failed >= self._params.attempts or state.turns >= self._params.turns
                or state.looks >= 10 * self._params.turns)

    def _seen(self, said: str) -> Observation:
        item = {"place": self._place, "thing": self._thing, "verified": self.verify()}
        left = self._params.turns - self._state.turns
        return Observation(
            [{"role": "user", "content": said}], item, {"type": "environment"}, left, self.state_hash(),
            admissible=[*self._possible()],
            entities=Entities([*self._shelves, TABLE, self._thing], [*self._shelves, TABLE, *THINGS]))
