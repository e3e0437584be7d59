"""A scripted policy in households that put things somewhere, with a map and without (`map_then_act`, `chat`).

The policy is a stub that reads nothing but what it is asked. It knows how to put a thing somewhere, and not where the
thing is: without a map it goes from place to place, and tries to take before it opens. `steps` and `failed steps` are
those of the task itself, `explored` those before it, at most 40. The worlds are of the kind that ALFWorld has,
as `household` makes them (`things: 4`); a planner has proven that each can be done.
"""

import re
from collections.abc import Iterator
from statistics import fmean

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from benchmarks.methods.local_play import Asked, LocalPlay
from hone.environments.household import Household, HouseholdParams
from hone.environments.household_games import lexicon

GAMES, BUDGET = 12, 40
VARIANTS = ("without", "map")
_SEEN = re.compile(r"(?:On the|The) (\w+ \d+)(?:, you see| is open\. In it, you see) ([^.]*)\.")


class Stub:
    """A scripted policy: it answers a conversation by what it is asked."""

    def __init__(self, asked: Asked) -> None:
        said = "\n".join(one["content"] for one in asked.said if one["role"] != "assistant")
        self.kind, self.text = asked.kind, said
        self.did = [one["content"] for one in asked.said if one["role"] == "assistant"]
        self.places = re.findall(r"an? (\w+ \d+)", said.partition("you see")[2].partition("\n")[0])
        words = re.findall(r"\w+", said.partition("Your task is to:")[2].partition("\n")[0])
        self.thing, *_, self.target = [word for word in words if word in lexicon()]
        self.found = dict[str, str]()  # things, each with its place
        for place, things in [*_SEEN.findall(said), *re.findall(r"^(\w+ \d+) contains (.*)$", said, re.MULTILINE)]:
            for thing in re.findall(r"\w+ \d+", things):
                self.found.setdefault(thing, place)
        self.doors = {*re.findall(r"The (\w+ \d+) is closed", said), *re.findall(r"(\w+ \d+) affords open", said)}

    def answer(self) -> str:
        if self.kind == "map":
            return "\n".join([*(f"{place} contains {thing}" for thing, place in self.found.items()),
                              *(f"{place} affords open" for place in sorted(self.doors))])
        done = len(self.did)
        return next(action for number, action in enumerate(self.plan()) if number == done)

    def plan(self) -> Iterator[str]:
        """Yield all actions from the first on, as far as they follow from what was said."""
        if self.kind == "explore":
            yield from self._search()
        known = next(((one, place) for one, place in self.found.items() if self._wanted(one)), None)
        if known is not None and f"{known[1]} contains" in self.text:
            yield from self._fetch(*known, tried=False)
        else:
            yield from self._blind()

    def _wanted(self, thing: str) -> bool:
        return thing.split(maxsplit=1)[0] == self.thing and not self.found[thing].startswith(f"{self.target} ")

    def _search(self) -> Iterator[str]:
        for place in [*self.places, *["room 1"] * 99]:
            yield f"go to {place}"
            if place in self.doors:
                yield f"open {place}"

    def _blind(self) -> Iterator[str]:
        """Try to take the thing at each place, open what is closed, and take what is seen."""
        for place in self.places:
            yield f"go to {place}"
            here = [thing for thing, at in self.found.items() if at == place and self._wanted(thing)]
            if not here or place in self.doors:
                yield f"take {self.thing} 1 from {place}"
            if place in self.doors:
                yield f"open {place}"
            if here:
                yield from self._fetch(here[0], place, tried=True)
        yield from ["look"] * 99

    def _fetch(self, thing: str, place: str, tried: bool) -> Iterator[str]:
        yield from [] if tried else [f"go to {place}", *[f"open {place}"] * (place in self.doors)]
        yield f"take {thing} from {place}"
        goal = next(one for one in self.places if one.startswith(f"{self.target} "))
        yield f"go to {goal}"
        if goal in self.doors:
            yield from [f"move {thing} to {goal}"] * tried
            yield f"open {goal}"
        yield f"move {thing} to {goal}"
        yield from ["look"] * 99


def played(seed: int, variant: str) -> LocalPlay:
    """Return a finished game."""
    world = Household().episode(HouseholdParams(tasks=["place"], things=4, turns=60), seed, None)
    one = LocalPlay(world, "map_then_act", {"budget": BUDGET}) if variant == "map" else LocalPlay(world, "chat", {})
    play, text = one.playing(), None
    try:
        while True:
            text = Stub(next(play) if text is None else play.send(text)).answer()
    except StopIteration:
        return one


def run(variant: str, seed: int) -> Outcome:
    """Play games; the curve is the task's steps, game by game."""
    plays = [played(number, variant) for number in range(GAMES * seed, GAMES * (seed + 1))]
    acted = [[step for step in one.steps if step.path == ""] for one in plays]
    precisions = [noted["precision"] for one in plays for noted in one.notes("map")]
    return Outcome({
        "success": fmean(one.episode.verify() or 0.0 for one in plays), "steps": fmean(map(len, acted)),
        "failed steps": fmean(sum(not step.valid for step in steps) for steps in acted),
        "explored": fmean(len(one.steps) for one in plays) - fmean(map(len, acted)),
        **({"map precision": fmean(precisions)} if precisions else {})}, [float(len(steps)) for steps in acted])


HOUSEHOLD_MAPS = Experiment(
    "map.md (b), second check", "Does a map save a policy steps, and failing ones, in a household?", "steps",
    VARIANTS, run,
    (Expectation("map: fewer than half of the steps", lambda m: m["map"]["steps"] < m["without"]["steps"] / 2),
     Expectation("map: fewer than a quarter of the failed steps",
                 lambda m: m["map"]["failed steps"] < m["without"]["failed steps"] / 4),
     Expectation("map: at least as much success", lambda m: m["map"]["success"] >= m["without"]["success"]),
     Expectation("all that is mapped is true", lambda m: m["map"]["map precision"] == 1)),
    seeds=3, across="game")
