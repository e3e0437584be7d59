"""TextWorld's PDDL engine for games of the household: worlds share one planner library, which holds one of them.

The library has a state of its own and 30 MB; going to another world loads its game and repeats what was done there,
which takes a millisecond.
"""

import copy
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from hone.environments.contract import WrongParams
from hone.environments.household_games import Game, domain

_LOCK = threading.RLock()
"""The library and its translator keep state in the process."""
_SEEN = ("checked(", "examined(")
"""Facts that looking changes, and nothing else."""


@dataclass(frozen=True, eq=False)
class _Start:
    """A game's first state, and its things as the texts name them."""

    state: Any
    things: dict[str, Any]


class _Library:
    """The planner library, and the world whose state it has."""

    def __init__(self) -> None:
        self.loaded = _packages()[0].load_lib()
        self.here: World | None = None
        self.logic = _packages()[1].GameLogic(domain=domain().pddl, grammar=domain().grammar)

    def go_to(self, world: "World") -> None:
        if self.here is not world:
            self.load(world.start)
            for operator, atoms in world.done:
                self.loaded.apply_operator(operator, (_packages()[0].Atom * atoms)())
            self.here = world

    def load(self, start: _Start) -> None:
        """Go to a game's first state."""
        self.here = None
        self.loaded.load_sas(start.state.sas.encode())

    def planned(self, start: _Start) -> list[str]:
        """Return the commands of a plan that wins."""
        self.load(start)
        self.loaded.load_sas_replan(start.state.sas_replan.encode())
        found: list[str] = start.state.replan(start.things)
        return found


class World:
    """A game in play."""

    def __init__(self, game: Game) -> None:
        with _LOCK:
            self._library, self.start = _library(), _started(game)
            self._state = _copied(self.start.state)
            self.done = list[tuple[int, int]]()  # operators, each with the number of its effects
            self._look()

    def fork(self) -> "World":
        """Return a world in the same state that goes its own way."""
        other = copy.copy(self)
        other._state, other.done = _copied(self._state), [*self.done]
        return other

    @property
    def commands(self) -> list[str]:
        """Possible commands, in order."""
        return sorted(self._actions)

    def described(self) -> str:
        """Return the description of the place."""
        return self._derived("#look.feedback#", {})

    def take(self, command: str) -> str:
        """Carry out a command and return what is said then. Raises KeyError for one that is not possible."""
        action = self._actions[command]
        with _LOCK:
            self._library.go_to(self)
            self._state.apply(action)
            self.done.append((action.id, self._state._operators[action.id].nb_effect_atoms))
            said = self._derived(action.feedback_rule, action.mapping)
            self._look()
        return said

    def facts(self, seen: bool = True) -> list[str]:
        """Return the facts in order; `seen`: those of what was looked at, too."""
        every = sorted(map(str, self._state.facts))
        return every if seen else [one for one in every if not one.startswith(_SEEN)]

    def solution(self) -> list[str]:
        """Return commands that win from the start, for demonstrations."""
        with _LOCK:
            return self._library.planned(self.start)

    def _look(self) -> None:
        self._library.go_to(self)
        self.won = bool(self._state.check_goal())
        names = {key: one.name for key, one in self.start.things.items()}
        self._actions = dict[str, Any]()
        for action in self._state.all_applicable_actions():
            action.command_template = self._derived(action.command_template, action.mapping)
            self._actions.setdefault(action.format_command(names), action)
        self._actions.pop("help", None)

    def _derived(self, rule: str, mapping: Any) -> str:
        things = self.start.things
        with _LOCK:
            derived: str = self._library.logic.grammar.derive(rule, {
                "state": self._state, "facts": list(self._state.facts), "mapping": mapping, "entity_infos": things,
                "variables": {place.name: things[one.name] for place, one in mapping.items()}})
        return derived.strip()


@cache
def _packages() -> tuple[Any, Any, Any]:
    """Return the planner, TextWorld's logic for it, and its class of things. Raises WrongParams."""
    try:
        import fast_downward
        from textworld.envs.pddl import logic
        from textworld.generator.game import EntityInfo
    except ImportError as error:
        raise WrongParams("environment", "household", "an environment whose packages are installed here: "
                          "pip install 'hone-rl[household]'") from error
    return fast_downward, logic, EntityInfo


@cache
def _library() -> _Library:
    return _Library()


@lru_cache(maxsize=256)
def _started(game: Game) -> _Start:
    """Return the start of a game; translating one takes a tenth of a second."""
    library = _library()
    library.here = None
    state = _packages()[1].PddlState(library.loaded, game.problem, library.logic)
    things = dict[str, Any]()
    for one in (argument for fact in state.facts for argument in fact.arguments):
        things[one.name] = info = _packages()[2](one.name, one.type)
        info.name, info.definite, info.indefinite = one.name.replace("_", " "), "the", "a"
    return _Start(state, things)


def _copied(state: Any) -> Any:
    """Return a state with facts of its own."""
    other = copy.copy(state)
    other._facts = defaultdict(set, {name: set(facts) for name, facts in state._facts.items()})
    other._vars_by_name, other._var_counts = dict(state._vars_by_name), Counter(state._var_counts)
    other._vars_by_type = defaultdict(set, {name: set(found) for name, found in state._vars_by_type.items()})
    return other
