"""Episodes with a scripted model."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from hone.api import simulation_pb2
from hone.environments.tasks import make, to_proto
from hone.harnesses.seat import Kept
from hone.models import toy
from hone.rpc.errors import NotFound
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Call, Step, VersionSpan
from services.rollout.branches import Episode
from services.rollout.calls import CallRequest
from services.rollout.clients import SessionLost, StepRefused
from services.rollout.episodes import Episodes
from services.rollout.start import GroupStart
from services.rollout.tokenizers import RoleTokenizers
from services.simulation.service import Simulation as Servicer
from services.simulation.sessions import Sessions
from tests.support.rollout.groups import claim

TOKENIZER = Tokenizer({name: data for name, data in toy.files(vocab_size=128, symbols=toy.TEXT).items()
                       if name.endswith(".json")})
LINE: dict[str, Any] = {"syntax": "line", "describe": False}
COUNT = "query: SELECT count(*) FROM items"
ORDER: dict[str, Any] = {"sampling": {"max_tokens": 64}, "harness": "tool_loop", "harness_params": LINE}
GROUP = claim(**ORDER)
UNNAMED: Any = SimpleNamespace(invocation_metadata=tuple)  # the context of a call that names no tenant


class Local:
    """The simulation service in this process. It can be restarted, and then knows no session."""

    def __init__(self, environment: str = "sqlite", seed: int = 3, params: dict[str, Any] | None = None) -> None:
        self.environment, self.seed, self.params = environment, seed, params or {}
        self.taken: list[str] = []
        self.forked: list[str] = []
        self.restart()

    def restart(self) -> None:
        self._servicer = Servicer("here:1", Sessions())

    async def reset(self, _: Any) -> simulation_pb2.Session:
        task = to_proto(make(self.environment, self.params, self.seed))
        response = await self._servicer.Reset(simulation_pb2.ResetRequest(tasks=[task]), UNNAMED)
        return response.sessions[0]

    async def step(
        self, run_id: str, session: simulation_pb2.Session, index: int, action: str,  # noqa: ARG002
    ) -> simulation_pb2.StepResponse:
        self.taken.append(action)
        request = simulation_pb2.StepRequest(session_id=session.session_id, index=index, action=action)
        response = await self._servicer.StepBatch(simulation_pb2.StepBatchRequest(steps=[request]), UNNAMED)
        if response.outcomes[0].HasField("lost"):
            raise SessionLost
        if response.outcomes[0].HasField("refused"):
            raise StepRefused(response.outcomes[0].refused)
        return response.outcomes[0].taken

    async def fork(self, session: simulation_pb2.Session) -> simulation_pb2.Session:
        self.forked.append(session.session_id)
        try:
            response = await self._servicer.Fork(simulation_pb2.ForkRequest(session_id=session.session_id), UNNAMED)
        except NotFound as error:
            raise SessionLost from error
        return response.session


@dataclass
class Script:
    """Answers the first call of each sample, and later calls in turn. It records the requests for these."""

    first: str
    texts: list[str]
    before: Callable[[], None] = lambda: None
    asked: list[tuple[CallRequest, list[Step]]] = field(default_factory=list)
    began: list[CallRequest] = field(default_factory=list)

    async def first_calls(self, question: CallRequest, samples: Sequence[int]) -> list[Call]:
        self.began.append(question)
        return [answer(question, self.first) for _ in samples]

    async def next_call(self, question: CallRequest, _: int, steps: list[Step]) -> Call:
        self.asked.append((question, steps))
        self.before()
        return answer(question, self.texts[len(self.asked) - 1])


class Patient:
    async def until_answered(self, asked: Any, source: str, ask: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ARG002
        while True:
            with suppress(SessionLost):
                return await ask()


def answer(question: CallRequest, text: str) -> Call:
    ids, ask = question.given or [*TOKENIZER.encode(text), TOKENIZER.eos_id], question.ask
    return Call(
        index=question.index, number=ask.number, parent=question.parent, kind=ask.kind, turn=ask.seat.turns,
        role=ask.role, group_key=ask.group_key, prompt_ids=question.prompt_ids, completion_ids=ids,
        logp_sample=[-0.5] * len(ids), finish_reason="stop", versions=[VersionSpan("ver", len(ids))],
        text=TOKENIZER.decode(ids), train_mask=[ask.role == "policy"] * len(ids),
        entropy=len(ids) / 8 if ask.entropy else None)


async def every_played(
    local: Local, script: Script, group: Any = GROUP, tokenizers: RoleTokenizers | None = None, positions: int = 512,
    **collections: list[Kept],
) -> list[Episode]:
    start = GroupStart(
        group, tokenizers or RoleTokenizers(TOKENIZER), await local.reset(group), positions, collections)
    return await Episodes(local, script, Patient(), None).play(start)  # type: ignore[arg-type]


async def played(
    local: Local, script: Script, group: Any = GROUP, tokenizers: RoleTokenizers | None = None, positions: int = 512,
) -> Episode:
    return (await every_played(local, script, group, tokenizers, positions))[0]
