"""map.md's second check: a scripted policy in households takes fewer steps, and fewer that fail, with a map.

The policy is a stub that reads nothing but what it is asked. It knows how to put a thing somewhere, and not where the
thing is: without a map it goes from place to place, and tries to take before it opens.
"""

import re
from collections.abc import Iterator, Sequence

import pytest

from benchmarks.methods.local_play import Asked, LocalPlay, chains
from hone.environments.household import Household, HouseholdParams
from hone.environments.household_games import lexicon

pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
GAMES = 3
_SEEN = re.compile(r"(?:On the|The) (\w+ \d+)(?:, you see| is open\. In it, you see) ([^.]*)\.")
_STEP = re.compile(r"> ([^\n]*)\n")


class Stub:
    """Answers a conversation."""

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


def played(seed: int, harness: str, **params: object) -> LocalPlay:
    episode = Household().episode(HouseholdParams(tasks=["place"], things=4, turns=60), seed, None)
    one = LocalPlay(episode, harness, params)
    play, text = one.playing(), None
    try:
        while True:
            text = Stub(next(play) if text is None else play.send(text)).answer()  # type: ignore[arg-type]
    except StopIteration:
        return one


def measured(plays: Sequence[LocalPlay]) -> tuple[float, float, float]:
    """The share of successes, and the mean numbers of steps and of failed steps of the task itself."""
    acted = [[step for step in one.steps if step.path == ""] for one in plays]
    return (sum(one.episode.verify() or 0 for one in plays) / len(plays), sum(map(len, acted)) / len(plays),
            sum(not step.valid for steps in acted for step in steps) / len(plays))


def test_with_a_map_a_scripted_policy_takes_fewer_steps_and_fewer_fail() -> None:
    plain = [played(seed, "chat") for seed in range(GAMES)]
    mapped = [played(seed, "map_then_act", budget=40) for seed in range(GAMES)]
    before, after = measured(plain), measured(mapped)
    print(f"\nchat {before}, map_then_act {after}")
    assert before[0] == after[0] == 1.0
    assert after[1] < before[1] / 2
    assert after[2] < before[2] / 4
    assert all(noted["precision"] == 1.0 for one in mapped for noted in one.notes("map"))
    assert [len(chain) for chain in chains(mapped[0].calls)[1:2]] == [2], "the map is a conversation of its own"
    assert [noted for one in mapped for noted in one.notes("stop")] == ["converged"] * GAMES
