"""Remembering: talk to a user over many sessions with a memory, and answer probes that never enter it. AMemGym.

Calls have the kinds `reply`, `write` (of `awe`, `awi` and `awi-evolve`), `probe`, `diagnose`, `upper` and `evolve`.
Probes are asked at forks, each in a conversation of its own after what the memory shows; the memory is the same before
and after, and its hash is noted. What writes and answers are paid is Hone's extension: the paper trains nothing.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import Field, model_validator

from hone.environments.contract import Message
from hone.environments.hashing import digest
from hone.harnesses.contract import HarnessParams
from hone.harnesses.seat import HarnessFailed, Over, Seat
from hone.remembering.feedback import FeedbackKind, Further, Review, Reviewed, feedback
from hone.remembering.memories import Buffering, EvolvingAwi, Memory, MemoryKind, context, memory
from hone.remembering.wording import EVOLVE, KNOWN, REMEMBER, Texts
from hone.text.reasoning import spoken

REPLY, WRITES, EVOLVES, UPPER, RESULT, OPENER = "reply", "write", "evolve", "upper", "result", "opener"
KINDS = {"question": "probe", "diagnosis": "diagnose", UPPER: UPPER}
"""Kinds of calls by the names of messages that are probes."""


class RememberingParams(HarnessParams):
    """Choice of a memory, when it is written, and the reward of writes and answers."""

    marked: ClassVar[frozenset[str]] = frozenset({REPLY, WRITES})

    memory: MemoryKind = Field("awi", description="native: the whole history. window: the last messages. rag: the "
                               "newest messages, and older ones that are similar. awe: a store of facts that the "
                               "policy edits. awi: a dictionary that the policy writes. awi-evolve: the same, and the "
                               "policy rewrites what to remember after each period.")
    flush: int = Field(2, ge=0, le=1000, description="f, messages that leave the buffer at a time (awe, awi, rag).")
    keep: int = Field(4, ge=0, le=1000, description="ns, messages that stay: at f + ns it is written or stored.")
    most: int | None = Field(None, ge=1, description="Messages of a window or found by rag, facts found by awe (null: "
                             "30), or entries of awi, of which the ones written last stay (null: all).")
    beside: int = Field(8, ge=1, le=64, description="Probes asked in parallel.")
    written: float = Field(0.0, ge=0, le=10, description="Reward of a write for each variable exposed in its "
                           "session that is known after the period. The paper trains nothing; 1 is this platform's.")
    lost: float = Field(0.0, ge=0, le=10, description="Loss of a period's last write for each variable that was "
                        "known before, did not change, and is known no more.")
    answered: float = Field(0.0, ge=0, le=10, description="Reward of a right answer to a question.")
    known_text: str = Field(KNOWN, max_length=20_000, description="Text by which the memory is shown: {known}.")
    write_text: str | None = Field(
        None, max_length=20_000, description="Prompt of a write: {known}, {messages}, and with awi-evolve "
        "{remember}. null: the text of the kind.")
    remember: str = Field(REMEMBER, max_length=4000, description="First instruction about the memory (awi-evolve).")
    evolve_text: str = Field(EVOLVE, max_length=20_000, description="Prompt after a period, before the next period: "
                             "{remember}, {feedback} (awi-evolve).")
    feedback: FeedbackKind = Field("complete", description="Feedback about a period (awi-evolve). questions: the "
                                   "questions. complete: also the options, the own answer, and the memories shown.")
    further: list[Further] = Field([], description="Further feedback (awi-evolve). answers: the right options. "
                                   "states: the values that the period's sessions exposed.")

    @model_validator(mode="after")
    def _writable(self) -> "RememberingParams":
        if self.memory == "awe" and not self.flush:
            raise ValueError("flush: found 0, expected 1 or more with awe, which writes down the messages that leave "
                             "the buffer")
        if self.memory == "awi-evolve" and "{remember}" not in (self.write_text or "{remember}"):
            raise ValueError("write_text: found no {remember}, expected it with awi-evolve, which rewrites it")
        return self


class Remembering:
    """Its environment says by the names of messages what is a session's opener, a probe and a result."""

    summary = "Talk over many sessions with a memory of six possible kinds; probes are answered, and never remembered."
    params = RememberingParams
    kinds: ClassVar[frozenset[str]] = frozenset({REPLY, WRITES, EVOLVES, *KINDS.values()})

    async def play(self, seat: Seat, params: RememberingParams) -> None:
        talk = RememberedTalk(seat, params)
        heard = seat.opening
        while not seat.over:
            heard = await talk.went_on(heard)
            await talk.ended_period(heard)


