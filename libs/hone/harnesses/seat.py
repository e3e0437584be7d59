"""A seat: all that a harness may touch while it plays one sample.

What a harness awaits becomes an effect, which whoever plays it carries out: a rollout worker by services, a test by a
script. A harness awaits nothing else.
"""

import random
from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import coroutine
from typing import Any, TypeAlias

from hone.environments.contract import Ask as Question
from hone.environments.contract import Entities, Message
from hone.environments.noise.written import NOISER
from hone.harnesses import offers
from hone.text.reasoning import spoken

Tools: TypeAlias = list[dict[str, Any]]
"""Tools in OpenAI's format of functions."""
POLICY = "policy"


class Over(Exception):
    """No further call is allowed. Holds the reason. A harness may let it pass: the sample ends then."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HarnessFailed(Exception):
    """A harness broke its contract, or raised. The message has its own words."""


@dataclass(frozen=True)
class Heard:
    """Words of the environment after an action, and its data beside. None: the environment does not know."""

    messages: list[Message]
    turns_left: int = 0
    valid: bool = True  # whether it understood the action
    effect: bool | None = None  # whether the action changed the state
    admissible: list[str] | None = None  # actions that are possible now
    entities: Entities | None = None
    score: float | None = None  # the environment's own, once the episode has ended: for a harness's rules alone


@dataclass(frozen=True)
class Answer:
    """A finished call: its number, and the whole answer with what the prompt itself began."""

    number: str
    text: str
    truncated: bool = False  # whether it was cut off at its most tokens
    entropy: float | None = None  # mean over its tokens, nats, where it was asked for


@dataclass(frozen=True)
class Kept:
    """An item of a collection: its id, which orders the items of the collection, and what was offered, JSON."""

    id: str  # version.place
    body: Any


@dataclass(frozen=True)
class Ask:
    """Effect: one model call. Its result is an Answer. Raises Over where the prompt has no room.

    What was `Heard` continues the seat's last conversation with the policy, and so do messages that begin with it.
    """

    seat: "Seat" = field(compare=False)
    number: str
    said: Heard | Sequence[Message]
    kind: str
    role: str
    tools: Tools  # that the model's chat template shows
    group_key: str | None = None
    max_tokens: int | None = None
    stop: Sequence[str] | None = None
    shorter: Sequence[Sequence[Message]] = ()  # asked instead, the first one that has room, where `said` has none
    given: str | None = None  # the whole answer, where it is not sampled
    entropy: bool = False  # whether the answer has its entropy
    temperature: float | None = None  # None: the run's


@dataclass(frozen=True)
class Act:
    """Effect: one step of the environment. Its result is a Taken."""

    seat: "Seat"
    action: str


@dataclass(frozen=True)
class Taken:
    """The result of a step."""

    heard: Heard
    done: bool = False  # whether the episode has ended
    ask: Question | None = None  # the environment needs a role's words


@dataclass(frozen=True)
class Fork:
    """Effect: seats in the state of another one: now, or before its call of the number `before`."""

    seat: "Seat"
    children: Sequence["Seat"]
    before: str | None = None


@dataclass(frozen=True)
class Together:
    """Effect: plays beside each other. Its result is the list of theirs; None for one that ended at a limit."""

    plays: Sequence[Coroutine[Any, Any, Any]]


Effect: TypeAlias = Ask | Act | Fork | Together


@coroutine
def _perform(effect: Effect) -> Generator[Effect, Any, Any]:
    return (yield effect)


@dataclass
class Seat:
    """One place at which a policy plays. Only one call or step of a seat is made at a time; fork it to make more."""

    opening: list[Message]  # what the environment said first
    tools: Tools  # the environment's
    facts: Heard  # what it told last
    key: str  # of the sample: the run's seed, the request and the sample's index
    max_turns: int | None = None  # most calls of the policy after each other; a fork has what is left of them
    path: str = ""  # the number of the fork that made the seat, and its place in it
    turns: int = 0  # calls of the policy so far, those before forks included
    ended: str = ""  # why the sample is over; empty: it goes on, unless `max_turns` is reached
    last: str | None = None  # number of the policy's last call, that before a fork included
    collections: Mapping[str, Sequence[Kept]] = field(default_factory=dict, repr=False)  # that the harness names
    task: str = ""  # content hash of the sample's task; empty: nobody asks for a certain one
    rules: dict[str, dict[str, float]] = field(default_factory=dict)  # what this harness gave each call, by its number
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)  # facts of each call, by its number
    marks: dict[str, list[str]] = field(default_factory=dict)  # names of the spans that are whole calls, by its number
    _before: dict[str, tuple[int, str | None, Heard]] = field(default_factory=dict)  # turns, last, facts of calls
    _begun: int = 0  # calls and forks
    _busy: bool = False

    @property
    def gave(self) -> bool:
        """Whether the harness gave calls something here: by rules, as notes, as marks."""
        return bool(self.rules or self.notes or self.marks)

    @property
    def over(self) -> bool:
        """Whether the episode has ended, or a limit forbids another call of the policy."""
        return bool(self.reason)

    @property
    def reason(self) -> str:
        """Why the sample is over; empty while it goes on."""
        if self.ended or self.max_turns is None or self.turns < self.max_turns:
            return self.ended
        return "max_turns"

    @property
    def random(self) -> random.Random:
        """A generator that depends on the run's seed, the request, the sample and the number of the next call."""
        return random.Random(f"{self.key}/{self.path}/{self._begun}")

    async def ask(
        self, said: Heard | Sequence[Message], kind: str = "answer", *, role: str = POLICY, tools: Tools | None = None,
        group_key: str | None = None, max_tokens: int | None = None, stop: Sequence[str] | None = None,
        shorter: Sequence[Sequence[Message]] = (), given: str | None = None, entropy: bool = False,
        temperature: float | None = None,
    ) -> Answer:
        """Return the answer of one model call.

        What was heard continues the last conversation; so do messages that begin with it. Other messages begin a
        conversation of their own. `tools` are those that the model's chat template shows; None: the environment's.
        `kind` and `group_key` are stored: statistics are over the calls of one key. `shorter` are messages to ask
        instead, in order, where the ones before have no room. `given` is the whole answer: the model samples nothing,
        and its log-probabilities of that answer are stored. `entropy`: the answer has its mean entropy. `temperature`
        is the call's own; None: the run's. A greedy evaluation stays greedy, and a call that is trained has the run's:
        a group that asks otherwise is refused. Raises Over.
        """
        if role == POLICY and self.over:
            raise Over(self.reason)
        shown = (self.tools if tools is None else tools) if role == POLICY else []
        effect = Ask(
            self, self._number(), said, kind, role, shown, group_key, max_tokens, stop, shorter, given, entropy,
            temperature)
        answer: Answer = await self._alone(effect)
        if role == POLICY:
            self._before[answer.number] = self.turns, self.last, self.facts
            self.turns, self.last = self.turns + 1, answer.number
        return answer

    async def act(self, *actions: str) -> Heard:
        """Take actions in order, until one ends the episode; return all messages.

        A role that the environment asks is asked here. Its words are an action of its own.
        """
        said = list[Message]()
        for action in actions:
            taken = await self._step(action)
            said += taken.heard.messages
            if taken.ask is not None:
                said += (await self.answered(taken.ask)).messages
            if self.ended:
                break
        if said != self.facts.messages:
            self.facts = replace(self.facts, messages=said)
        return self.facts

    async def answered(self, question: Question | None) -> Heard:
        """Ask the role that the environment asks, as often as it does, and return what the policy hears then."""
        said = list[Message]()
        while question is not None:
            taken = await self._step(await self._words(question))
            said, question = [*said, *taken.heard.messages], taken.ask
        return Heard(said)

    async def _words(self, question: Question) -> str:
        """Return a role's words. A result that a noiser has no room to read is no end: without words it stays clean."""
        try:
            return spoken((await self.ask(question.messages, "asked", role=question.role)).text)
        except Over:
            if question.role != NOISER:
                raise
            self.ended = ""
            return ""

    async def fork(self, count: int, before: str | None = None) -> list["Seat"]:
        """Return seats in the same state: the same history, and environments that are forked from this one.

        `before`, the number of a call of the policy at this seat: in the state before that call. Its environment may
        not come to that state again; then such a seat is over at its first step, with the reason diverged.
        """
        if before is not None and before not in self._before:
            raise HarnessFailed(f"it forked before call {before}, expected a call of the policy at the same seat")
        now = self.turns, self.last, self.facts
        (turns, last, facts), ended = (now, self.ended) if before is None else (self._before[before], "")
        number = self._number()
        children = [Seat(self.opening, self.tools, facts, self.key, self.max_turns, f"{number}.{place}",
                         turns, ended, last, self.collections, self.task) for place in range(count)]
        await self._alone(Fork(self, children, before))
        return children

    async def together(self, *plays: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run plays beside each other, each at seats of its own, and return their results in order."""
        found: list[Any] = await self._alone(Together(plays))
        return found

    def penalty(self, name: str, value: float, call: str | None = None) -> None:
        """Give a call of the policy something by a rule of the harness; it is paid like an environment's rules.

        `call` is the number of the seat's call; None: its last one.
        """
        given = self.rules.setdefault(call or self._called(), {})
        given[name] = given.get(name, 0.0) + value

    def note(self, name: str, value: Any) -> None:
        """Store a fact of the policy's last call, as JSON, for graders and metrics."""
        self.notes.setdefault(self._called(), {})[name] = value

    def read(self, collection: str) -> Sequence[Kept]:
        """Return the items of a collection, oldest first, at the version that the group's order pins.

        Of a long collection they are the newest ones (hone.harnesses.offers.MOST_READ). Raises HarnessFailed.
        """
        return self.collections[self._named(collection)]

    def offer(self, collection: str, item: Any) -> None:
        """Offer an item, JSON, to a collection. It is stored with the policy's last call.

        Groups read it that are requested once a step has committed that trains on the sample. Raises HarnessFailed.
        """
        held = self.notes.setdefault(self._called(), {}).setdefault(offers.NOTE, [])
        try:
            held.append(offers.note(self._named(collection), item, len(held)))
        except offers.OfferRefused as refused:
            raise HarnessFailed(str(refused)) from refused

    def mark(self, name: str) -> None:
        """Make the policy's last call a span of that name, which methods read. The harness's parameters list the name.
        """
        self.marks.setdefault(self._called(), []).append(name)

    def _named(self, collection: str) -> str:
        if collection not in self.collections:
            raise HarnessFailed(f"found collection {collection!r}, expected a collection that the harness names: "
                                f"{', '.join(self.collections) or 'none'}")
        return collection

    def _called(self) -> str:
        if self.last is None:
            raise HarnessFailed("it gave a score, a note or a mark before its first call")
        return self.last

    def _number(self) -> str:
        number = f"{self.path}.{self._begun}" if self.path else str(self._begun)
        self._begun += 1
        return number

    async def _step(self, action: str) -> Taken:
        taken: Taken = await self._alone(Act(self, action))
        self.facts = taken.heard
        if taken.done:
            self.ended = "done"
        return taken

    async def _alone(self, effect: Effect) -> Any:
        if self._busy:
            raise HarnessFailed("a seat was used by two plays at once; each needs a fork of its own")
        self._busy = True
        try:
            return await _perform(effect)
        except Over as over:
            self.ended = over.reason
            raise
        finally:
            self._busy = False


@dataclass(frozen=True)
class Finished:
    """The end of a play."""

    result: Any = None


def advanced(
    play: Coroutine[Any, Any, Any], answer: Any = None, over: Over | None = None
) -> Effect | Finished:
    """Give a play the result of its last effect, or the reason why there is none, and return its next effect.

    Raises HarnessFailed with the harness's own words.
    """
    try:
        effect = play.send(answer) if over is None else play.throw(over)
    except StopIteration as end:
        return Finished(end.value)
    except Over:
        return Finished()
    except HarnessFailed:
        raise
    except Exception as error:
        raise HarnessFailed(f"it raised {type(error).__name__}: {error}") from error
    if not isinstance(effect, Effect):
        play.close()
        raise HarnessFailed(f"it awaited {type(effect).__name__}, expected a method of its seat")
    return effect


def number_key(number: str) -> tuple[int, ...]:
    """Return the key that orders call numbers: a fork's calls stand where it was made, seat after seat."""
    return tuple(map(int, number.split(".")))
