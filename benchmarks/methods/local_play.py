"""Harnesses that are played in this process: a policy answers what they ask, an episode takes what they do."""

from collections.abc import Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hone.environments.contract import Episode, Message
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.seat import Act, Answer, Ask, Effect, Finished, Fork, Heard, Kept, Seat, Taken, Together, advanced


class Asked(NamedTuple):
    """A call: what it is for, the conversation that it answers, and the answer."""

    kind: str
    said: list[Message]
    answer: str = ""


class Did(NamedTuple):
    """A step: its seat, "" for the first one, its action, and whether the environment understood it."""

    path: str
    action: str
    valid: bool


@dataclass
class _Place:
    """A seat's world and its conversation with the policy."""

    episode: Episode
    talk: list[Message] = field(default_factory=list)

    def fork(self) -> "_Place":
        return _Place(self.episode.fork(), [*self.talk])


@dataclass
class LocalPlay:
    """One sample. `playing` yields what is asked and is sent the answers, so that many samples are answered at once."""

    episode: Episode
    harness: str
    params: dict[str, Any] = field(default_factory=dict)
    knowledge: Sequence[Kept] = ()
    key: str = "0/0/0"
    calls: list[Asked] = field(default_factory=list)
    steps: list[Did] = field(default_factory=list)
    seats: list[Seat] = field(default_factory=list)

    def playing(self) -> Generator[Asked, str, None]:
        """Play the sample to its end."""
        opened = self.episode.reset()
        facts = Heard(opened.messages, opened.turns_left, admissible=opened.admissible, entities=opened.entities)
        seat = Seat(opened.messages, opened.tools or [], facts, self.key, collections={"knowledge": self.knowledge})
        self._places, self._before = {"": _Place(self.episode)}, dict[str, _Place]()
        self.seats.append(seat)
        harness = HARNESSES[self.harness]
        yield from self._on(harness.play(seat, harness.params.model_validate(self.params)))

    def notes(self, name: str) -> list[Any]:
        """Return the facts of a name that the harness noted, in the order of seats and calls."""
        return [noted[name] for seat in self.seats for noted in seat.notes.values() if name in noted]

    def _on(self, play: Coroutine[Any, Any, Any]) -> Generator[Asked, str, Any]:
        effect = advanced(play)
        while not isinstance(effect, Finished):
            effect = advanced(play, (yield from self._done(effect)))
        return effect.result

    def _done(self, effect: Effect) -> Generator[Asked, str, Any]:
        """Carry out an effect and return its result."""
        match effect:
            case Ask():
                return (yield from self._asked(effect))
            case Act():
                return self._acted(effect)
            case Fork():
                return self._forked(effect)
            case Together():
                found = list[Any]()
                for one in effect.plays:
                    found.append((yield from self._on(one)))
                return found

    def _asked(self, effect: Ask) -> Generator[Asked, str, Answer]:
        place = self._places[effect.seat.path]
        self._before[effect.number] = place.fork()
        said = [*place.talk, *effect.said.messages] if isinstance(effect.said, Heard) else list(effect.said)
        text = yield Asked(effect.kind, said)
        place.talk = [*said, {"role": "assistant", "content": text}]
        self.calls.append(Asked(effect.kind, said, text))
        return Answer(effect.number, text)

    def _acted(self, effect: Act) -> Taken:
        taken = self._places[effect.seat.path].episode.step(effect.action)
        self.steps.append(Did(effect.seat.path, effect.action, taken.valid))
        seen = taken.observation
        score = seen.item.get("verified") if taken.done else None
        return Taken(Heard(seen.messages, seen.turns_left, taken.valid, taken.effect, seen.admissible, seen.entities,
                           score), taken.done)

    def _forked(self, effect: Fork) -> None:
        origin = self._places[effect.seat.path] if effect.before is None else self._before[effect.before]
        self._places.update({child.path: origin.fork() for child in effect.children})
        self.seats += effect.children


def chains(calls: Sequence[Asked]) -> list[list[Message]]:
    """Return the conversations of calls with their answers, those that only extend others once."""
    found = list[list[Message]]()
    for one in calls:
        whole = [*one.said, {"role": "assistant", "content": one.answer}]
        before = next((chain for chain in found if chain == whole[:len(chain)]), None)
        if before is None:
            found.append(whole)
        else:
            before[:] = whole
    return found