@dataclass
class _Paid:
    """Calls of a period, to be paid when its result comes."""

    sessions: int = 0
    writes: list[tuple[int, str]] = field(default_factory=list)  # sessions begun before, and the call's number
    probes: list[tuple[Seat, str] | None] = field(default_factory=list)  # of questions; None: there was no room
    answers: list[tuple[str, str]] = field(default_factory=list)  # questions as they were asked, and what was answered


class RememberedTalk:
    """A seat's talk and its memory."""

    def __init__(self, seat: Seat, params: RememberingParams) -> None:
        self._seat, self._params = seat, params
        self._memory: Memory = memory(
            params.memory, Buffering(params.flush, max(params.keep, 1 - params.flush)), params.most,
            Texts(params.write_text, params.evolve_text, params.remember))
        self._system = "\n".join(str(one["content"]) for one in seat.opening if one["role"] == "system")
        self._period, self._known = _Paid(), dict[str, bool]()

    async def went_on(self, heard: Sequence[Message]) -> list[Message]:
        """Take what the environment said, answer it, and return what it says then."""
        probes = [one for one in heard if one.get("name") in KINDS]
        last = await self._listened([one for one in heard if one["role"] != "system"
                                     and one.get("name") not in {*KINDS, RESULT}])
        if probes:
            return (await self._seat.act(*await self._probed(probes))).messages
        if last is None:
            raise HarnessFailed("it heard no message of a user and no probe, expected an environment that has them")
        return await self._replied(last)

    async def ended_period(self, heard: Sequence[Message]) -> None:
        """Pay the calls of a period whose result was heard, and let the memory evolve before the next one."""
        results = [json.loads(str(one["content"])) for one in heard if one.get("name") == RESULT]
        evolves = self._memory if isinstance(self._memory, EvolvingAwi) and not self._seat.over else None
        if evolves is not None and self._period.answers and not results:
            raise HarnessFailed("it heard no result of a period, expected the environment's, which awi-evolve reads")
        for result in results:
            self._credit(result)
            if evolves is not None:
                await self._evolve(evolves, result)
            self._period = _Paid()

    async def _listened(self, talk: Sequence[Message]) -> Message | None:
        """Hear recorded messages, and return the user's last one if nobody has answered it."""
        for place, one in enumerate(talk):
            self._period.sessions += one.get("name") == OPENER
            if place == len(talk) - 1 and one["role"] == "user":
                return _plain(one)
            await self._hear(_plain(one))
        return None

    async def _replied(self, said: Message) -> list[Message]:
        answer = await self._seat.ask(
            [*context(self._memory, str(said["content"]), self._system, self._params.known_text), said], REPLY)
        self._seat.note("memory", _hash(self._memory.save()))
        self._seat.mark(REPLY)
        text = answer.text if self._params.memory == "native" else spoken(answer.text)
        heard = await self._seat.act(spoken(answer.text))
        await self._hear(said)
        await self._hear({"role": "assistant", "content": text})
        return heard.messages

    async def _hear(self, message: Message) -> None:
        self._memory.hear(message)
        if self._memory.due:
            await self._write()

    async def _write(self) -> None:
        before = self._memory.save()
        answer = await self._seat.ask(self._memory.writing(), WRITES)
        changed = self._memory.written(spoken(answer.text))
        self._seat.mark(WRITES)
        self._seat.note("write", {"before": _hash(before), "after": _hash(self._memory.save()), "changed": changed})
        self._period.writes.append((self._period.sessions, answer.number))

    async def _evolve(self, kept: EvolvingAwi, result: dict[str, Any]) -> None:
        given = zip(result["questions"], self._period.answers, result["answers"], strict=True)
        review = Review([Reviewed(question, asked, answer, right) for question, (asked, answer), right in given],
                        result["values"])
        heard = feedback(review, self._params.feedback, self._params.further, kept.known)
        answer = await self._seat.ask(kept.evolving(heard), EVOLVES)
        kept.evolved(spoken(answer.text))
        self._seat.note("evolve", {"remember": kept.remember, "memory": _hash(kept.save())})

    async def _probed(self, probes: Sequence[Message]) -> list[str]:
        """Return the answers to probes, in order; an empty one where there is no room."""
        before = self._memory.save()
        seats = await self._seat.fork(min(self._params.beside, len(probes)))
        some = [probes[place::len(seats)] for place in range(len(seats))]
        found = await self._seat.together(*(self._asked(*pair) for pair in zip(seats, some, strict=True)))
        if self._memory.save() != before:
            raise HarnessFailed("a probe changed the memory")
        answers, calls = [""] * len(probes), list[tuple[Seat, str] | None]([None] * len(probes))
        for place, (seat, given) in enumerate(zip(seats, found, strict=True)):
            for step, one in enumerate(given or []):
                answers[place + step * len(seats)] = one[1]
                calls[place + step * len(seats)] = (seat, one[0]) if one[0] else None
        self._period.probes = [call for call, one in zip(calls, probes, strict=True) if one["name"] == "question"]
        self._period.answers = [(str(one["content"]), answer) for answer, one in zip(answers, probes, strict=True)
                                if one["name"] == "question"]
        return answers

    async def _asked(self, seat: Seat, probes: Sequence[Message]) -> list[tuple[str, str]]:
        """Ask probes at a fork, and return the number and the text of each answer."""
        return [await self._one(seat, probe) for probe in probes]

    async def _one(self, seat: Seat, probe: Message) -> tuple[str, str]:
        text, kind = str(probe["content"]), KINDS[probe["name"]]
        before = [] if kind == UPPER else context(self._memory, text, self._system, self._params.known_text)
        try:
            answer = await seat.ask([*before, _plain(probe)], kind)
        except Over:
            return "", ""
        seat.note("probe", {"kind": probe["name"], "memory": _hash(self._memory.save())})
        return answer.number, spoken(answer.text)

    def _credit(self, result: dict[str, Any]) -> None:
        """Pay the calls of a period by what its probes showed."""
        for name, value, call in self._earned(result):
            self._seat.penalty(name, value, call)
        for right, probe in zip(result["right"], self._period.probes, strict=True):
            if self._params.answered and probe is not None:
                probe[0].penalty("answered", self._params.answered * right, probe[1])
        if self._seat.last is not None:
            self._seat.note("period", {name: result[name] for name in (
                "period", "accuracy", "memory_score", "known", "causes")} | {"memory": _hash(self._memory.save())})
        self._known = result["known"]

    def _earned(self, result: dict[str, Any]) -> Iterator[tuple[str, float, str]]:
        writes, known = self._period.writes, result["known"]
        for session, names in enumerate(result["exposed"], 1):
            first = next((call for begun, call in writes if begun >= session), None)
            if first is not None and self._params.written:
                yield "written", self._params.written * sum(known[name] for name in names), first
        exposed = {name for names in result["exposed"] for name in names}
        lost = sum(was and not known[name] and name not in exposed for name, was in self._known.items())
        if writes and self._params.lost:
            yield "lost", -self._params.lost * lost, writes[-1][1]


def _plain(message: Message) -> Message:
    return {"role": message["role"], "content": message["content"]}


def _hash(state: bytes) -> str:
    return digest(state.decode())
