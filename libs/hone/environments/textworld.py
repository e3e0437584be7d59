"""TextWorld games made from seeds: the policy types commands in rooms with things until a quest is done.

The package TextWorld makes and plays the games; it is imported when needed (`pip install 'hone-rl[textworld]'`). Its
own descriptions need a compiler that no package contains, so this module describes places from the game's facts.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from pydantic import Field

from hone.environments.contract import (
    Entities,
    EnvironmentParams,
    EpisodeOver,
    Message,
    Observation,
    Row,
    Transition,
    WrongParams,
)
from hone.environments.hashing import digest
from hone.environments.seeded import Seeded
from hone.spec.snapshots import fields_of

_LOOKING = ("look", "inventory", "examine ")
"""Commands that change nothing. Every observation already holds their answers."""

_STATES = {"open", "closed", "locked"}


class TextWorldParams(EnvironmentParams):
    """The size of a game, and the number of different games."""

    rooms: int = Field(1, ge=1, le=20, description="Number of rooms.")
    objects: int = Field(3, ge=1, le=50, description="Least number of things.")
    quest_length: int = Field(2, ge=1, le=20, description="Commands of the shortest solution.")
    theme: Literal["house", "basic"] = Field("house", description="Names of things: household words, or numbers.")
    games: int = Field(0, ge=0, description="Number of different games; 0: endless.")
    turns: int = Field(12, ge=1, le=500, description="Most commands of an episode.")
    show_commands: bool = Field(True, description="List the possible commands at the end of each observation.")


class TextWorld(Seeded):
    """The policy reads a description of its place and answers with one command. A won game scores 1."""

    summary = "TextWorld games made from seeds: type commands until the quest is done."
    params = TextWorldParams
    harness = "chat"
    foreign = True

    def content(self, params: TextWorldParams, seed: int, item: Row | None) -> str:
        return self.episode(params, seed, item).state_hash()

    def episode(self, params: TextWorldParams, seed: int, item: Row | None) -> "TextWorldEpisode":
        number = seed % params.games if params.games else seed
        return TextWorldEpisode(_game(params.rooms, params.objects, params.quest_length, params.theme, number), params)


class TextWorldEpisode:
    """One game being played. Its state is the typed commands: games have no randomness."""

    def __init__(self, game: Any, params: TextWorldParams) -> None:
        self._game, self._params = game, params
        self._typed: list[str] = []
        self._progress = _started(game)

    def reset(self) -> Observation:
        self._typed, self._progress = [], _started(self._game)
        opening = f"{self._game.objective}\n\n{self._scene()}"
        return self._seen([{"role": "user", "content": opening}])

    def step(self, action: str) -> Transition:
        if self._over():
            raise EpisodeOver("the game has ended, or its turns are used up")
        command = " ".join(action.split())
        valid, effect = self._type(command)
        said = f"> {command}\n" if valid else "That is not possible here.\n"
        done = self._over()
        answer = said + ("You have won.\n" if self._progress.completed else self._scene())
        return Transition(self._seen([{"role": "user", "content": answer}]), done, valid, effect=effect)

    def snapshot(self) -> dict[str, Any]:
        return {"typed": [*self._typed]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        typed = fields_of(snapshot, {"typed": list[str]})["typed"]
        self._typed, self._progress = [], _started(self._game)
        for command in typed:
            self._type(command)

    def fork(self) -> "TextWorldEpisode":
        other = TextWorldEpisode(self._game, self._params)
        other._typed, other._progress = [*self._typed], self._progress.copy()
        return other

    def state_hash(self) -> str:
        return digest({"facts": self._facts(), "turn": len(self._typed), "objective": self._game.objective})

    def verify(self) -> float | None:
        """Return 1 for a won game, else 0."""
        return float(self._progress.completed)

    def _over(self) -> bool:
        return bool(self._progress.done) or len(self._typed) >= self._params.turns

    def _type(self, command: str) -> tuple[bool, bool]:
        """Return whether the command is possible here, and whether it changed the state."""
        actions, before = self._actions(), self._facts()
        self._typed.append(command)
        if command in actions:
            self._progress.update(actions[command])
        return command in actions, self._facts() != before

    def _actions(self) -> dict[str, Any]:
        valid = self._progress.valid_actions
        commands = _commands(self._game).gen_commands_from_actions(valid)
        return {command: action for command, action in zip(commands, valid, strict=True)
                if not command.startswith(_LOOKING)}

    def _facts(self) -> list[str]:
        return sorted(str(fact) for fact in self._progress.state.facts)

    def _scene(self) -> str:
        place = _Place(self._game, self._progress.state.facts)
        lines = [place.described()]
        if self._params.show_commands:
            lines.append(f"You can: {', '.join(sorted(self._actions()))}.")
        return "\n".join(lines) + "\n"

    def _seen(self, said: list[Message]) -> Observation:
        names = sorted(self._game.entity_names)
        return Observation(
            said, {"objective": self._game.objective, "verified": self.verify()}, {"type": "environment"},
            self._params.turns - len(self._typed), self.state_hash(), admissible=sorted(self._actions()),
            entities=Entities(present=names, lexicon=None))


@dataclass(frozen=True)
class _Place:
    """The visible part of a game's state, as text."""

    game: Any
    facts: Any

    def described(self) -> str:
        inside, states, here = defaultdict(list), defaultdict(list), ""
        for fact in sorted(self.facts, key=str):
            names = [argument.name for argument in fact.arguments]
            if fact.name == "at" and names[0] == "P":
                here = names[1]
            elif fact.name in ("at", "in", "on"):
                inside[names[1]].append(names[0])
            elif fact.name == "link":
                inside[names[0]].append(names[1])
            elif fact.name in _STATES:
                states[names[0]].append(fact.name)
        seen = [self._thing(thing, inside, states) for thing in sorted(inside[here])]
        carried = [self._name(thing) for thing in sorted(inside["I"])]
        return (f"You are in the {self._name(here)}. You see: {', '.join(seen) or 'nothing'}. "
                f"You carry: {', '.join(carried) or 'nothing'}.")

    def _thing(self, thing: str, inside: dict[str, list[str]], states: dict[str, list[str]]) -> str:
        notes = [*states[thing]]
        if inside[thing] and not {"closed", "locked"} & set(notes):
            notes.append("with " + ", ".join(self._name(part) for part in sorted(inside[thing])))
        return self._name(thing) + (f" ({'; '.join(notes)})" if notes else "")

    def _name(self, thing: str) -> str:
        return str(self.game.infos[thing].name)


def _started(game: Any) -> Any:
    from textworld.generator.game import GameProgression
    return GameProgression(game, track_quests=True)


@lru_cache(maxsize=1024)
def _commands(game: Any) -> Any:
    """Return TextWorld's writer of commands for a game's actions."""
    from textworld.generator.inform7 import Inform7Game
    return Inform7Game(game)


@lru_cache(maxsize=1024)
def _game(rooms: int, objects: int, quest_length: int, theme: str, seed: int) -> Any:
    generator = _generator()
    options = generator.GameOptions()
    options.kb = _knowledge()
    options.nb_rooms, options.nb_objects, options.quest_length = rooms, objects, quest_length
    options.grammar.theme, options.seeds = theme, seed
    return generator.make_game(options)


@cache
def _knowledge() -> Any:
    """Return the rules of the games. Reading them takes ten times as long as making a game."""
    from textworld.generator.data import KnowledgeBase
    return KnowledgeBase.load()


@cache
def _generator() -> Any:
    try:
        from textworld import generator
    except ImportError as error:
        raise WrongParams("environment", "textworld", "an environment whose package is installed here: "
                          "pip install 'hone-rl[textworld]'") from error
    return generator
