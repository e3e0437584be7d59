"""The Simulation service: it draws tasks, and starts and steps episodes. All that it keeps can be made again."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.crashpoints import reach
from hone.environments import messages
from hone.environments.catalogue import ENVIRONMENTS, has
from hone.environments.contract import (
    Elsewhere,
    EpisodeOver,
    Observation,
    Task,
    Transition,
    WrongParams,
)
from hone.environments.streams import draw
from hone.environments.tasks import Split, episode_from_proto, json_object, to_proto
from hone.environments.tools import Examinable, Tool, ToolCall, ToolError, use
from hone.rpc.errors import Diverged, InvalidField, NotFound, Refused
from hone.rpc.tenancy import calling
from hone.spec.snapshots import WrongSnapshot
from hone.telemetry import logs
from services.simulation import users
from services.simulation.answers import observation_message, transition_message
from services.simulation.audiences.service import Audiences
from services.simulation.fair_thread import FairThread, Owner
from services.simulation.packages.shelf import OWNER
from services.simulation.refusals import fields_named, kept, reached
from services.simulation.sessions import Beginnings, Session, Sessions
from services.simulation.waiting import Waiting

MAX_TASKS = 65_536
"""Most tasks of one DrawTasks call."""
_DRAWN = 64
"""Tasks that are drawn before the work of others may come between."""
_LONGEST_REFUSAL = 1000
_log = logging.getLogger(__name__)
Result = TypeVar("Result")
SPLITS: dict[int, Split] = {simulation_pb2.SPLIT_TRAIN: "train", simulation_pb2.SPLIT_HELD_OUT: "held_out"}


class Simulation(simulation_pb2_grpc.SimulationServiceServicer):
    """Serves at `address`; its sessions name that address. One thread makes tasks, another takes steps.

    In both of them tenants and their runs take turns. Episodes whose world is elsewhere wait in threads of their own.
    """

    def __init__(self, address: str, sessions: Sessions) -> None:
        self._address, self._sessions = address, sessions
        self.audiences: Audiences | None = None  # None: this process has no database
        self._task_thread, self._step_thread, self._waiting = FairThread("tasks"), FairThread("steps"), Waiting()
        sessions.forgotten = self._let_go

    async def Reset(self, request: simulation_pb2.ResetRequest, context: Any) -> simulation_pb2.ResetResponse:
        """Start one session for each task."""
        sessions, tenant_id = [], _tenant(context)
        self._sessions.expect_room(tenant_id, len(request.tasks))
        away, begun = [has(task.environment, "elsewhere") for task in request.tasks], Beginnings()
        try:
            started = await self._apart(self._task_thread, context, away, [
                partial(_begin, task, f"tasks[{place}].", begun) for place, task in enumerate(request.tasks)])
            self._sessions.expect_room(tenant_id, len(request.tasks))  # others may have come meanwhile
        except BaseException:
            self._waiting.later(begun.give_up)
            raise
        for place, (one, seen) in enumerate(started):
            if place == len(started) // 2:
                reach("reset.mid")
            sessions.append(self._opened(one, tenant_id, observation_message(seen)))
        return simulation_pb2.ResetResponse(sessions=sessions)

    async def Step(self, request: simulation_pb2.StepRequest, context: Any) -> simulation_pb2.StepResponse:
        """Take one step. A step that was taken already returns its stored result."""
        session = self._sessions.get(request.session_id, _tenant(context))
        return await self._of(session, context, lambda: transition_message(_stepped(session, request)))

    async def StepBatch(
            self, request: simulation_pb2.StepBatchRequest, context: Any) -> simulation_pb2.StepBatchResponse:
        """Take one step in each of many sessions."""
        reach("turn.before")
        tenant_id = _tenant(context)
        asked = [(self._sessions.find(one.session_id, tenant_id), one) for one in request.steps]
        outcomes = await self._apart(
            self._step_thread, context, [session is not None and _is_elsewhere(session) for session, _ in asked],
            [partial(_outcome, session, one) for session, one in asked])
        reach("turn.after")
        return simulation_pb2.StepBatchResponse(outcomes=outcomes)

    async def Snapshot(
            self, request: simulation_pb2.SnapshotRequest, context: Any) -> simulation_pb2.SnapshotResponse:
        """Return a session's state as JSON."""
        session = self._sessions.get(request.session_id, _tenant(context))
        shot = await self._of(session, context, lambda: kept(lambda: _snapshot(session)))
        if request.with_observation and session.seen is not None:
            shot.observation.CopyFrom(observation_message(session.seen))
            shot.done = session.done
        return shot

    async def Restore(self, request: simulation_pb2.RestoreRequest, context: Any) -> simulation_pb2.RestoreResponse:
        """Start a session in the state of a snapshot."""
        [restored] = await self._apart(
            self._task_thread, context, [has(request.task.environment, "elsewhere")],
            [partial(_restored, request)])
        offered = [tool.described(name) for name, tool in _examination_tools(restored).items()]
        return simulation_pb2.RestoreResponse(
            session=self._opened(restored, _tenant(context)),
            examination_tools_json=messages.ordered(offered) if offered else "")

    async def Fork(self, request: simulation_pb2.ForkRequest, context: Any) -> simulation_pb2.ForkResponse:
        """Start an independent session in the state of another."""
        session = self._sessions.get(request.session_id, _tenant(context))
        forked = await self._of(session, context, session.fork)
        return simulation_pb2.ForkResponse(session=self._opened(forked, _tenant(context)))

    async def Examine(self, request: simulation_pb2.ExamineRequest, context: Any) -> simulation_pb2.ExamineResponse:
        """Use a tool on a session's present state, also after its episode has ended."""
        session = self._sessions.get(request.session_id, _tenant(context))
        return await self._of(session, context, lambda: _examined(session, request))

    async def Replay(self, request: simulation_pb2.ReplayRequest, context: Any) -> simulation_pb2.ReplayResponse:
        """Return the states of a task before and after recorded actions. No session stays."""
        [replayed] = await self._apart(
            self._step_thread, context, [has(request.task.environment, "elsewhere")],
            [partial(_replayed, request)])
        return replayed

    async def Verify(self, request: simulation_pb2.VerifyRequest, context: Any) -> simulation_pb2.VerifyResponse:
        """Return the environment's own score of a session's present state."""
        session = self._sessions.get(request.session_id, _tenant(context))
        score = await self._of(session, context, lambda: kept(session.episode.verify))
        return simulation_pb2.VerifyResponse(score=score)

    async def Close(self, request: simulation_pb2.CloseRequest, context: Any) -> simulation_pb2.CloseResponse:
        """End sessions."""
        self._sessions.close(request.session_ids, _tenant(context))
        return simulation_pb2.CloseResponse()

    async def CreateUser(
            self, request: simulation_pb2.CreateUserRequest, context: Any) -> simulation_pb2.CreateUserResponse:
        """Start a session with a simulated user."""
        self._sessions.expect_room(_tenant(context))
        session, seen = await self._task_thread.run(_owner(context), partial(_user, request))
        opened = self._opened(session, _tenant(context), observation_message(seen))
        return simulation_pb2.CreateUserResponse(session=opened, words=users.words(seen))

    async def Say(self, request: simulation_pb2.SayRequest, context: Any) -> simulation_pb2.SayResponse:
        """Say something to a user, and return its words."""
        session = self._sessions.get(request.session_id, _tenant(context))
        if session.task.environment != "dialogue":
            raise InvalidField("session_id", session.task.environment, "a session of a user (CreateUser)")

        return await self._users(context).say(session, request, calling(context))

    async def FindWords(
            self, request: simulation_pb2.FindWordsRequest, context: Any) -> simulation_pb2.FindWordsResponse:
        """Have a model find the words that a session asks for, and take them as its next step."""
        session = self._sessions.get(request.session_id, _tenant(context))
        taken = await self._users(context).find(session, request, calling(context))
        return simulation_pb2.FindWordsResponse(taken=transition_message(taken))

    def _users(self, context: Any) -> users.Users:
        async def step(session: Session, index: int, action: str) -> Transition:
            return await self._of(session, context, lambda: kept(lambda: session.step(index, action)))

        return users.Users(step, self.audiences.judges if self.audiences else None)

    async def DrawTasks(
            self, request: simulation_pb2.DrawTasksRequest, context: Any) -> simulation_pb2.DrawTasksResponse:
        """Return tasks `first … first + count - 1` of a split's stream."""
        draws = _draws(request)
        away = has(request.environment, "elsewhere")
        drawn = await self._apart(self._task_thread, context, [away] * len(draws), draws)
        return simulation_pb2.DrawTasksResponse(tasks=map(to_proto, chain.from_iterable(drawn)))

    async def ListEnvironments(
            self, request: simulation_pb2.ListEnvironmentsRequest, context: Any,
    ) -> simulation_pb2.ListEnvironmentsResponse:
        """Name the environments and their parameters."""
        return simulation_pb2.ListEnvironmentsResponse(environments=[
            simulation_pb2.EnvironmentInfo(name=name, summary=kind.summary, harness=kind.harness,
                                           params_schema_json=json.dumps(kind.params_schema))
            for name in ENVIRONMENTS for kind in [ENVIRONMENTS.facts(name)]])

    async def _of(self, session: Session, context: Any, work: Callable[[], Result]) -> Result:
        """Return the result of work on a session."""
        [result] = await self._apart(self._step_thread, context, [_is_elsewhere(session)], [work])
        return result

    async def _apart(
        self, thread: FairThread, context: Any, away: Sequence[bool], parts: Sequence[Callable[[], Result]],
    ) -> list[Result]:
        """Return the results of parts in their order: those that are `away` wait beside each other, not in turns."""
        waiting = [part for part, waits in zip(parts, away, strict=True) if waits]
        taking_turns = [part for part, waits in zip(parts, away, strict=True) if not waits]
        if not waiting:
            return await thread.run_all(_owner(context), taking_turns)
        OWNER.set(_owner(context).tenant)
        waited, taken = await asyncio.gather(
            self._waiting.run_all(_owner(context).tenant, waiting), thread.run_all(_owner(context), taking_turns))
        results = iter(waited), iter(taken)
        return [next(results[0 if waits else 1]) for waits in away]

    def _let_go(self, session: Session) -> None:
        if _is_elsewhere(session):
            self._waiting.later(session.close)

    async def FitAudience(
            self, request: simulation_pb2.FitAudienceRequest, context: Any) -> simulation_pb2.FitAudienceResponse:
        """Ask for a simulator of users, made of logged behaviour."""
        return simulation_pb2.FitAudienceResponse(fit=await self._with_database().fit(request, context))

    async def ReadAudienceFit(
            self, request: simulation_pb2.ReadAudienceFitRequest, context: Any,
    ) -> simulation_pb2.ReadAudienceFitResponse:
        """Return how far a fit is, and what it found."""
        return simulation_pb2.ReadAudienceFitResponse(fit=await self._with_database().read(request))

    async def SimulateAudience(
            self, request: simulation_pb2.SimulateAudienceRequest, context: Any,
    ) -> simulation_pb2.SimulateAudienceResponse:
        """Return how users of a segment react to a merchant's strategy."""
        return await self._with_database().simulate(request)

    async def EvaluateAudience(
            self, request: simulation_pb2.EvaluateAudienceRequest, context: Any,
    ) -> simulation_pb2.EvaluateAudienceResponse:
        """Return how far simulated rates are from measured ones."""
        return await self._with_database().evaluate(request)

    async def CalibrateAudience(
            self, request: simulation_pb2.CalibrateAudienceRequest, context: Any,
    ) -> simulation_pb2.CalibrateAudienceResponse:
        """Weigh the reasoner and the fitted model anew."""
        return simulation_pb2.CalibrateAudienceResponse(fit=await self._with_database().calibrate(request))

    def _with_database(self) -> Audiences:
        if self.audiences is None:
            raise Refused("this simulation service has no database (HONE_DATABASE_URL), which audiences are stored in")
        return self.audiences

    def _opened(
        self, session: Session, tenant_id: str, seen: simulation_pb2.Observation | None = None
    ) -> simulation_pb2.Session:
        session.tenant_id = tenant_id
        return simulation_pb2.Session(session_id=self._sessions.open(session), address=self._address,
                                      ttl_s=self._sessions.ttl_s, observation=seen)


