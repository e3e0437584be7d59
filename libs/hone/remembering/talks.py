"""Talks of a user and an assistant: sessions of rounds, each a message of both."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from hone.remembering.lives import Session
from hone.remembering.phrases import Phrases

Message: TypeAlias = dict[str, Any]
"""A message in OpenAI's form: role and content."""
Talk: TypeAlias = Sequence[Sequence[Sequence[Message]]]
"""A whole talk: messages by session by period."""


def rounds(session: Session, phrases: Phrases, count: int) -> list[str]:
    """Return the user's words in a session, a text for each round. Only the first text exposes values.

    A user never ends a session early, and its later words depend on nothing that the assistant says.
    """
    return [phrases.dated(session.time, session.opener), *map(phrases.follow_up, range(count - 1))]


def spoken(text: str, reply: str) -> list[Message]:
    """Return the messages of a round."""
    return [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]
