"""How a user takes what the agent says: a pure transition from state to state, with a cue for the user's next words."""

import random
from dataclasses import dataclass, replace
from typing import Literal

from hone.text.keywords import folded
from hone.users.profile import Fact, Profile, admits, found

End = Literal["", "goal", "mood", "turns", "hang_up"]
"""Why the user leaves; empty while it stays."""


class UserGone(Exception):
    """The user has left, and the agent said something more."""


@dataclass(frozen=True)
class UserState:
    """State of a user so far."""

    turns: int = 0  # texts of the agent
    revealed: tuple[str, ...] = ()  # names of facts, in the order in which they were said
    mood: float = 0.0
    heard: tuple[str, ...] = ()  # the agent's texts, in lower case, white space collapsed
    found: tuple[int, ...] = ()  # places in the goal's `hears` that were heard
    used: tuple[int, ...] = ()  # places of rules of the mood that count once, and have
    noticed: bool = False  # the user knows that it talks to a machine
    ended: End = ""


@dataclass(frozen=True)
class Cue:
    """Subject of the user's next words."""

    must: tuple[str, ...] = ()  # names of facts that were asked for, and are said
    refuses: tuple[str, ...] = ()  # names of facts that were asked for, and are not said
    liked: bool = False  # the mood rose
    notices: bool = False  # the user has just noticed that it talks to a machine
    repeated: bool = False  # the agent said what it said before
    ends: End = ""
    opens: bool = False  # the first words; the agent has said nothing yet


def begun(profile: Profile) -> UserState:
    """Return the state after the opening."""
    return UserState(revealed=opening_cue(profile).must, mood=profile.mood.start)


def opening_cue(profile: Profile) -> Cue:
    """Return the subject of the first words."""
    return Cue(must=tuple(fact.name for fact in profile.knowledge if fact.reveal == "opening"), opens=True)


def hear(
    profile: Profile, state: UserState, text: str, seed: int, reached: bool | None = None
) -> tuple[UserState, Cue]:
    """Return the state after a text of the agent, and the cue for the answer. Equal arguments give equal results.

    `reached` says whether the goal is reached where whoever keeps the world knows; None: the profile decides.
    Raises UserGone.
    """
    if state.ended:
        raise UserGone(f"the user has left: {state.ended}")
    words, turns = folded(text), state.turns + 1
    asked = [fact for fact in profile.knowledge if fact.is_asked(text)]
    must = tuple(fact.name for fact in asked if _says(fact, state))
    repeated = bool(words) and words in state.heard
    mood, used = _mood(profile, state, text, must, repeated)
    after = replace(
        state, turns=turns, mood=mood, used=used, heard=(*state.heard, words),
        revealed=tuple(dict.fromkeys([*state.revealed, *must])), found=_found(profile, state, text, mood),
        noticed=state.noticed or _notices(profile, text, seed, turns, repeated))
    ends = _end(profile, after, seed, reached)
    refuses = tuple(fact.name for fact in asked if fact.name not in must)
    cue = Cue(must, refuses, mood > state.mood, after.noticed and not state.noticed, repeated, ends)
    return replace(after, ended=ends), cue


def goal_reached(profile: Profile, state: UserState) -> bool:
    """Return whether the profile's goal is reached. A goal without phrases and mood is for others to decide."""
    goal = profile.goal
    if not goal.hears and goal.mood is None:
        return False
    return len(state.found) == len(goal.hears) and (bool(goal.hears) or _willing(profile, state.mood))


def _says(fact: Fact, state: UserState) -> bool:
    """Return whether the user says a fact that it is asked for."""
    if fact.reveal == "after":
        return set(fact.after) <= set(state.revealed)
    return fact.reveal != "never"


def _mood(
    profile: Profile, state: UserState, text: str, must: tuple[str, ...], repeated: bool
) -> tuple[float, tuple[int, ...]]:
    """Return the mood, and the rules that count once and have."""
    mood, rules = profile.mood, profile.mood.rules
    fired = [place for place, rule in enumerate(rules) if found(rule.hears, text) and place not in state.used]
    change = sum(rules[place].mood for place in fired)
    if must and set(must) <= set(state.revealed):
        change += mood.again
    if repeated:
        change += mood.repeats
    if not must and not fired and not any(found(phrases, text) for phrases in profile.goal.hears):
        change += mood.nothing
    return round(state.mood + change, 6), (*state.used, *(place for place in fired if rules[place].once))


def _found(profile: Profile, state: UserState, text: str, mood: float) -> tuple[int, ...]:
    if not _willing(profile, mood):
        return state.found
    now = {place for place, phrases in enumerate(profile.goal.hears) if found(phrases, text)}
    return tuple(sorted(now | set(state.found)))


def _willing(profile: Profile, mood: float) -> bool:
    return profile.goal.mood is None or mood >= profile.goal.mood


def _notices(profile: Profile, text: str, seed: int, turn: int, repeated: bool) -> bool:
    return admits(text) or (repeated and random.Random(f"{seed} notices {turn}").random() < profile.notices)


def _end(profile: Profile, state: UserState, seed: int, reached: bool | None) -> End:
    if goal_reached(profile, state) if reached is None else reached:
        return "goal"
    if profile.mood.least is not None and state.mood <= profile.mood.least:
        return "mood"
    if state.turns >= profile.turns:
        return "turns"
    return "hang_up" if random.Random(f"{seed} hangs up {state.turns}").random() < profile.hang_up else ""
