"""One user's conversation with an agent: heard texts go in, words come out, or a prompt for a model that finds them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_type_hints

from hone.spec.snapshots import WrongSnapshot, fields_of, state_of
from hone.users import prompts, script
from hone.users.checks import fault
from hone.users.profile import Profile
from hone.users.prompts import STOP, Messages
from hone.users.reactions import Cue, UserState, begun, hear, opening_cue

Speech = Literal["scripted", "model"]
"""Who finds the words: templates by seed, or a model."""


class Unfaithful(Exception):
    """A model contradicted the user's state more often than it may. The message says how, last."""


@dataclass(frozen=True)
class Reply:
    """A user's answer: its words, or a prompt for a model whose words `answer` takes."""

    words: str = ""
    prompt: Messages | None = None  # None: the words are said
    ended: str = ""  # why the user leaves with these words; empty: it stays


@dataclass(frozen=True)
class _Talk:
    user: UserState
    spoken: tuple[str, ...]  # the user's and the agent's texts in turn, the user's first
    cue: Cue | None = None  # that a model has yet to find words for
    refused: tuple[tuple[str, str], ...] = ()  # words for this cue, and why they were refused
    given: tuple[str, ...] = ()  # names of the facts that the last answer says for the first time


class Conversation:
    """A user in conversation. Equal profiles, seeds and texts give equal replies, where the words are scripted."""

    def __init__(
        self, profile: Profile, seed: int, speech: Speech = "scripted", most_retries: int = 2,
        guidelines: Sequence[str] = (), opening: Speech = "scripted",
    ) -> None:
        """Begin. `most_retries`: how often a model is asked again for one text. `guidelines` are added to its prompt.

        `opening`: who finds the first words. Those of a model are awaited: `asked` is the prompt for them.
        """
        self._profile, self._seed, self._speech, self._opening = profile, seed, speech, opening
        self._most_retries, self._guidelines = most_retries, tuple(guidelines)
        awaited = opening == "model"
        self._talk = _Talk(begun(profile), () if awaited else (script.opening(profile),),
                           opening_cue(profile) if awaited else None)

    @property
    def opening(self) -> str:
        """The first words; as a script has them, while a model has yet to find them."""
        return self._talk.spoken[0] if self._talk.spoken else script.opening(self._profile)

    @property
    def asked(self) -> Messages | None:
        """The prompt for the words that a model has yet to find; None: nothing is awaited."""
        return self._asked().prompt if self._talk.cue else None

    @property
    def refused(self) -> tuple[tuple[str, str], ...]:
        """Words for the present cue that were refused, and why."""
        return self._talk.refused

    @property
    def user(self) -> UserState:
        """The user's state."""
        return self._talk.user

    @property
    def cue(self) -> Cue | None:
        """Message for which a model has yet to find words; None: nothing."""
        return self._talk.cue

    @property
    def ended(self) -> str:
        """Why the user left; empty while it stays, or has yet to say its last words."""
        return "" if self._talk.cue else self._talk.user.ended

    def hear(self, text: str, reached: bool | None = None) -> Reply:
        """Take a text of the agent. `reached` is whether the goal is, where the profile does not decide.

        Raises UserGone, and ValueError while words are awaited.
        """
        if self._talk.cue is not None:
            raise ValueError("hear: found a text of the agent, expected the words of the user that were asked for")
        user, cue = hear(self._profile, self._talk.user, text, self._seed, reached)
        given = tuple(name for name in cue.must if name not in self._talk.user.revealed)
        self._talk = replace(self._talk, user=user, spoken=(*self._talk.spoken, text), cue=cue, given=given)
        if self._speech == "model":
            return self._asked()
        return self._said(script.words(self._profile, user, cue, self._seed))

    def answer(self, words: str) -> Reply:
        """Take the words of a model; those that contradict the state are asked for again, with the reason.

        Raises Unfaithful, and ValueError where no words are awaited.
        """
        talk = self._talk
        if talk.cue is None:
            raise ValueError("answer: found words of the user, expected a text of the agent")
        wrong = fault(self._profile, talk.user, talk.cue, words)
        if wrong is None:
            return self._said(words.replace(STOP, "").strip())
        if len(talk.refused) >= self._most_retries:
            raise Unfaithful(f"the user's model contradicted the user {len(talk.refused) + 1} times: {wrong.reason}")
        self._talk = replace(talk, refused=(*talk.refused, (words, wrong.reason)))
        return self._asked()

    def take_back(self) -> None:
        """Let the last answer count as not given, because it was not understood: to ask again is no repetition."""
        user = self._talk.user
        revealed = tuple(name for name in user.revealed if name not in self._talk.given)
        self._talk = replace(self._talk, user=replace(user, revealed=revealed, heard=user.heard[:-1]))

    def snapshot(self) -> dict[str, Any]:
        """Return the state as JSON."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self._talk)))
        return found

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go to the state of a snapshot of the same user. Raises WrongSnapshot for another value."""
        given = fields_of(snapshot, {**get_type_hints(_Talk), "user": dict[str, Any], "cue": dict[str, Any] | None})
        if given["cue"] is not None and self._speech == self._opening == "scripted":
            raise WrongSnapshot("cue", given["cue"], "nothing, as no model speaks for this user")
        cue = None if given["cue"] is None else state_of(Cue, given["cue"])
        self._talk = _Talk(**{**given, "user": state_of(UserState, given["user"]), "cue": cue})

    def fork(self) -> "Conversation":
        """Return an independent conversation in the same state."""
        other = Conversation(self._profile, self._seed, self._speech, self._most_retries, self._guidelines,
                             self._opening)
        other._talk = self._talk
        return other

    def _asked(self) -> Reply:
        talk = self._talk
        assert talk.cue is not None
        return Reply(prompt=prompts.messages(
            self._profile, talk.user, talk.cue, talk.spoken, talk.refused, self._guidelines))

    def _said(self, words: str) -> Reply:
        self._talk = replace(self._talk, spoken=(*self._talk.spoken, words), cue=None, refused=())
        return Reply(words, ended=self._talk.user.ended)
