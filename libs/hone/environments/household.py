"""A household in text, as ALFWorld has it (arXiv 2010.03768): find a thing, change it perhaps, and put it somewhere.

TextWorld's PDDL engine plays games that are made from seeds; nothing is downloaded (`pip install
'hone-rl[household]'`).
"""

import copy
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
from hone.environments.household_engine import World
from hone.environments.household_games import KINDS, Game, Kind, game, lexicon
from hone.environments.seeded import Seeded
from hone.spec.snapshots import fields_of

_COMMANDS = (
    "Commands: go to R, open R, close R, take O from R, move O to R, clean O with R, heat O with R, cool O with R, "
    "use O, examine X, look, inventory.")


class HouseholdParams(EnvironmentParams):
    """Choice of tasks, how much lies about, and how long an episode is."""

    tasks: list[Kind] = Field(
        list(KINDS), min_length=1, description="Kinds of tasks: put a thing somewhere, or two; look at one by a lamp; "
        "clean, heat or cool one, and put it somewhere.")
    things: int = Field(8, ge=0, le=40, description="Things that the task does not need.")
    games: int = Field(0, ge=0, description="Number of different games; 0: endless.")
    turns: int = Field(50, ge=1, le=500, description="Most commands of an episode.")
    show_commands: bool = Field(False, description="List the possible commands at the end of each observation.")


class Household(Seeded):
    """The policy reads what it sees and answers with one command. The task done scores 1."""

    summary = "A household made from seeds, after ALFWorld: find, clean, heat, cool and place things."
    params = HouseholdParams
    harness = "folding"
    foreign = True

    def content(self, params: HouseholdParams, seed: int, item: Row | None) -> list[str]:
        one = _game(params, seed)
        return [one.task, one.problem]

    def episode(self, params: HouseholdParams, seed: int, item: Row | None) -> "HouseholdEpisode":
        return HouseholdEpisode(_game(params, seed), params)


def _game(params: HouseholdParams, seed: int) -> Game:
    return game(tuple(params.tasks), params.things, seed % params.games if params.games else seed)


class HouseholdEpisode:
    """One game being played. Its state is the typed commands: games have no randomness."""

    def __init__(self, one: Game, params: HouseholdParams) -> None:
        self._game, self._params = one, params
        self._typed, self._world = list[str](), World(one)

    def reset(self) -> Observation:
        self._typed, self._world = [], World(self._game)
        opening = f"{self._world.described()}\n\n{_COMMANDS}\n\nYour task is to: {self._game.task}"
        return self._seen(opening)

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the task is done, or its turns are used up")
        command = " ".join(action.split())
        valid, before = command in self._world.commands, self._world.facts(seen=False)
        said = self._type(command)
        return Transition(
            self._seen(said), self._over(), valid, effect=self._world.facts(seen=False) != before)

    def snapshot(self) -> dict[str, Any]:
        return {"typed": [*self._typed]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        typed = fields_of(snapshot, {"typed": list[str]})["typed"]
        self._typed, self._world = [], World(self._game)
        for command in typed:
            self._type(command)

    def fork(self) -> "HouseholdEpisode":
        other = copy.copy(self)
        other._typed, other._world = [*self._typed], self._world.fork()
        return other

    def state_hash(self) -> str:
        return digest({"facts": self._world.facts(), "turn": len(self._typed), "problem": self._game.problem})

    def verify(self) -> float | None:
        """Return 1 when the task is done, else 0."""
        return float(self._world.won)

    def solution(self) -> list[str]:
        """Return commands that do the task from the start, for demonstrations."""
        return self._world.solution()

    def _type(self, command: str) -> str:
        self._typed.append(command)
        return self._world.take(command) if command in self._world.commands else "Nothing happens."

    def _over(self) -> bool:
        return self._world.won or len(self._typed) >= self._params.turns

    def _seen(self, said: str) -> Observation:
        if self._params.show_commands and not self._over():
            said = f"{said}\nYou can: {', '.join(self._world.commands)}."
        item = {"kind": self._game.kind, "task": self._game.task, "verified": self.verify()}
        return Observation(
            [{"role": "user", "content": f"{said}\n"}], item, {"type": "environment"},
            self._params.turns - len(self._typed), self.state_hash(), admissible=self._world.commands,
            entities=Entities(list(self._game.names), list(lexicon())))
