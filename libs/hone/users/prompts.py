"""Prompt of a model that speaks for a user: guidelines, what may be said and what not, and the conversation."""

from collections.abc import Sequence
from typing import TypeAlias

from hone.users.profile import Profile
from hone.users.reactions import Cue, UserState

STOP = "###STOP###"
"""With these characters at its end a user's text is its last, as in tau2-bench."""
GREETING = "Hello, how can I help you today?"

GUIDELINES: Sequence[str] = (
    "You are a customer who talks to an agent. Write the customer's next message, and nothing else.",
    "Be brief: one or two sentences, in your own words.",
    "Never speak for the agent. Never say what is not in these instructions. Do not give everything at once.",
    f"Write {STOP} at the end of your message only where you are asked to leave.",
)
"""How any user behaves. What is added to them changes the user's manners, for example as noise, and never its facts."""

Messages: TypeAlias = list[dict[str, str]]


def messages(
    profile: Profile, state: UserState, cue: Cue, spoken: Sequence[str], refused: Sequence[tuple[str, str]] = (),
    guidelines: Sequence[str] = (),
) -> Messages:
    """Return the messages that ask for the user's next words, with the agent as the model's user.

    `spoken` holds the texts so far, the user's and the agent's in turn, the user's first; none before its first words.
    `refused` holds earlier words for the same cue, with the reason why each was refused. `guidelines` are added to
    those of every user. Values that may not be said are not in the prompt.
    """
    system = "\n\n".join(filter(None, [
        "\n".join([*GUIDELINES, *guidelines]), profile.persona, f"What you want: {profile.goal.text}",
        _knowledge(profile, state), _now(profile, cue), *(_again(words, reason) for words, reason in refused)]))
    said = [GREETING, *spoken]
    return [{"role": "system", "content": system},
            *({"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(said))]


def _knowledge(profile: Profile, state: UserState) -> str:
    known = [f"- {name.replace('_', ' ')}: {profile.fact(name).value}" for name in state.revealed]
    hidden = [fact.name.replace("_", " ") for fact in profile.knowledge if fact.name not in state.revealed]
    return "\n".join([
        *(["What you may say:", *known] if known else ["You may say nothing else about yourself."]),
        *([f"Do not say, and do not make up: {', '.join(hidden)}."] if hidden else [])])


def _now(profile: Profile, cue: Cue) -> str:
    if cue.ends:
        why = {"goal": "You have what you wanted: thank the agent", "mood": "You are annoyed: say so",
               "turns": "This took too long: say so", "hang_up": "You have to go: say so"}[cue.ends]
        return f"{why}, leave, and end your message with {STOP}."
    parts = [f"Begin: say in your own words: {profile.opening or profile.goal.text}"] if cue.opens else []
    parts += [f"Say your {name.replace('_', ' ')}: {profile.fact(name).value}." for name in cue.must]
    parts += [f"Do not say your {name.replace('_', ' ')}, although you are asked." for name in cue.refuses]
    if cue.repeated:
        parts.append("The agent repeats itself.")
    if cue.notices:
        parts.append("Ask whether you talk to a machine.")
    if cue.liked:
        parts.append("You like what you hear.")
    return " ".join([*parts, "You do not have what you want yet."])


def _again(words: str, reason: str) -> str:
    return f"You wrote {words!r}. That is refused: {reason}. Write another message."
