"""Episodes: samples that act in their environment turn by turn until it ends them, or a limit of the harness does."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from hone.api import simulation_pb2
from hone.environments.contract import Message
from hone.environments.hashing import digest
from hone.environments.messages import from_proto
from hone.graders import templates
from hone.graders.contract import InvalidSpec
from hone.harnesses import HARNESSES
from hone.harnesses.contract import Harness, HarnessParams
from hone.harnesses.spans import Marks
from hone.harnesses.spans import spans as text_spans
from hone.text.conversation import content_text, with_system
from hone.text.model_text import ModelText
from hone.text.reasoning import spoken
from hone.trajectory.order import PrivilegedText
from hone.trajectory.records import Call, Context, Span, Step
from services.rollout.calls import CallRequest, Sampler
from services.rollout.claims import Claim
from services.rollout.clients import SessionLost, SimulationClient, StepRefused
from services.rollout.retry import Retry
from services.rollout.tokenizers import RoleTokenizers, reading

PRIVILEGED = "privileged"


class Diverged(Exception):
    """A session that was rebuilt, or a journaled turn, differs from the episode so far. The sample is masked."""

    def __init__(self) -> None:
        super().__init__("its session was rebuilt by repeating its actions, and differs from the original")


@dataclass(frozen=True)
class HarnessSetup:
    """The harness of a group with its parameters, and the tools that the environment shows the policy."""

    harness: Harness
    params: HarnessParams
    tools: list[dict[str, Any]]
    max_context: int  # tokens of a prompt and its answer

    @classmethod
    def of(cls, claim: Claim, seen: simulation_pb2.Observation, positions: int) -> "HarnessSetup":
        """Return a claim's setup in an environment that opens with `seen`; engines hold `positions` tokens."""
        harness = HARNESSES[claim.order.harness]
        params = harness.params.model_validate(claim.order.harness_params)
        max_context = min(params.max_context or positions, positions)
        return cls(harness, params, json.loads(seen.tools_json or "[]"), max_context)

    def opening(self, seen: simulation_pb2.Observation) -> list[Message]:
        return self.harness.opening(self.params, from_proto(seen.messages), self.tools)

    @cached_property
    def shown(self) -> list[dict[str, Any]]:
        """The tools that the policy's chat template shows."""
        return self.harness.shown(self.params, self.tools)

    def actions(self, role: str, answer: str) -> list[str]:
        """Return the actions of a role's answer."""
        if role != "policy":
            return [spoken(answer)]
        return self.harness.actions(self.params, answer, self.tools)


@dataclass
class Episode:
    """One sample in progress: its session, its calls and steps so far, and the policy's prompt."""

    claim: Claim
    index: int
    tokenizers: RoleTokenizers
    setup: HarnessSetup
    session: simulation_pb2.Session
    asked: list[Message]  # the prompt of the policy's last call; before its first call, the opening
    item_json: str  # the task's item for graders, as the last step left it
    heard: list[Message] = field(default_factory=list)  # the environment's messages since the policy's last call
    calls: list[Call] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)  # of each call: the part of its answer that its prompt holds
    steps: list[Step] = field(default_factory=list)
    ended: str = ""
    masked: str = ""  # why the sample has no score, if that is not the policy's fault
    contexts: "PrivilegedContexts | None" = None
    opening: "PrivilegedOpening | None" = None

    @property
    def tokenizer(self) -> ModelText:
        """The policy's."""
        return self.tokenizers.policy

    @property
    def answered(self) -> Call | None:
        """The policy's last call."""
        return next((call for call in reversed(self.calls) if call.role == "policy"), None)

    @property
    def turns(self) -> int:
        return sum(call.role == "policy" for call in self.calls)

    def add(self, call: Call) -> None:
        """Add a finished call; one of the policy with its named spans and its privileged contexts."""
        if call.role == "policy":
            last = self.answered
            said = self._answered(last) if last else self.asked
            self.asked, self.heard = [*said, *self.heard], []
            call = self._with_spans(self._with_contexts(call, first=last is None))
        self.begun.append(self.tokenizers.of(call.role).begun(
            self.asked if call.role == "policy" else [], call.prompt_ids))
        self.calls.append(call)

    def answer(self, call: Call) -> str:
        """Return the whole answer of a call: what its prompt began, such as a block of reasoning, and its text."""
        return self.begun[call.index] + call.text

    @reading("policy")
    def _answered(self, call: Call) -> list[Message]:
        """Return the conversation up to the answer of the policy's last call."""
        messages = self.tokenizer.answered(self.asked, call.prompt_ids, call.completion_ids, self.setup.shown)
        return [dict(message) for message in messages]

    def _with_spans(self, call: Call) -> Call:
        kinds = self.setup.params.spans
        return replace(call, spans=token_spans(call.completion_ids, kinds, self.tokenizer)) if kinds else call

    def _with_contexts(self, call: Call, first: bool) -> Call:
        if self.contexts is None:
            return call
        if first:
            self.opening = self.contexts.opening(self.asked, call)
        return replace(call, contexts=self.contexts.of(self.opening, self.asked, call))

    @reading("policy")
    def prompt_ids(self) -> list[int]:
        """Return the policy's next prompt. Raises Unreadable."""
        last = self.answered
        if last is None:
            return self.tokenizer.prompt_ids([*self.asked, *self.heard], self.setup.shown)
        return self.tokenizer.next_prompt_ids(
            self.asked, last.prompt_ids, last.completion_ids, self.heard, self.setup.shown)

    def limit(self, prompt_ids: list[int], role: str = "policy") -> str:
        """Return the limit, of the harness or of a role's own model, that forbids another call; "" if none does."""
        params = self.setup.params
        if role == "policy" and params.max_turns is not None and self.turns >= params.max_turns:
            return "max_turns"
        room = self.claim.room(role, self.setup.max_context)
        return "max_context" if len(prompt_ids) + self.claim.order.sampling["max_tokens"] > room else ""


