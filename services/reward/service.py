"""The Reward service: it grades samples that have no grade yet, stores the grades, and returns the stored ones.

It also grades the references of task rows, before a run.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from hone.api import reward_pb2, reward_pb2_grpc
from hone.crashpoints import reach
from hone.graders import right_answers
from hone.graders.contract import Result, Status, failure
from hone.graders.error_kinds import error_kind
from hone.graders.right_answers import Ending, Finding
from hone.graders.sample import Conversation, Reads, Sent, World
from hone.graders.specs import Spec, spec
from hone.process.line import WAIT_S, StillWaiting, Turn
from hone.rpc.errors import InvalidField, OverBudget
from hone.rpc.tenancy import calling
from hone.spec.problems import Invalid
from hone.store.database import Row
from hone.text.storable import storable
from services.reward.grading import YIELD_S, Grading, Key
from services.reward.ledger import Account, Ledger, StoredGrade
from services.reward.queue import GradingQueue
from services.reward.storable import storable_result
from services.reward.stored_samples import StoredSamples

DEFAULT_GROUPS, MOST_GROUPS = 20, 100
"""Groups whose samples are graded again in one call."""
_PURPOSE = re.compile(r"[a-z_]{1,40}")
_ANSWER_S = 2.0
"""Seconds before the end of a call in which it says why samples still wait."""


class Reward(reward_pb2_grpc.RewardServiceServicer):
    """Grades samples and keeps the grades in its ledger."""

    def __init__(
        self, grading: Grading, ledger: Ledger, queue: GradingQueue, stored: StoredSamples, most: int
    ) -> None:
        """`most`: samples of a call through the door, or rows."""
        self._grading, self._ledger, self._queue, self._most = grading, ledger, queue, most
        self._stored = stored

    async def Grade(self, request: reward_pb2.GradeRequest, context: Any) -> reward_pb2.GradeResponse:
        """Grade the samples that have no grade yet, store the grades, and return the grades of all samples."""
        self._expect_few("items", len(request.items), context)
        grader = _spec(request.grader_json)
        samples = _samples(grader, request.items)
        grades: dict[Key, StoredGrade] = {}
        async for more in self._graded(_account(request, grader, context, request.again), grader, samples, context):
            grades |= more
        return reward_pb2.GradeResponse(grades=[_stored_message(grades[key]) for key in samples])

    async def GradeStream(
        self, request: reward_pb2.GradeStreamRequest, context: Any
    ) -> AsyncIterator[reward_pb2.GradeStreamResponse]:
        """The same as Grade, but send each grade as soon as it is stored."""
        asked = request.request
        self._expect_few("request.items", len(asked.items), context)
        grader = _spec(asked.grader_json)
        samples = _samples(grader, asked.items)
        places = {key: place for place, key in enumerate(samples)}
        account = _account(asked, grader, context, asked.again)
        async for grades in self._graded(account, grader, samples, context):
            yield reward_pb2.GradeStreamResponse(
                places=[places[key] for key in grades], grades=[_stored_message(grade) for grade in grades.values()])

    async def Reverify(self, request: reward_pb2.ReverifyRequest, context: Any) -> reward_pb2.ReverifyResponse:
        """Grade stored samples of a run again, by any grader, beside their first grades."""
        grader, limit = _spec(request.grader_json), request.limit or DEFAULT_GROUPS
        if not 1 <= limit <= MOST_GROUPS:
            raise InvalidField("limit", request.limit, f"1 to {MOST_GROUPS}")
        if request.purpose and not _PURPOSE.fullmatch(request.purpose):
            raise InvalidField("purpose", request.purpose[:200], "a purpose of groups, such as train, or nothing")
        page = await self._stored.page(
            request.tenant_id, request.run_id, grader, request.purpose or None, limit, request.after)
        grades: dict[Key, StoredGrade] = {}
        async for more in self._graded(_account(request, grader, context, True), grader, page.samples, context):
            grades |= more
        return reward_pb2.ReverifyResponse(grader_hash=grader.hash, next=page.next, samples=[
            _reverified(key, row, grades.get(key), page.lost.get(key, "")) for key, row in page.rows.items()])

    async def _graded(
        self, account: Account, grader: Spec, samples: Mapping[Key, Sent], context: Any,
    ) -> AsyncIterator[dict[Key, StoredGrade]]:
        """Yield the grades that are stored already, then the new ones in batches. Raises OverBudget."""
        turn = _turn(account.tenant_id, account.run_id, context)
        known = await self._ledger.stored(account, samples.keys())
        if known:
            yield known
        missing = _missing(grader, samples, known)
        with _later():
            if grader.needs:
                async for stored in self._queue.graded(account, grader, missing, turn):
                    yield stored
                return
            async for results in self._grading.batches(grader, missing, turn):
                if results:
                    yield await self._store(account, results)

    async def RunGrader(self, request: reward_pb2.RunGraderRequest, context: Any) -> reward_pb2.RunGraderResponse:
        """Grade one output and store nothing."""
        grader = _spec(request.grader_json)
        sample = Sent(_item(request.item_json, "item_json"), request.output_text,
                      conversation=_of_kind(Conversation, request.conversation_json, "conversation_json"))
        _check_sent(grader, sample, "")
        with _later():
            [result] = await self._grading.grade(grader, (sample,), _by_hand(context))
        return reward_pb2.RunGraderResponse(grade=_message(result))

    async def CheckReferences(
        self, request: reward_pb2.CheckReferencesRequest, context: Any
    ) -> AsyncIterator[reward_pb2.CheckReferencesResponse]:
        """Grade the reference of each row as if it were the output, and send each finding soon after it is made."""
        self._expect_few("items_json", len(request.items_json), context)
        grader, turn = _spec(request.grader_json), _turn(request.tenant_id, f"check/{request.tenant_id}", context)
        ending = Ending(tuple(request.stop), request.include_stop)
        rows = [json.loads(_item(text, f"items_json[{place}]")) for place, text in enumerate(request.items_json)]
        checks = {asyncio.ensure_future(self._checked(grader, row, ending, turn)): place
                  for place, row in enumerate(rows)}
        pending = set(checks)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, timeout=YIELD_S)
                with _later():
                    found = {checks[task]: task.result() for task in done}
                yield reward_pb2.CheckReferencesResponse(
                    places=list(found), findings=[_finding_message(finding) for finding in found.values()])
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _checked(self, grader: Spec, row: dict[str, Any], ending: Ending, turn: Turn) -> Finding:
        if not grader.pooled and not grader.needs:
            return await asyncio.to_thread(right_answers.checked, grader, row, ending)
        if grader.inner:
            return right_answers.joined([(path, await self._checked(inner, row, ending, turn))
                                         for path, inner in grader.inner.items()])
        right = right_answers.asked(grader, row, ending)
        if isinstance(right, Finding):
            return right
        [result] = await self._grading.grade(grader, (Sent(json.dumps(row), right.text),), turn)
        return right_answers.compared(right, result)

    def _expect_few(self, field: str, count: int, context: Any) -> None:
        """Raise InvalidField for a call through the door with too many samples: it would take the pool for long."""
        if calling(context) and count > self._most:
            raise InvalidField(field, f"{count} of them", f"at most {self._most} in a call (HONE_TENANT_SAMPLES)")

    async def _store(self, account: Account, results: dict[Key, Result]) -> dict[Key, StoredGrade]:
        reach("grade.before-row")
        grades = await self._ledger.add(account, results)
        reach("grade.after-row")
        return grades


def _account(request: Any, grader: Spec, context: Any, again: bool) -> Account:
    return Account(request.tenant_id, request.run_id, grader.hash, _key(context), int(again))


def _turn(tenant_id: str, run: str, context: Any) -> Turn:
    """Return the turn of a call: its samples wait for a process until shortly before the call's deadline."""
    left_s = context.time_remaining()
    return Turn(run, WAIT_S if left_s is None else max(left_s - _ANSWER_S, left_s / 2), tenant_id)