def _tenant(context: Any) -> str:
    """Return the tenant of a call through the door, an empty text for a call of another service."""
    who = calling(context)
    return who.tenant_id if who else ""


def _owner(context: Any) -> Owner:
    """Return whose work a call is: of a tenant that called the door, or of the subject that a service names."""
    about = logs.subject()
    return Owner(_tenant(context) or str(about.get("tenant_id", "")), str(about.get("run_id", "")))


def _start(message: trajectory_pb2.Task, prefix: str) -> tuple[Session, Observation]:
    with fields_named(prefix), reached():
        one = episode_from_proto(message)
        seen = one.reset()
        return Session(message, one, opening=seen), seen


def _begin(message: trajectory_pb2.Task, prefix: str, begun: Beginnings) -> tuple[Session, Observation]:
    session, seen = _start(message, prefix)
    return begun.add(session), seen


def _user(request: simulation_pb2.CreateUserRequest) -> tuple[Session, Observation]:
    try:
        return _start(users.task(request), "")
    except WrongParams as error:
        raise InvalidField(error.field, error.found, error.expected) from error
    except InvalidField as error:
        raise error.named({"item": "user_json", "params": "params_json"}) from error


def _is_elsewhere(session: Session) -> bool:
    return isinstance(session.episode, Elsewhere)