class Episodes:
    """Plays episodes. Make it inside the running loop."""

    def __init__(self, simulation: SimulationClient, sampler: Sampler, retry: Retry) -> None:
        self._simulation, self._sampler, self._retry = simulation, sampler, retry

    async def play(self, episode: Episode, call: Call) -> Episode:
        """Take turns, from the first call on, until the episode has ended; `ended` is the reason.

        Raises Unreadable when a role's tokenizer refuses the environment's messages.
        """
        try:
            while not episode.ended:
                taken = await self._act(episode, call)
                request = await episode.tokenizers.work(_next_request, episode, taken)
                if request is not None:
                    call = await self._answer(episode, request)
        except (Diverged, StepRefused) as error:
            episode.ended = "diverged" if isinstance(error, Diverged) else "refused"
            episode.masked = str(error)
        return episode

    async def _act(self, episode: Episode, call: Call) -> simulation_pb2.StepResponse:
        """Take the call's actions in order, until one ends the episode or makes the environment ask a role."""
        await episode.tokenizers.work(episode.add, call)
        for action in episode.setup.actions(call.role, episode.answer(episode.calls[-1])):
            taken = await self._step(episode, call, action)
            if taken.done or taken.observation.HasField("ask"):
                break
        return taken

    async def _answer(self, episode: Episode, request: CallRequest) -> Call:
        """Return the next call: the journaled one, or a new one. Raises Diverged when the journaled one does not fit.
        """
        steps = [step for step in episode.steps if step.call == request.number - 1]
        kept = request.claim.journaled.get((episode.index, request.number))
        if kept is None:
            return await self._sampler.next_call(request, episode.index, steps)
        if (kept.call.prompt_ids, kept.steps) != (request.prompt_ids, steps):
            raise Diverged
        return kept.call

    async def _step(self, episode: Episode, call: Call, action: str) -> simulation_pb2.StepResponse:
        taken = await self._retry.until_answered(
            episode.claim, "simulation", lambda: self._take(episode, len(episode.steps), action))
        step = _step(len(episode.steps), call.index, action, taken)
        episode.steps.append(step)
        episode.heard += step.said
        episode.item_json = taken.observation.item_json
        return taken

    async def _take(self, episode: Episode, index: int, action: str) -> simulation_pb2.StepResponse:
        try:
            return await self._simulation.step(episode.claim.run_id, episode.session, index, action)
        except SessionLost:
            await self._rebuild(episode)
            return await self._simulation.step(episode.claim.run_id, episode.session, index, action)

    async def _rebuild(self, episode: Episode) -> None:
        """Start the task again and repeat the episode's actions. Raises Diverged when the results differ."""
        session = await self._simulation.reset(episode.claim)
        if session.observation.state_hash != episode.session.observation.state_hash:
            raise Diverged
        for known in episode.steps:
            taken = await self._simulation.step(episode.claim.run_id, session, known.index, known.action)
            if _step(known.index, known.call, known.action, taken) != known:
                raise Diverged
        episode.session = session


def _next_request(episode: Episode, taken: simulation_pb2.StepResponse) -> CallRequest | None:
    """Return the call that follows a step, of the policy or of a role that the environment asks.

    If the episode is over, set `episode.ended` and return None.
    """
    seen, role = taken.observation, "policy"
    if taken.done:
        episode.ended = "done"
        return None
    if seen.HasField("ask"):
        role = seen.ask.role
        prompt_ids = episode.tokenizers.prompt_ids(role, from_proto(seen.ask.messages))
    else:
        prompt_ids = episode.prompt_ids()
    episode.ended = episode.limit(prompt_ids, role)
    return None if episode.ended else CallRequest(
        episode.claim, episode.tokenizers.of(role), len(episode.calls), prompt_ids, episode.turns, role)


