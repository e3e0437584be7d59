"""The common start of a group's samples: the task's session, the harness, the tokenizers and the first prompt."""

import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hone.api import simulation_pb2
from hone.environments.contract import Message
from hone.environments.messages import from_proto
from hone.graders.specs import Spec, spec
from hone.graders.templates import filled
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contexts import PrivilegedContexts
from hone.harnesses.contract import Harness, HarnessParams
from hone.harnesses.observed import question, taken
from hone.harnesses.seat import POLICY, Ask, HarnessFailed, Heard, Kept, Seat, Tools
from hone.text.conversation import content_text, with_system
from services.rollout.calls import CallRequest
from services.rollout.claims import Claim
from services.rollout.tokenizers import RoleTokenizers, Unreadable

CHARACTERS = 1024
"""More characters than any token stands for, but for runs of one character."""


@dataclass(frozen=True)
class GroupStart:
    """Shared start of a group's samples."""

    claim: Claim
    tokenizers: RoleTokenizers
    session: simulation_pb2.Session
    positions: int  # tokens that engines hold
    collections: Mapping[str, Sequence[Kept]] = field(default_factory=dict)  # at the versions that the order pins

    @cached_property
    def harness(self) -> Harness:
        return HARNESSES[self.claim.order.harness]

    @cached_property
    def params(self) -> HarnessParams:
        return self.harness.params.model_validate(self.claim.order.harness_params)

    @cached_property
    def grader(self) -> Spec:
        """The run's, or else the environment's own; inside of one that asks about deviation, where somebody judges it.
        """
        given, judge = self.claim.order.grader, self.claim.order.deviation_judge
        own = self.session.observation.grader_json if given is None else json.dumps(given, sort_keys=True)
        if judge is None:
            return spec(own)
        return spec(json.dumps({"type": "deviation", "model": judge, "grader": json.loads(own)}, sort_keys=True))

    @cached_property
    def tools(self) -> Tools:
        """Those of the environment."""
        tools: Tools = json.loads(self.session.observation.tools_json or "[]")
        return tools

    @cached_property
    def said(self) -> list[Message]:
        """First words of the environment."""
        return from_proto(self.session.observation.messages)

    @cached_property
    def heard(self) -> Heard:
        return taken(simulation_pb2.StepResponse(observation=self.session.observation, valid=True)).heard

    @cached_property
    def contexts(self) -> PrivilegedContexts | None:
        """The privileged texts, which may name fields of the dataset's row and of the environment's item."""
        if not self.claim.order.privileged:
            return None
        row, own = self.claim.order.task.get("item") or {}, json.loads(self.session.observation.item_json or "{}")
        texts = filled(self.claim.order.privileged, {**row, **own})
        return PrivilegedContexts(texts, self.tokenizers.policy, self.claim.room(POLICY, self.positions))

    @cached_property
    def single_turn(self) -> bool:
        """Whether the policy's first answer ends the episode and the environment has no part in judging it."""
        seen = self.session.observation
        judges = "verified" in json.loads(seen.item_json or "{}")
        return seen.turns_left == 1 and not seen.HasField("ask") and not judges

    def begun(self, index: int) -> tuple[Seat, Coroutine[Any, Any, None]]:
        """Return a sample's first seat and its play."""
        key = f"{self.claim.order.seed}/{self.claim.order.request}/{index}"
        seat = Seat(self.said, self.tools, self.heard, key, self.params.max_turns, collections=self.collections,
                    task=self.claim.order.task_hash)
        return seat, self._play(seat)

    async def _play(self, seat: Seat) -> None:
        """Play a sample: first a role that the environment asks speaks, then the harness plays."""
        if self.session.observation.HasField("ask"):
            heard = await seat.answered(question(self.session.observation))
            seat.opening = [*seat.opening, *heard.messages]
        await self.harness.play(seat, self.params)

    def readable(self, said: Sequence[Message]) -> list[Message]:
        """Return messages of a harness as the policy's model can read them.

        A system message of the harness opens the first message where the model reads none.
        """
        own = said and said[0]["role"] == "system" and said[0] not in self.said
        if not own or "system" not in self.tokenizers.policy.lacks:
            return [dict(one) for one in said]
        return [dict(one) for one in with_system(said[1:], content_text(said[0]), system=False)]

    def sampling(self, ask: Ask) -> dict[str, Any]:
        """Return the sampling parameters of a call: the run's, and those that the harness gives.

        Raises HarnessFailed for a call that would train at another temperature than its step.
        """
        order = self.claim.order
        given: dict[str, Any] = {"max_tokens": ask.max_tokens, "stop": ask.stop}
        if ask.temperature is not None and (ours := order.sampling.get("temperature", 1.0)):
            if order.purpose == "train" and ask.role == POLICY and ask.temperature != ours:
                raise HarnessFailed(f"it asks at temperature {ask.temperature:g}, expected {ours:g}: a step is trained "
                                    "at one temperature")
            given["temperature"] = ask.temperature
        own = {name: value for name, value in given.items() if value is not None}
        return {**order.sampling, **own} if own else order.sampling

    def fits(self, request: CallRequest) -> bool:
        """Return whether a prompt and its answer have room: of the harness, of the role's model and of an engine."""
        most = min(self.params.max_context or self.positions, self.positions)
        return request.most_tokens <= self.claim.room(request.ask.role, most)

    def check_characters(self, role: str, said: Sequence[Message]) -> None:
        """Raise Unreadable for a first prompt that is too long whatever its tokens are, before it is tokenized."""
        found, most = len(json.dumps(said, ensure_ascii=False)), CHARACTERS * self.claim.room(role, self.positions)
        if found > most:
            raise Unreadable(
                f"the {role}'s first prompt is too long: found {found} characters, expected at most {most}")

    def check_room(self, request: CallRequest) -> None:
        """Raise Unreadable if a first prompt and its answer have more tokens than a role's model or an engine can hold.
        """
        role, prompt, answer = request.ask.role, len(request.prompt_ids), request.sampling["max_tokens"]
        room = self.claim.room(role, self.positions)
        if prompt + answer > room:
            whose = (f"the max_position_embeddings of the {role}'s model" if room < self.positions
                     else "the positions of an engine (HONE_ENGINE_MAX_TOKENS)")
            raise Unreadable(f"the {role}'s first prompt is too long: found {prompt} tokens, and {answer} of "
                             f"max_tokens, expected at most {room} together, {whose}")
