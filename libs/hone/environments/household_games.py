"""Games of the household: rooms, things and a goal drawn from a seed, as PDDL problems of the ALFRED domain.

Six kinds of tasks, as ALFWorld has them (arXiv 2010.03768). What receptacles can hold, what can be cleaned, heated or
cooled, and the goals come from the package alfworld; rooms and what is found in them are Hone's.
"""

import random
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from hone.environments.contract import WrongParams

Kind = Literal["place", "two", "look", "clean", "heat", "cool"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Range = tuple[int, int]

_GOALS: Mapping[Kind, str] = {
    "place": "pick_and_place_simple", "two": "pick_two_obj_and_place", "look": "look_at_obj_in_light",
    "clean": "pick_clean_then_place_in_recep", "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
}
"""Names of alfworld's goals."""
_CHANGES: Mapping[Kind, tuple[str, str]] = {
    "clean": ("Cleanable", "SinkBasin"), "heat": ("Heatable", "Microwave"), "cool": ("Coolable", "Fridge")}
"""Required state of a thing, and the receptacle that changes it."""

_RECEPTACLES: Mapping[str, Mapping[str, Range]] = {
    "kitchen": {"CounterTop": (1, 2), "Cabinet": (2, 4), "Drawer": (1, 3), "Fridge": (1, 1), "Microwave": (1, 1),
                "SinkBasin": (1, 1), "StoveBurner": (1, 2), "DiningTable": (0, 1), "Shelf": (0, 2),
                "GarbageCan": (1, 1)},
    "bathroom": {"CounterTop": (1, 1), "Cabinet": (1, 3), "Drawer": (0, 2), "SinkBasin": (1, 1), "Toilet": (1, 1),
                 "BathtubBasin": (0, 1), "Shelf": (0, 2), "GarbageCan": (1, 1)},
    "bedroom": {"Bed": (1, 1), "Desk": (1, 1), "Drawer": (1, 4), "Dresser": (0, 1), "SideTable": (1, 2),
                "Shelf": (0, 3), "Safe": (0, 1), "GarbageCan": (1, 1)},
    "living room": {"Sofa": (1, 1), "ArmChair": (0, 2), "CoffeeTable": (1, 1), "SideTable": (0, 2), "Drawer": (1, 3),
                    "Dresser": (0, 1), "Shelf": (0, 2), "GarbageCan": (1, 1)},
}
"""Receptacles of a room: the least and the most of each."""
_THINGS: Mapping[str, Sequence[str]] = {
    "kitchen": ("Apple", "Bread", "Egg", "Lettuce", "Potato", "Tomato", "Mug", "Cup", "Bowl", "Plate", "Pan", "Pot",
                "Kettle", "Knife", "ButterKnife", "Fork", "Spoon", "Spatula", "Ladle", "DishSponge", "SaltShaker",
                "PepperShaker", "SoapBottle", "WineBottle"),
    "bathroom": ("Cloth", "HandTowel", "SoapBar", "SoapBottle", "SprayBottle", "ToiletPaper", "TissueBox", "Candle",
                 "DishSponge"),
    "bedroom": ("Book", "CD", "CellPhone", "CreditCard", "KeyChain", "Pen", "Pencil", "Mug", "Bowl", "AlarmClock",
                "Pillow", "Laptop", "Watch", "BaseballBat"),
    "living room": ("Book", "Newspaper", "RemoteControl", "KeyChain", "CreditCard", "CellPhone", "Laptop", "Pillow",
                    "Vase", "Statue", "WateringCan", "Box", "TissueBox", "Watch"),
}
_ROOMS: Mapping[Kind, Sequence[str]] = {
    "place": tuple(_THINGS), "two": tuple(_THINGS), "look": ("bedroom", "living room"),
    "clean": ("kitchen", "bathroom"), "heat": ("kitchen",), "cool": ("kitchen",)}
_OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
_LAMP, _LAMP_STANDS = "DeskLamp", ("Desk", "SideTable", "Dresser", "CoffeeTable")
_ALWAYS = {"rtype": {"SinkBasin", "Microwave", "Fridge"}, "otype": {"Knife", "ButterKnife"}}
"""Types that the domain names, which every problem has to declare."""


@dataclass(frozen=True)
class Game:
    """A task sentence, the PDDL problem behind it, and the names of its things."""

    kind: Kind
    task: str
    problem: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """Content of the package alfworld."""

    pddl: str
    grammar: str
    goals: Mapping[str, Any]
    holds: Mapping[str, frozenset[str]]  # what each receptacle can hold
    can_be: Mapping[str, frozenset[str]]  # what is cleanable and so on


@cache
def domain() -> Domain:
    """Return alfworld's domain, read without importing the package, which would make a folder. Raises WrongParams."""
    found = find_spec("alfworld")
    if found is None or not found.submodule_search_locations:
        raise WrongParams("environment", "household", "an environment whose packages are installed here: "
                          "pip install 'hone-rl[household]'")
    root = Path(found.submodule_search_locations[0])
    tables = runpy.run_path(str(root / "gen" / "constants.py"))
    return Domain(
        (root / "data" / "alfred.pddl").read_text(), (root / "data" / "alfred.twl2").read_text(),
        runpy.run_path(str(root / "gen" / "goal_library.py"))["gdict"],
        {name: frozenset(held) for name, held in tables["VAL_RECEPTACLE_OBJECTS"].items()},
        {name: frozenset(things) for name, things in tables["VAL_ACTION_OBJECTS"].items()})


@cache
def lexicon() -> tuple[str, ...]:
    """Return the names, without numbers, of everything that a game can have."""
    receptacles = {name for room in _RECEPTACLES.values() for name in room}
    things = {name for room in _THINGS.values() for name in room}
    return tuple(sorted(name.lower() for name in receptacles | things | {_LAMP}))


@lru_cache(maxsize=1024)
def game(kinds: tuple[Kind, ...], things: int, seed: int) -> Game:
    """Return the game of a seed: one of these kinds of tasks, with so many things that it does not need."""
    chance = random.Random(f"household {seed}")
    kind = chance.choice(kinds)
    room = chance.choice(_ROOMS[kind])
    receptacles = _numbered([name for name, (least, most) in _RECEPTACLES[room].items()
                             for _ in range(chance.randint(least, most))])
    wanted, target = chance.choice(_aims(kind, room, receptacles))
    placed = _placed(chance, kind, room, receptacles, wanted, target, things)
    goal = domain().goals[_GOALS[kind]]
    words = {"obj": wanted, "recep": target, "toggle": _LAMP}
    task = chance.choice(goal["templates"]).format(**{key: word.lower() for key, word in words.items()})
    names = tuple(one.replace("_", " ") for one in (*receptacles, *placed))
    return Game(kind, f"{task}.", _problem(receptacles, placed, goal["pddl"].format(**words).replace("#", "-")), names)


def _numbered(kinds: Sequence[str]) -> dict[str, str]:
    """Return identifiers, each with its type: countertop_1, countertop_2, …"""
    counts = dict[str, int]()
    found = dict[str, str]()
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
        found[f"{kind.lower()}_{counts[kind]}"] = kind
    return found


def _aims(kind: Kind, room: str, receptacles: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the possible tasks: things, each with a type of receptacle that it can go to from another."""
    holds, there = domain().holds, sorted(set(receptacles.values()))
    quality, appliance = _CHANGES.get(kind, ("", ""))
    things = [one for one in _THINGS[room] if not quality or one in domain().can_be[quality]]
    return [(thing, target) for thing in things for target in there
            if target != appliance and thing in holds[target]
            and any(thing in holds[other] for other in there if other != target)]


def _placed(
    chance: random.Random, kind: Kind, room: str, receptacles: Mapping[str, str], wanted: str, target: str, things: int
) -> dict[str, tuple[str, str]]:
    """Return each thing with its type and the receptacle that holds it. What is wanted is nowhere near its target."""
    holds = domain().holds
    others = chance.choices([one for one in _THINGS[room] if one != wanted], k=things)
    kinds = [wanted] * (2 if kind == "two" else 1) + others
    placed = dict[str, tuple[str, str]]()
    for name, thing in _numbered(kinds).items():
        at = [one for one, type_ in receptacles.items()
              if thing in holds[type_] and (thing != wanted or type_ != target)]
        if at:
            placed[name] = thing, chance.choice(at)
    if kind == "look":
        stands = [one for one, type_ in receptacles.items() if type_ in _LAMP_STANDS]
        placed[f"{_LAMP.lower()}_1"] = _LAMP, chance.choice(stands)
    return placed


def _problem(receptacles: Mapping[str, str], placed: Mapping[str, tuple[str, str]], goal: str) -> str:
    places = {name: f"loc_{number}" for number, name in enumerate(receptacles, 1)}
    rtypes = sorted({*receptacles.values()} | _ALWAYS["rtype"])
    otypes = sorted({thing for thing, _ in placed.values()} | _ALWAYS["otype"])
    facts = ["(= (total-cost) 0)", "(atLocation agent1 loc_0)"]
    for name, type_ in receptacles.items():
        facts += [f"(receptacleAtLocation {name} {places[name]})", f"(receptacleType {name} {type_}Type)"]
        facts += [f"(openable {name})"] * (type_ in _OPENABLE)
    for name, (thing, at) in placed.items():
        facts += [f"(objectType {name} {thing}Type)", f"(inReceptacle {name} {at})",
                  f"(objectAtLocation {name} {places[at]})", *(f"({one} {name})" for one in _qualities(thing))]
    holds = domain().holds
    facts += [f"(canContain {rtype}Type {otype}Type)" for rtype in rtypes for otype in otypes if otype in holds[rtype]]
    objects = [f"agent1 - agent {' '.join(['loc_0', *places.values()])} - location", f"{' '.join(receptacles)} - "
               f"receptacle {' '.join(placed)} - object", *(f"{one}Type - rtype" for one in rtypes),
               *(f"{one}Type - otype" for one in otypes)]
    return "\n".join(["(define (problem household)", "(:domain alfred)", f"(:objects {' '.join(objects)})",
                      f"(:init {' '.join(facts)})", goal])


def _qualities(thing: str) -> list[str]:
    can_be = domain().can_be
    named = [name.lower() for name in ("Cleanable", "Heatable", "Coolable", "Toggleable") if thing in can_be[name]]
    return named if thing == _LAMP else ["pickupable", *named]
