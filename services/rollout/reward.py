"""Having answers graded: those of one grader that come together go as one call."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from hone.api import reward_pb2, reward_pb2_grpc
from hone.rpc.client import TIMEOUT_S, channel
from hone.spec.settings import Settings
from hone.telemetry import tracing
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim
from services.rollout.patience import invalid

STATUSES = {number: name.removeprefix("GRADE_STATUS_").lower()
            for name, number in reward_pb2.GradeStatus.items() if number}
"""What `grades.status` calls a status of the wire."""

ITEMS_PER_TIMEOUT = 256
"""A call with this many answers may take twice the usual time, and so on."""


CALLS = 16
"""Calls of one grader at a time; what comes meanwhile goes together in the next."""


@dataclass(frozen=True)
class Answer:
    """How one sample ended: its last words, and the task row as the environment left it."""

    index: int
    item_json: str
    text: str
    truncated: bool


@dataclass(frozen=True)
class Answers:
    """A group's answers, to be graded."""

    claim: Claim
    answers: list[Answer]


class _Waiting:
    """Answers whose grades come one by one: each is complete when its last one is there."""

    def __init__(self, batch: Sequence[Answers]) -> None:
        self._owners = [(place, index) for place, answers in enumerate(batch) for index in range(len(answers.answers))]
        self._grades: list[dict[int, reward_pb2.Grade]] = [{} for _ in batch]
        self._sizes = [len(answers.answers) for answers in batch]

    def take(self, response: reward_pb2.GradeStreamResponse) -> Iterator[tuple[int, list[reward_pb2.Grade]]]:
        """Give the places in the batch that are complete now, and their grades in order."""
        for item, grade in zip(response.places, response.grades, strict=True):
            place, index = self._owners[item]
            grades = self._grades[place]
            grades[index] = grade
            if len(grades) == self._sizes[place]:
                yield place, [grades[each] for each in range(self._sizes[place])]


class Reward:
    """Client of the reward service; made inside the running loop."""

    def __init__(self, settings: Settings) -> None:
        self._channel = channel(settings.addresses.reward)
        self._stub = reward_pb2_grpc.RewardServiceStub(self._channel)
        self._graders: dict[tuple[str, str, str], Batcher[Answers, list[reward_pb2.Grade]]] = {}

    async def grade(self, answers: Answers, grader_json: str) -> list[reward_pb2.Grade]:
        """Return a grade for each answer, in order; the service keeps the rows. Raises grpc.aio.AioRpcError."""
        if not answers.answers:
            return []
        key = (answers.claim.tenant_id, answers.claim.run_id, grader_json)
        if key not in self._graders:
            self._graders = {known: grader for known, grader in self._graders.items() if not grader.idle}
            self._graders[key] = Batcher(
                lambda batch: self._grade(key, batch), calls=CALLS, split=invalid)
        with tracing.span("grade", samples=len(answers.answers)):
            return await self._graders[key].ask(answers)

    async def close(self) -> None:
        await self._channel.close(None)

    async def _grade(
        self, key: tuple[str, str, str], batch: list[Answers]
    ) -> AsyncIterator[tuple[int, list[reward_pb2.Grade]]]:
        tenant_id, run_id, grader_json = key
        items = [item for answers in batch for item in _items(answers)]
        request = reward_pb2.GradeRequest(tenant_id=tenant_id, run_id=run_id, grader_json=grader_json, items=items)
        waiting = _Waiting(batch)
        timeout_s = TIMEOUT_S * (1 + len(items) / ITEMS_PER_TIMEOUT)
        async for response in self._stub.GradeStream(reward_pb2.GradeStreamRequest(request=request), timeout=timeout_s):
            for place, grades in waiting.take(response):
                yield place, grades


def grader_json(claim: Claim, environments_own: str) -> str:
    """Return the grader that judges a group: the run's, else the environment's own."""
    return environments_own if claim.order.grader is None else json.dumps(claim.order.grader, sort_keys=True)


def score(grade: reward_pb2.Grade) -> float | None:
    """Return what the answer is worth; None when its status masks it."""
    return grade.score if grade.HasField("score") else None


def _items(answers: Answers) -> list[reward_pb2.GradeItem]:
    return [reward_pb2.GradeItem(group_id=answers.claim.id, index=answer.index, item_json=answer.item_json,
                                 output_text=answer.text, truncated=answer.truncated) for answer in answers.answers]