def _stepped(session: Session, one: simulation_pb2.StepRequest) -> Transition:
    return kept(lambda: session.step(one.index, one.action))


def _outcome(session: Session | None, one: simulation_pb2.StepRequest) -> simulation_pb2.StepOutcome:
    if session is None:
        return simulation_pb2.StepOutcome(lost=f"session {one.session_id}: unknown here, or unused for too long")
    try:
        return simulation_pb2.StepOutcome(taken=transition_message(_stepped(session, one)))
    except NotFound as error:
        return simulation_pb2.StepOutcome(lost=str(error))
    except (InvalidField, Refused) as error:
        return simulation_pb2.StepOutcome(refused=str(error))
    except Exception as error:  # an error in one session must not end the others of the batch
        _log.exception("step %d of session %s failed", one.index, one.session_id)
        return simulation_pb2.StepOutcome(refused=ascii(error)[:_LONGEST_REFUSAL])


def _snapshot(session: Session) -> simulation_pb2.SnapshotResponse:
    return simulation_pb2.SnapshotResponse(
        task=session.task, state_json=json.dumps(session.episode.snapshot()), state_hash=session.episode.state_hash(),
        next_index=session.next_index)


def _restored(request: simulation_pb2.RestoreRequest) -> Session:
    with fields_named("task."):
        one = episode_from_proto(request.task)
    with fields_named():
        state = json_object(request.state_json, "state_json")
    try:
        with fields_named("task."), reached():
            one.restore(state)
    except EpisodeOver as error:
        raise Refused(str(error)) from error
    except WrongSnapshot as wrong:
        raise InvalidField("state_json", request.state_json[:200], f"a snapshot of this task ({wrong})") from wrong
    except (LookupError, AttributeError, ArithmeticError, TypeError, ValueError) as error:
        raise InvalidField("state_json", request.state_json[:200], "a snapshot of this task") from error
    if request.state_hash and one.state_hash() != request.state_hash:
        raise Diverged(f"state_hash: the restored state has {one.state_hash()}, expected {request.state_hash}")
    return Session(request.task, one, request.next_index)


