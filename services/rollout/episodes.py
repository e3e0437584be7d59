"""Samples that act in their environment turn by turn, until it says that the episode is over."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from hone.api import simulation_pb2
from hone.environments.contract import Message
from hone.environments.hashing import digest
from hone.harnesses import HARNESSES
from hone.harnesses.contract import Harness, HarnessParams
from hone.trajectory.records import Call, Step
from hone.trajectory.tokens import Tokenizer
from services.rollout.claims import Claim
from services.rollout.contexts import Contexts, Opening
from services.rollout.patience import Patience
from services.rollout.sampling import Question, Sampler
from services.rollout.simulation import SessionLost, Simulation, StepRefused
from services.rollout.spans import spans
from services.rollout.tokenizers import Speakers, reading


class Diverged(Exception):
    """A session that was rebuilt, or an earlier attempt's, is not what it was: its sample is masked."""

    def __init__(self) -> None:
        super().__init__("its session, made again from what was done, is not what it was")


@dataclass(frozen=True)
class Acting:
    """How a group's policy acts: its harness with its parameters, and the tools it was shown."""

    harness: Harness
    params: HarnessParams
    tools: list[dict[str, Any]]
    context: int  # tokens of a prompt and its answer at most

    @classmethod
    def of(cls, claim: Claim, seen: simulation_pb2.Observation, positions: int) -> "Acting":
        """Return how a claim's policy acts in an environment that opens with `seen`; engines hold `positions`."""
        harness = HARNESSES[claim.order.harness]
        params = harness.params.model_validate(claim.order.harness_params)
        context = min(params.max_context or positions, positions)
        return cls(harness, params, json.loads(seen.tools_json or "[]"), context)

    def opening(self, seen: simulation_pb2.Observation) -> list[Message]:
        return self.harness.opening(self.params, messages(seen.messages), self.tools)

    def actions(self, call: Call) -> list[str]:
        return self.harness.actions(self.params, call.text, self.tools) if call.role == "policy" else [call.text]


@dataclass
class Episode:
    """One sample under way: its session, what has happened, and what the policy has read."""

    claim: Claim
    index: int
    speakers: Speakers
    acting: Acting
    session: simulation_pb2.Session
    asked: list[Message]  # what the policy's last call answered; before its first one, the opening
    item_json: str  # what graders see, as of the last step
    heard: list[Message] = field(default_factory=list)  # since then
    calls: list[Call] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    ended: str = ""
    masked: str = ""  # why it has no score, where that is not the policy's doing
    contexts: Contexts | None = None
    opening: Opening | None = None  # with what the policy is told besides

    @property
    def tokenizer(self) -> Tokenizer:
        """The policy's."""
        return self.speakers.policy

    @property
    def answered(self) -> Call | None:
        """The policy's last call."""
        return next((call for call in reversed(self.calls) if call.role == "policy"), None)

    @property
    def turns(self) -> int:
        return sum(call.role == "policy" for call in self.calls)

    def add(self, call: Call) -> None:
        """Go on with a call: what was heard so far is what the policy's answers."""
        if call.role == "policy":
            last = self.answered
            said = [{"role": "assistant", "content": self.tokenizer.decode(last.completion_ids)}] if last else []
            self.asked, self.heard = [*self.asked, *said, *self.heard], []
            call = self._marked(self._in_context(call, first=last is None))
        self.calls.append(call)

    def _marked(self, call: Call) -> Call:
        """Return a call with the named spans of what it says."""
        kinds = self.acting.params.spans
        return replace(call, spans=spans(call.completion_ids, kinds, self.tokenizer)) if kinds else call

    def _in_context(self, call: Call, first: bool) -> Call:
        """Return the policy's call, which answers `asked`, with the other contexts that it is judged in."""
        if self.contexts is None:
            return call
        if first:
            self.opening = self.contexts.opening(self.asked, call)
        return replace(call, contexts=self.contexts.contexts(self.opening, self.asked, call))

    @reading("policy")
    def prompt_ids(self) -> list[int]:
        """Return what the policy is asked next. Raises Unreadable."""
        last = self.answered
        if last is None:
            return self.tokenizer.prompt_ids([*self.asked, *self.heard])
        return self.tokenizer.next_prompt_ids(self.asked, last.prompt_ids, last.completion_ids, self.heard)

    def limit(self, prompt_ids: list[int], role: str = "policy") -> str:
        """Return which limit, of the harness or of a role's own model, forbids another call; empty if none does."""
        params = self.acting.params
        if role == "policy" and params.max_turns is not None and self.turns >= params.max_turns:
            return "max_turns"
        room = self.claim.room(role, self.acting.context)
        return "max_context" if len(prompt_ids) + self.claim.order.sampling["max_tokens"] > room else ""