def _by_hand(context: Any) -> Turn:
    tenant_id = _tenant(context)
    return replace(_turn(tenant_id, f"by hand/{tenant_id}", context), key=_key(context))


def _key(context: Any) -> str:
    """Return the key of a call through the door, an empty text for another service's call."""
    who = calling(context)
    return who.key_id if who else ""


def _tenant(context: Any) -> str:
    who = calling(context)
    return who.tenant_id if who else ""


@contextmanager
def _later() -> Iterator[None]:
    """Raise OverBudget where samples still wait: they have no grade yet, and another call gets them one."""
    try:
        yield
    except StillWaiting as error:
        raise OverBudget(str(error)) from error


def _spec(text: str) -> Spec:
    try:
        return spec(text)
    except Invalid as error:
        first = error.problems[0]
        raise InvalidField(f"grader_json.{first.field}", first.found, first.expected) from error


def _samples(grader: Spec, items: Sequence[reward_pb2.GradeItem]) -> dict[Key, Sent]:
    """Return the samples of a request. Raises InvalidField, also where the grader reads what was not sent."""
    samples: dict[Key, Sent] = {}
    rows: dict[str, str] = {}
    for place, item in enumerate(items):
        key, at = (item.group_id, item.index), f"items[{place}]"
        if key in samples:
            raise InvalidField(at, key, "a sample that is not in the request already")
        if item.item_json not in rows:
            rows[item.item_json] = _item(item.item_json, f"{at}.item_json")
        conversation = _of_kind(Conversation, item.conversation_json, f"{at}.conversation_json")
        world = _of_kind(World, item.world_json, f"{at}.world_json")
        samples[key] = Sent(rows[item.item_json], item.output_text, item.truncated, conversation, world)
        _check_sent(grader, samples[key], at)
    return samples