def _step(index: int, call: int, action: str, taken: simulation_pb2.StepResponse) -> Step:
    seen = taken.observation
    said = from_proto(seen.messages)
    return Step(
        index=index, call=call, action=action, said=said, observation_hash=digest(said), state_hash=seen.state_hash,
        valid=taken.valid, effect=taken.effect if taken.HasField("effect") else None,
        reward=taken.reward if taken.HasField("reward") else None,
        admissible=list(seen.admissible.names) if seen.HasField("admissible") else None,
        entities=list(seen.entities.names) if seen.HasField("entities") else None,
        rules=dict(sorted(taken.rules.items())))  # protobuf maps have no order, stored ones have


def token_spans(ids: Sequence[int], kinds: Sequence[Marks], tokenizer: ModelText) -> list[Span]:
    """Return the named spans of a completion as ranges of its tokens, kind by kind. Its text includes a stop id.

    A token belongs to a span if any of its text does. A character of several ids is text of each of them.
    """
    if not kinds:
        return []
    pieces = tokenizer.pieces(ids)
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    starts = np.cumsum(lengths) - lengths
    ends = starts + np.maximum(lengths, 1)
    return [Span(marks.name, int(np.searchsorted(ends, opened, side="right")), int(np.searchsorted(starts, behind)),
                 marks.weight)
            for marks, opened, behind in text_spans("".join(pieces), kinds)]


@dataclass(frozen=True)
class PrivilegedOpening:
    """The policy's first prompt of an episode, without and with a privileged text."""

    text: str
    plain_ids: list[int]
    ids: list[int]

    @property
    def source(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class PrivilegedContexts:
    """The privileged texts of a group, and the prompts that hold them. The group's samples share it."""

    def __init__(
        self, texts: Sequence[PrivilegedText], item: Mapping[str, Any], tokenizer: ModelText, positions: int,
        shown: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Take the texts in order, the item whose fields they may name, how many ids an engine holds, and the tools
        that the chat template shows.
        """
        self._texts = [(filled, one.match or "") for one in texts if (filled := _filled(one.text, item))]
        self._tokenizer, self._positions, self._shown = tokenizer, positions, shown
        self._openings: dict[tuple[int, ...], PrivilegedOpening | None] = {}

    @classmethod
    def of_claim(
        cls, claim: Claim, item_json: str, tokenizer: ModelText, positions: int, shown: Sequence[Mapping[str, Any]],
    ) -> "PrivilegedContexts":
        """Return the contexts of a claim. Its texts may name fields of its dataset row and of the environment's item.
        """
        item = {**(claim.order.task.get("item") or {}), **json.loads(item_json or "{}")}
        return cls(claim.order.privileged, item, tokenizer, positions, shown)

    def opening(self, asked: Sequence[Message], call: Call) -> PrivilegedOpening | None:
        """Return the opening of an episode whose first policy call answers `asked`; None if no text matches."""
        key = tuple(call.prompt_ids)
        if key not in self._openings:
            text = self._text(asked)
            self._openings[key] = (
                PrivilegedOpening(text, call.prompt_ids, self._prompt_ids(asked, text)) if text else None)
        return self._openings[key]

    def of(self, opening: PrivilegedOpening | None, asked: Sequence[Message], call: Call) -> list[Context]:
        """Return the contexts of a call that answers `asked`.

        If the call's prompt continues the plain opening, its context continues the privileged one with the same ids.
        There is no context without a text, nor where the context with the completion is longer than engines hold:
        nothing is ever cut off.
        """
        if opening is None:
            return []
        first = len(opening.plain_ids)
        continues = call.prompt_ids[:first] == opening.plain_ids
        ids = [*opening.ids, *call.prompt_ids[first:]] if continues else self._prompt_ids(asked, opening.text)
        fits = len(ids) + len(call.completion_ids) <= self._positions
        return [Context(PRIVILEGED, ids, opening.source)] if fits else []

    def _text(self, asked: Sequence[Message]) -> str:
        """Return the texts that match the first prompt without its system message."""
        prompt = "\n".join(content_text(one) for one in asked if one["role"] != "system").casefold()
        return "\n\n".join(text for text, match in self._texts if match.casefold() in prompt)

    @reading("policy")
    def _prompt_ids(self, asked: Sequence[Message], text: str) -> list[int]:
        return self._tokenizer.prompt_ids(with_text(asked, text, self._tokenizer), self._shown)


def with_text(asked: Sequence[Message], text: str, tokenizer: ModelText) -> list[Message]:
    """Return messages with a text at the end of their system message, or in a new one.

    Without a chat template the text is a line before everything else.
    """
    if not tokenizer.facts.templated:
        return [{"role": "system", "content": f"{text}\n"}, *asked]
    return [dict(one) for one in with_system(asked, text, "system" not in tokenizer.lacks, end=True)]


def _filled(text: str, item: Mapping[str, Any]) -> str:
    """Return a text with the item's fields; "" if the item lacks one of them."""
    try:
        return templates.rendered(text, dict(item), "")
    except InvalidSpec:
        return ""
