"""Whether words that a model wrote for a user agree with the user's state."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from hone.text.keywords import says
from hone.users.profile import Profile
from hone.users.prompts import STOP
from hone.users.reactions import Cue, UserState

FaultKind = Literal["empty", "agent", "reveals", "contradicts", "withholds", "claims", "early", "late"]

_AGENT = (
    r"^\s*(?:agent|assistant|system|support)\s*:", r"<tool_call>|\[TOOL_CALLS\]",
    r"\bhow (?:can|may) i (?:help|assist) you\b", r"\bis there anything else i can (?:help|do)\b",
    r"\bi(?:'m| am) (?:the|your|an?) (?:\w+ )?(?:agent|assistant)\b",
)
_CLAIMS = (
    r"\bthat(?:'s| is| was) all\b", r"\b(?:is|has been|got) (?:solved|resolved|sorted(?: out)?|taken care of)\b",
    r"\b(?:have|got) (?:everything|what) i (?:need|want)", r"\ball set\b",
)


@dataclass(frozen=True)
class Fault:
    """Faults of a user's words."""

    kind: FaultKind
    reason: str  # for the model that is asked again


def fault(profile: Profile, state: UserState, cue: Cue, words: str) -> Fault | None:
    """Return the first thing that is wrong with words for a cue; `state` is the one after it. None: they are faithful.

    Values are found as whole words, in upper or lower case; what is said in other words is not found.
    """
    return next(_faults(profile, state, cue, words), None)


def _faults(profile: Profile, state: UserState, cue: Cue, words: str) -> Iterator[Fault]:
    if not words.replace(STOP, "").strip():
        yield Fault("empty", "it is empty")
    if _matches(_AGENT, words):
        yield Fault("agent", "it speaks as the agent")
    yield from _values(profile, state, words)
    for name in () if cue.ends else cue.must:
        if not says(words, profile.fact(name).value):
            yield Fault("withholds", f"it does not say the {name.replace('_', ' ')}, as it has to")
    if STOP in words and not cue.ends:
        yield Fault("early", "it ends the conversation too early")
    if STOP not in words and cue.ends:
        yield Fault("late", f"it does not end with {STOP}")
    if cue.ends != "goal" and _matches(_CLAIMS, words):
        yield Fault("claims", "it says that you have what you want, which you do not")


def _values(profile: Profile, state: UserState, words: str) -> Iterator[Fault]:
    """Yield values that may not be said yet, and values that are none of the user's. What the agent said, anybody may.
    """
    values = [fact.value for fact in profile.knowledge if fact.name in state.revealed]
    known = [*values, profile.goal.text, profile.opening, *state.heard]

    def wrong(value: str) -> bool:
        return says(words, value) and not any(says(one, value) for one in known)

    for fact in profile.knowledge:
        name = fact.name.replace("_", " ")
        if wrong(fact.value):
            yield Fault("reveals", f"it says the {name}, which you may not say")
        yield from (Fault("contradicts", f"it says {value!r} for the {name}, which is not yours to say")
                    for value in [*fact.others, *fact.of_form(words)] if wrong(value))


def _matches(patterns: Iterable[str], words: str) -> bool:
    return any(re.search(pattern, words, re.IGNORECASE) for pattern in patterns)