def _examination_tools(session: Session) -> Mapping[str, Tool]:
    return session.episode.examination_tools() if isinstance(session.episode, Examinable) else {}


def _examined(session: Session, request: simulation_pb2.ExamineRequest) -> simulation_pb2.ExamineResponse:
    with fields_named():
        arguments = json_object(request.arguments_json or "{}", "arguments_json")
    try:
        said = use(_examination_tools(session), ToolCall(request.tool, arguments))
    except ToolError as error:
        return simulation_pb2.ExamineResponse(text=f"error: {error}", valid=False)
    return simulation_pb2.ExamineResponse(text=said, valid=True)


def _replayed(request: simulation_pb2.ReplayRequest) -> simulation_pb2.ReplayResponse:
    """Return both snapshots. Raises InvalidField, Refused, and Diverged where a state is not the recorded one."""
    if request.state_hashes and len(request.state_hashes) != len(request.actions):
        raise InvalidField("state_hashes", f"{len(request.state_hashes)} of them", f"{len(request.actions)}, one for "
                           "each action, or none")
    session, _ = _start(request.task, "task.")
    with closing(session):
        before = _snapshot(session)
        for place, action in enumerate(request.actions):
            reached = session.step(place, action).observation.state_hash
            if request.state_hashes and reached != request.state_hashes[place]:
                raise Diverged(f"actions[{place}]: the state has the hash {reached}, expected "
                               f"{request.state_hashes[place]}")
        return simulation_pb2.ReplayResponse(before=before, after=_snapshot(session))


def _draws(request: simulation_pb2.DrawTasksRequest) -> list[Callable[[], list[Task]]]:
    """Return the parts of a draw. Raises InvalidField."""
    if request.split not in SPLITS:
        raise InvalidField("split", request.split, "SPLIT_TRAIN or SPLIT_HELD_OUT")
    if request.count > MAX_TASKS:
        raise InvalidField("count", request.count, f"at most {MAX_TASKS} at a time")
    if request.count <= _DRAWN:  # also one below 1, which is refused
        return [partial(_drawn, request, request.first, request.count)]
    end = request.first + request.count
    return [partial(_drawn, request, first, min(_DRAWN, end - first)) for first in range(request.first, end, _DRAWN)]


def _drawn(request: simulation_pb2.DrawTasksRequest, first: int, count: int) -> list[Task]:
    with fields_named():
        params = json_object(request.params_json or "{}", "params_json")
        return draw(request.environment, params, SPLITS[request.split], request.seed, first, count)
