"""Words of a user that a model finds: what it is asked, and whether the words agree with the user's life. AMemGym.

In the paper openers are written and checked before any assistant meets the user. Here the model is asked while the life
goes on, and a check looks for whole words: a value has to stand in an opener, and no other one in any words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hone.remembering.lives import Life, Session
from hone.remembering.talks import Message
from hone.text.keywords import says

USER = "user"
"""The role that is asked."""


@dataclass(frozen=True)
class Turn:
    """One message of the user: which session's, the first one or a later one."""

    session: Session
    later: bool


def prompt(life: Life, turn: Turn, heard: Sequence[Message], refused: Sequence[tuple[str, str]]) -> list[Message]:
    """Return the question to the model for a turn.

    `heard` are the last messages of the session, as the user sees them. `refused` are earlier words for the same turn,
    with the reason why each was refused. Values that the session does not expose are not in the prompt.
    """
    system = "\n\n".join([
        f"You are {life.person.summary} You talk to your assistant on {turn.session.time}. Write your next message, "
        "and nothing else: one to three sentences. You never end the talk.", _wanted(life, turn),
        *(f"You wrote {words!r}. That is refused: {reason}. Write another message." for words, reason in refused)])
    turned = {"user": "assistant", "assistant": "user"}
    shown = [{"role": turned[one["role"]], "content": one["content"]} for one in heard]
    opened = shown if shown and shown[0]["role"] == "user" else [{"role": "user", "content": "Hello."}, *shown]
    return [{"role": "system", "content": system}, *opened]


def fault(life: Life, turn: Turn, words: str) -> str:
    """Return the fault of a model's words, in words; "" without a fault.

    Values are found as whole words, in upper or lower case. What is said in other words is not found.
    """
    if not words.strip():
        return "it is empty"
    facts = _facts(life, turn.session)
    missing = "" if turn.later else next((name for name, value in facts.items() if not says(words, value)), "")
    if missing:
        return f"it does not say the {missing}, {facts[missing]}"
    return next((f"it says {value}, which is a value of {name} that you may not say"
                 for name, values in life.schema.items() for value in values
                 if value != facts.get(name) and value not in facts.values() and says(words, value)), "")


def _wanted(life: Life, turn: Turn) -> str:
    silent = ", ".join(name for name in life.schema if name not in turn.session.exposes)
    hidden = f" Say nothing of: {silent}." if silent else ""
    if turn.later:
        return f"Go on with the talk. Say nothing new of yourself.{hidden}"
    facts = ", ".join(f"{name}: {value}" for name, value in _facts(life, turn.session).items())
    return f"Ask for advice, and say what is true of you now, with these very words: {facts}.{hidden}"


def _facts(life: Life, session: Session) -> dict[str, str]:
    """Return the exposed values of a session: the new values of its period."""
    changes = next(period.changes for period in life.periods if session in period.sessions)
    return {name: changes[name][1] for name in session.exposes}
