"""The words of a scripted user: lines drawn by a seed, around the facts that are said."""

import random
from collections.abc import Mapping, Sequence

from hone.users.profile import Kind, Profile
from hone.users.reactions import Cue, UserState

LINES: Mapping[Kind, Sequence[str]] = {
    "goal": ("Thank you, that is all.", "Good, thanks. Goodbye.", "Perfect, thank you."),
    "mood": ("This is of no use to me. Goodbye.", "I have had enough. Goodbye."),
    "turns": ("I have no more time. Goodbye.", "This takes too long. Goodbye."),
    "hang_up": ("I have to go.", "Somebody is at the door. Goodbye."),
    "refuses": ("I would rather not say that.", "I cannot tell you that now."),
    "liked": ("That sounds good.", "Good to hear.", "I like that."),
    "nothing": ("{goal}", "Can you help me with it?", "And what does that mean for me?"),
    "noticed": ("Am I talking to a machine?", "You sound like a bot."),
}
"""Words of users by default. `{goal}` is the goal's text."""


def opening(profile: Profile) -> str:
    """Return the first words: the opening, or the goal, and the facts that are said with it."""
    facts = [fact.sentence for fact in profile.knowledge if fact.reveal == "opening"]
    return " ".join([profile.opening if profile.opening.strip() else profile.goal.text, *facts])


def words(profile: Profile, state: UserState, cue: Cue, seed: int) -> str:
    """Return the user's words by a cue; `state` is the state after it. Equal arguments give equal words."""
    chance = random.Random(f"{seed} says {state.turns}")
    if cue.ends:
        return _line(profile, cue.ends, chance)
    parts = [_line(profile, "noticed", chance)] if cue.notices else []
    parts += [profile.fact(name).sentence for name in cue.must]
    if cue.refuses:
        parts.append(_line(profile, "refuses", chance))
    if cue.liked and not parts:
        parts.append(_line(profile, "liked", chance))
    return " ".join(parts or [_line(profile, "nothing", chance)])


def _line(profile: Profile, kind: Kind, chance: random.Random) -> str:
    return chance.choice(profile.lines.get(kind, LINES[kind])).replace("{goal}", profile.goal.text)