class Episodes:
    """Plays samples; made inside the running loop."""

    def __init__(self, simulation: Simulation, sampler: Sampler, patience: Patience) -> None:
        self._simulation, self._sampler, self._patience = simulation, sampler, patience

    async def play(self, episode: Episode, call: Call) -> Episode:
        """Let calls act and the environment answer, from the first call on, until the episode has `ended`.

        Raises Unreadable when a role's tokenizer refuses what the environment says to it.
        """
        try:
            while not episode.ended:
                taken = await self._act(episode, call)
                question = _next(episode, taken)
                if question is not None:
                    call = await self._answer(episode, question)
        except (Diverged, StepRefused) as error:
            episode.ended = "diverged" if isinstance(error, Diverged) else "refused"
            episode.masked = str(error)
        return episode

    async def _act(self, episode: Episode, call: Call) -> simulation_pb2.StepResponse:
        """Take the call's actions in order, up to the one that ends the episode or needs somebody's words."""
        episode.add(call)
        for action in episode.acting.actions(call):
            taken = await self._step(episode, call, action)
            if taken.done or taken.observation.HasField("ask"):
                break
        return taken

    async def _answer(self, episode: Episode, question: Question) -> Call:
        """Return the next call: a journaled one where there is one."""
        steps = [step for step in episode.steps if step.call == question.number - 1]
        kept = question.claim.journaled.get((episode.index, question.number))
        if kept is None:
            return await self._sampler.later(question, episode.index, steps)
        if (kept.call.prompt_ids, kept.steps) != (question.prompt_ids, steps):
            raise Diverged
        return kept.call

    async def _step(self, episode: Episode, call: Call, action: str) -> simulation_pb2.StepResponse:
        taken = await self._patience.keep(
            episode.claim, "simulation", lambda: self._taken(episode, len(episode.steps), action))
        known = _step(len(episode.steps), call.index, action, taken)
        episode.steps.append(known)
        episode.heard += known.said
        episode.item_json = taken.observation.item_json
        return taken

    async def _taken(self, episode: Episode, index: int, action: str) -> simulation_pb2.StepResponse:
        try:
            return await self._simulation.step(episode.session, index, action)
        except SessionLost:
            await self._rebuild(episode)
            return await self._simulation.step(episode.session, index, action)

    async def _rebuild(self, episode: Episode) -> None:
        """Start the task again and take the same actions. Raises Diverged when they lead elsewhere."""
        session = await self._simulation.reset(episode.claim)
        if session.observation.state_hash != episode.session.observation.state_hash:
            raise Diverged
        for known in episode.steps:
            taken = await self._simulation.step(session, known.index, known.action)
            if _step(known.index, known.call, known.action, taken) != known:
                raise Diverged
        episode.session = session


def messages(said: Any) -> list[Message]:
    """Return messages of the wire as the tokenizer takes them."""
    return [{"role": message.role, "content": message.content} for message in said]


def _next(episode: Episode, taken: simulation_pb2.StepResponse) -> Question | None:
    """Return what is asked next, of the policy or of whom the environment asks; None when the episode has ended."""
    seen, role, tokenizer = taken.observation, "policy", episode.tokenizer
    if taken.done:
        episode.ended = "done"
        return None
    if seen.HasField("ask"):
        role, tokenizer = seen.ask.role, episode.speakers.of(seen.ask.role)
        prompt_ids = episode.speakers.prompt_ids(role, messages(seen.ask.messages))
    else:
        prompt_ids = episode.prompt_ids()
    episode.ended = episode.limit(prompt_ids, role)
    return None if episode.ended else Question(
        episode.claim, tokenizer, len(episode.calls), prompt_ids, episode.turns, role)


def _step(index: int, call: int, action: str, taken: simulation_pb2.StepResponse) -> Step:
    seen = taken.observation
    said = messages(seen.messages)
    return Step(
        index=index, call=call, action=action, said=said, observation_hash=digest(said), state_hash=seen.state_hash,
        valid=taken.valid, effect=taken.effect if taken.HasField("effect") else None,
        reward=taken.reward if taken.HasField("reward") else None,
        admissible=list(seen.admissible.names) if seen.HasField("admissible") else None,
        entities=list(seen.entities.names) if seen.HasField("entities") else None,
        rules=dict(sorted(taken.rules.items())))  # a map of the wire has no order, what is stored has
