"""Branches: the seats of a sample in play, with their calls, steps and conversations, and how prompts are made."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hone.api import simulation_pb2
from hone.environments.contract import Message
from hone.harnesses.contexts import PrivilegedOpening
from hone.harnesses.seat import POLICY, Answer, Ask, Heard, Over, Seat, number_key
from hone.harnesses.spans import token_spans
from hone.text.model_text import ModelText
from hone.text.reasoning import continued
from hone.trajectory.records import Call, Span, Step
from services.rollout.calls import CallRequest
from services.rollout.start import GroupStart
from services.rollout.tokenizers import reading


class Diverged(Exception):
    """A session that was rebuilt, or a journaled call, differs from the episode so far. The sample is masked."""

    def __init__(self, what: str = "its session was rebuilt by repeating its actions, and") -> None:
        super().__init__(f"{what} differs from the original")


@dataclass
class Made:
    """A finished call, and the conversation that it answers."""

    ask: Ask
    call: Call
    before: "Made | None"  # the call whose answer its conversation goes on after; None: it begins one
    added: list[Message]  # its messages after that answer
    known: list[Message] = field(default_factory=list)  # the conversation with the answer, once somebody needed it

    def asked(self, tokenizer: ModelText) -> list[Message]:
        """Return the conversation that the call answers."""
        return [*self.before.answered(tokenizer), *self.added] if self.before else self.added

    def answered(self, tokenizer: ModelText) -> list[Message]:
        """Return the conversation with the call's answer."""
        if not self.known:
            call, asked = self.call, self.asked(tokenizer)
            self.known = [dict(one) for one in tokenizer.answered(
                asked, call.prompt_ids, call.completion_ids, self.ask.tools)]
        return self.known


@dataclass
class Branch:
    """A seat in play: its session, and its calls and steps so far."""

    seat: Seat
    session: simulation_pb2.Session | None = None
    parent: "Branch | None" = None
    before: int = 0  # steps of the parent at the fork
    forked: Made | None = None  # the policy's last call before the fork
    made: list[Made] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # held by a step, and while another branch is forked

    @property
    def history(self) -> list[Step]:
        """All steps since the task began."""
        return [*self.parent.history[:self.before], *self.steps] if self.parent else self.steps

    def last(self, until: int | None = None) -> Made | None:
        """Return the policy's last call, at a fork too; `until`: of the seat's first calls alone."""
        return next((one for one in reversed(self.made[:until]) if one.ask.role == POLICY), self.forked)

    def forks(self, seats: Sequence[Seat], before: str | None) -> "dict[str, Branch]":
        """Return branches for seats in the state of now, or before a call of this seat, by their paths."""
        until = next((place for place, one in enumerate(self.made) if one.call.number == before), len(self.made))
        steps = self.before + sum(step.call < until for step in self.steps)
        return {seat.path: Branch(seat, parent=self, before=steps, forked=self.last(until)) for seat in seats}

    @property
    def place(self) -> tuple[int, str]:
        """The number of calls at the seat so far, and the number of the call before the next one; "": there is none."""
        last = self.made[-1] if self.made else self.forked
        return len(self.made), last.call.number if last else ""

    @property
    def fresh(self) -> list[Step]:
        """The steps since the seat's last call."""
        return [step for step in self.steps if step.call == len(self.made) - 1]


@dataclass
class Episode:
    """One sample: its branches by the paths of their seats. When it has ended: all calls and steps in order."""

    start: GroupStart
    index: int
    branches: dict[str, Branch]
    item_json: str  # the task's item for graders, as the last step left it
    calls: list[Call] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    ended: str = ""
    masked: str = ""  # why the sample has no score, if that is not the policy's fault
    effects: int = 0

    @classmethod
    def of(cls, start: GroupStart, index: int, seat: Seat) -> "Episode":
        """Return a sample that begins. The group's first sample goes on in the session of the start."""
        branch = Branch(seat, None if index else start.session)
        return cls(start, index, {"": branch}, start.session.observation.item_json)

    @property
    def trunk(self) -> Branch:
        """The branch of the first seat."""
        return self.branches[""]

    @cached_property
    def made(self) -> list[Made]:
        """All calls in order, once the sample has ended: those of a fork where it was made, seat after seat."""
        made = [one for branch in self.branches.values() for one in branch.made]
        return sorted(made, key=lambda one: number_key(one.call.number)) if len(self.branches) > 1 else made

    @property
    def sessions(self) -> list[simulation_pb2.Session]:
        return [branch.session for branch in self.branches.values() if branch.session]

    def end(self, reason: str, masked: str = "") -> None:
        """Give calls and steps their final places."""
        self.ended, self.masked = reason, masked
        self.calls = [self._final(place, one.call) for place, one in enumerate(self.made)]
        if len(self.branches) == 1:
            self.steps = self.trunk.steps
            return
        places = {call.number: call.index for call in self.calls}
        self.steps = [replace(step, call=_place(branch, step, places))
                      for _, branch in sorted(self.branches.items(), key=_path) for step in branch.steps]

    def _final(self, place: int, call: Call) -> Call:
        """Return a call with its place, and with what the harness gave it; a fork may give to a call before it."""
        seats = [branch.seat for branch in self.branches.values() if branch.seat.gave]
        if not seats and call.index == place:
            return call
        rules, notes, spans = dict[str, float](), dict[str, Any](), list(call.spans)
        for seat in seats:
            rules.update(seat.rules.get(call.number, {}))
            notes.update(seat.notes.get(call.number, {}))
            spans += [Span(name, 0, len(call.completion_ids)) for name in seat.marks.get(call.number, [])]
        return replace(call, index=place, rules=rules, notes=notes, spans=spans)