def _check_sent(grader: Spec, sample: Sent, at: str) -> None:
    """Raise InvalidField if a sample lacks what its grader reads."""
    for read in (Reads.CONVERSATION, Reads.WORLD):
        if read in grader.reads and not getattr(sample, read):
            prefix = f"{at}." if at else ""
            raise InvalidField(f"{prefix}{read}_json", "nothing", f"what a grader of type {grader.params.type} reads")


def _of_kind(kind: type[BaseModel], text: str, field: str) -> str:
    """Return a JSON text that is of a kind, or empty, as it came. Raises InvalidField."""
    try:
        if text:
            kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join([field, *map(str, first["loc"])])
        raise InvalidField(at, str(first["input"])[:200], first["msg"]) from error
    return text


def _missing(grader: Spec, samples: Mapping[Key, Sent], known: Collection[Key]) -> dict[Key, Sent]:
    """Return the samples that lack a grade; whole groups if the grader reads those."""
    missing = {key: sample for key, sample in samples.items() if key not in known}
    if Reads.GROUP not in grader.reads:
        return missing
    groups = {group_id for group_id, _ in missing}
    return {key: sample for key, sample in samples.items() if key[0] in groups}


def _item(text: str, field: str) -> str:
    """Return the text of a JSON object; an empty text is an empty row. Raises InvalidField."""
    try:
        row = json.loads(text or "{}")
    except ValueError as error:
        raise InvalidField(field, text[:200], f"a JSON object ({error})") from error
    except RecursionError as error:
        raise InvalidField(field, text[:200], "a JSON object of fewer levels") from error
    if not isinstance(row, dict):
        raise InvalidField(field, text[:200], "a JSON object")
    return text or "{}"


def _stored_message(grade: StoredGrade) -> reward_pb2.Grade:
    message = _message(grade.result)
    message.grade_id = grade.grade_id
    return message


def _reverified(key: Key, row: Row, grade: StoredGrade | None, lost: str) -> reward_pb2.Reverified:
    """Return a sample's later grade beside its first one. `lost`: why its world could not be made again."""
    again = _stored_message(grade) if grade else _message(failure(Status.INFRA_ERROR, f"world: {lost}"))
    return reward_pb2.Reverified(
        group_id=key[0], index=key[1], first_status=f"GRADE_STATUS_{row['status'].upper()}", first_score=row["score"],
        grade=again)


def _finding_message(finding: Finding) -> reward_pb2.ReferenceFinding:
    return reward_pb2.ReferenceFinding(
        standing=f"STANDING_{finding.standing.name}", reason=storable(finding.reason),
        output=storable(finding.output))


def _message(result: Result) -> reward_pb2.Grade:
    result = storable_result(result)
    return reward_pb2.Grade(
        status=f"GRADE_STATUS_{result.status.name}", score=result.score, components=result.components,
        reasons=result.reasons, extracted=result.extracted, decided_by=result.decided_by, cost_ms=result.cost_ms,
        turns=[reward_pb2.TurnScores(call=call, scores=scores) for call, scores in result.turns.items()],
        steps=[reward_pb2.StepScore(**asdict(step)) for step in result.steps],
        error=error_kind(result.status, result.reasons) or "", tokens=result.tokens,
        evidence_json=[json.dumps(one) for one in result.evidence])
