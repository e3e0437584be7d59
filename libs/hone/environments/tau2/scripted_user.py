"""A user who follows a scenario by fixed rules, for tests and small demonstrations.

It calls with the reason, says a sentence of what it knows when it is asked for a word of it or for who it is, does with
its tools what the agent names, and leaves once the task's checks hold. `task_instructions` are for models alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hone.environments.tau2.talk import Said
from hone.environments.tau2.task import Action, UserScenario
from hone.spec.snapshots import fields_of
from hone.users.conversation import Conversation
from hone.users.profile import Fact, Goal, Profile

_LONGEST = 4000
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_WORDS = re.compile(r"[^\W_]{4,}")
_WHO = "name|who|identi*|verif*|details|information|e-mail|email|zip|zip code|phone|phone number|user id"
_AGREED = "confirm|confirm*|proceed|yes or no|would you like me|shall i"
_FIRST_PERSON = {
    "you are": "I am", "you're": "I'm", "you were": "I was", "yourself": "myself", "yours": "mine", "your": "my",
    "you": "I"}
_SECOND = re.compile(r"\b(you are|you're|you were|yourself|yours|your|you)\b", re.IGNORECASE)


class ScriptedUser:
    """Equal scenarios, seeds and texts give equal words."""

    def __init__(
        self, scenario: UserScenario, gold: Sequence[Action], tools: Sequence[str], seed: int, texts: int,
    ) -> None:
        """`gold`: the user's own gold actions, whose arguments it uses. `texts` of the agent it hears at most."""
        self._talk = Conversation(profile(scenario, texts), seed)
        self._gold, self._tools, self._used, self._text = tuple(gold), tuple(tools), 0, ""

    def opening(self) -> Said:
        """Return the first words."""
        return Said(self._talk.opening)

    def hear(self, text: str, leaves: Callable[[], bool]) -> Said:
        """Take a text of the agent. `leaves`: whether the user has what it wants, or was handed over."""
        self._text, named = text, self._named(text)
        if not named:
            return self._answer("", leaves())
        return Said(calls=[(tool, self._arguments(tool)) for tool in named])

    def saw(self, results: Sequence[str], leaves: Callable[[], bool]) -> Said:
        """Take what the user's tools said."""
        self._used += len(results)
        return self._answer(" ".join(" ".join(one.split()) for one in results), leaves())

    def answer(self, words: str) -> Said:
        """Raise ValueError: nobody finds its words."""
        raise ValueError(f"answer: found {words[:50]!r}, expected a text of the agent")

    def snapshot(self) -> dict[str, Any]:
        return {"talk": self._talk.snapshot(), "used": self._used, "text": self._text}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        given = fields_of(snapshot, {"talk": dict[str, Any], "used": int, "text": str})
        self._talk.restore(given["talk"])
        self._used, self._text = given["used"], given["text"]

    def _named(self, text: str) -> list[str]:
        """Return the tools that a text names, with spaces or underscores, in the order of their names' places."""
        found = " ".join(text.casefold().replace("_", " ").split())
        places = {tool: found.find(tool.replace("_", " ")) for tool in self._tools}
        return sorted((tool for tool, place in places.items() if place >= 0), key=lambda tool: places[tool])

    def _arguments(self, tool: str) -> dict[str, Any]:
        """Return the arguments of the user's gold action with this tool: the next one, or the last."""
        mine = [one.arguments for one in self._gold if one.name == tool]
        return dict(mine[min(self._used, len(mine) - 1)]) if mine else {}

    def _answer(self, seen: str, leaves: bool) -> Said:
        known = len(self._talk.user.revealed)
        reply = self._talk.hear(self._text, leaves)
        says_more = bool(reply.ended) or len(self._talk.user.revealed) > known or not seen
        return Said(" ".join(filter(None, [seen, reply.words if says_more else ""])), ended=reply.ended)


def profile(scenario: UserScenario, texts: int) -> Profile:
    """Return a scenario as a profile of a user: each sentence that it knows is a fact."""
    given = scenario.instructions
    reason, known = (given.reason_for_call, given.known_info or "") if not isinstance(given, str) else _halves(given)
    unknown = "" if isinstance(given, str) else given.unknown_info or ""
    facts = [Fact(name=f"known_{place}", value=sentence, asked=[_phrases(sentence, _WHO)])
             for place, sentence in enumerate(_sentences(known))]
    facts += [Fact(name=f"unknown_{place}", value=sentence, reveal="never", asked=[_phrases(sentence)])
              for place, sentence in enumerate(_sentences(unknown))]
    return Profile(
        id="tau2", persona=(scenario.persona or "")[:_LONGEST], turns=texts,
        goal=Goal(text=_first_person(reason)[:_LONGEST] or "Hello."),
        knowledge=[*facts, Fact(name="agreement", value="Yes, please.", asked=[_AGREED])],
        lines={"refuses": ["I do not know that."]})


def _halves(text: str) -> tuple[str, str]:
    """Return the first sentence of instructions that are a text, and the others."""
    first, *others = _sentences(text, person=False) or [""]
    return first, " ".join(others)


def _sentences(text: str, person: bool = True) -> list[str]:
    parts = [part.strip()[:_LONGEST] for part in _SENTENCES.split(text) if part.strip()]
    return [_first_person(part) for part in parts] if person else parts


def _phrases(sentence: str, others: str = "") -> str:
    """Return the longer words of a sentence as phrases that ask for it."""
    words = "|".join(dict.fromkeys(word.casefold() for word in _WORDS.findall(sentence)))
    return "|".join(filter(None, [words[:300].rpartition("|")[0] if len(words) > 300 else words, others])) or "know"


def _first_person(text: str) -> str:
    """Return a sentence to a user as the user says it, roughly: `you` is I, `your` is my."""
    said = _SECOND.sub(lambda found: _FIRST_PERSON[found[1].casefold()], text)
    return said[:1].upper() + said[1:]