def _path(item: tuple[str, Branch]) -> tuple[int, ...]:
    return number_key(item[0]) if item[0] else ()


def _place(branch: Branch, step: Step, places: dict[str, int]) -> int:
    return places[branch.made[step.call].call.number] if step.call >= 0 else -1


@dataclass(frozen=True)
class Prompt:
    """The prompt of a call, and where its conversation comes from."""

    request: CallRequest
    before: Made | None
    added: list[Message]

    @cached_property
    def begun(self) -> str:
        """The part of the answer that it holds."""
        request = self.request
        return request.tokenizer.begun(self.added if request.ask.role == POLICY else [], request.prompt_ids)


async def prompt_of(episode: Episode, branch: Branch, ask: Ask) -> Prompt:
    """Return the prompt of a call, or of the first shorter one that has room. Raises Unreadable, and Over where none
    has.
    """
    if not any(one.made for one in episode.branches.values()):
        return await first_prompt(episode.start, branch, ask)
    return await episode.start.tokenizers.work(_later, episode.start, branch, ask)


async def first_prompt(start: GroupStart, branch: Branch, ask: Ask) -> Prompt:
    """Return the prompt of a sample's first call, made with those of other groups. Raises Unreadable."""
    before, added = _conversation(start, branch, ask)
    start.check_characters(ask.role, added)
    ids = await start.tokenizers.first_prompt_ids(ask.role, added, ask.tools)
    prompt = Prompt(_request(start, branch, ask, ids), before, added)
    if ask.given is not None:
        prompt = await start.tokenizers.work(_with_given, prompt, ask.given)
    start.check_room(prompt.request)
    return prompt


def _later(start: GroupStart, branch: Branch, ask: Ask) -> Prompt:
    for said in (ask.said, *ask.shorter):
        asked = replace(ask, said=said, shorter=())
        before, added = _conversation(start, branch, asked)
        prompt = Prompt(_request(start, branch, asked, _ids(start, ask, before, added)), before, added)
        if ask.given is not None:
            prompt = _with_given(prompt, ask.given)
        if start.fits(prompt.request):
            return prompt
    raise Over("max_context")


def _request(start: GroupStart, branch: Branch, ask: Ask, ids: list[int]) -> CallRequest:
    return CallRequest(start.claim, start.tokenizers.of(ask.role), ask, ids, start.sampling(ask), *branch.place)


def messages_of(ask: Ask) -> list[Message]:
    """Return the messages that a call asks."""
    return list(ask.said.messages if isinstance(ask.said, Heard) else ask.said)


def _conversation(start: GroupStart, branch: Branch, ask: Ask) -> tuple[Made | None, list[Message]]:
    """Return the call after whose answer a call's conversation goes on, None if it begins one, and its new messages."""
    said = messages_of(ask)
    if ask.role != POLICY:
        return None, said
    last = branch.last()
    if last is None:
        return None, start.readable(said)
    if isinstance(ask.said, Heard):
        return last, said
    with reading(POLICY):
        said, known = start.readable(said), last.answered(start.tokenizers.policy)
    return (last, said[len(known):]) if said[:len(known)] == known else (None, said)


def _ids(start: GroupStart, ask: Ask, before: Made | None, added: list[Message]) -> list[int]:
    """Return a prompt's ids. Sampled ids before them are kept as they are. Raises Unreadable."""
    if before is None:
        return start.tokenizers.prompt_ids(ask.role, added, ask.tools)
    tokenizer, call = start.tokenizers.policy, before.call
    with reading(POLICY):
        return tokenizer.next_prompt_ids(
            before.asked(tokenizer), call.prompt_ids, call.completion_ids, added, ask.tools)


def _with_given(prompt: Prompt, text: str) -> Prompt:
    """Return the prompt of an answer that the harness gives: its ids go on from what the prompt began, to a turn's end.
    """
    request = prompt.request
    with reading(request.ask.role):
        ids = [*request.tokenizer.encode(continued(prompt.begun, text)), request.tokenizer.eos_id]
    return replace(prompt, request=replace(request, given=ids))


def added(episode: Episode, branch: Branch, prompt: Prompt, call: Call, ask: Ask) -> Answer:
    """Add a finished call to its branch and return its answer. Raises Diverged when it was made for another prompt.

    `ask` is the sample's own; samples of a group may share the prompt.
    """
    request = prompt.request
    given = call.completion_ids if request.given is None else request.given
    if (call.prompt_ids, call.completion_ids, call.role, call.kind) != (request.prompt_ids, given, ask.role, ask.kind):
        raise Diverged("what it asked in a journaled call")
    kinds = episode.start.params.spans if ask.role == POLICY else []
    spans, begun = token_spans(call.completion_ids, kinds, request.tokenizer), prompt.begun
    call = replace(call, spans=spans, begun=begun) if spans or begun else call
    branch.made.append(Made(ask, call, prompt.before, prompt.added))
    return Answer(call.number, begun + call.text, call.finish_reason == "length", call.entropy)


def with_contexts(episodes: list[Episode]) -> list[Episode]:
    """Give the policy's calls of a group their privileged contexts."""
    contexts, tokenizer = episodes[0].start.contexts, episodes[0].start.tokenizers.policy
    assert contexts is not None
    with reading(POLICY):
        for episode in episodes:
            opening: PrivilegedOpening | None = None
            for place, one in enumerate(episode.made):
                if one.call.role == POLICY:
                    asked = one.asked(tokenizer)
                    opening = opening or contexts.opening(asked, one.call, one.ask.tools)
                    found = contexts.of(opening, asked, one.call, one.ask.tools)
                    episode.calls[place] = replace(episode.calls[place], contexts=found)
    return episodes
