"""What a call passes at the door: its key in the midst of it, quotas, places, the audit log, and errors' words."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from google.rpc import status_pb2

from hone.api import inference_pb2, learner_pb2, reward_pb2, simulation_pb2
from hone.rpc.access import RULES
from services.door import reading
from services.door.call import METHODS
from services.door.keys import KeyHolders
from services.door.quotas import Quotas
from services.door.refusals import without_inside
from tests.unit.door.fakes import Echo, Rows, door, ended

INFERENCE, LEARNER, REWARD = "/hone.v1.InferenceService/", "/hone.v1.LearnerService/", "/hone.v1.RewardService/"
RUN, OTHER = (("authorization", f"Bearer tml-{name}") for name in ("run", "other"))
WAIT = ("wait", "1")
SIMULATION = "/hone.v1.SimulationService/"
STREAM, UNARY = INFERENCE + "GenerateStream", INFERENCE + "Generate"


async def until(holds: Any) -> None:
    """Wait until a function returns something true."""
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


async def test_a_revoked_key_stops_within_seconds() -> None:
    rows, clock = Rows(), SimpleNamespace(now=0.0)
    holders = KeyHolders(cast(Any, rows), lambda: clock.now)
    assert (await holders.of_call([RUN])).caller.tenant_id == "tenant_1"
    del rows.held["tml-run"]
    clock.now = 5.0
    with pytest.raises(Exception, match="a key that is not in use"):
        await holders.of_call([RUN])


async def test_the_use_of_a_key_is_noted_once() -> None:
    rows, clock = Rows(), SimpleNamespace(now=0.0)
    holders = KeyHolders(cast(Any, rows), lambda: clock.now)
    for clock.now in (0.0, 4.0, 8.0):
        await holders.of_call([RUN])
    assert len(rows.done("api_keys.holder")) == 3
    assert [given["id"] for given in rows.done("api_keys.note_use")] == ["key_1"]


@pytest.mark.parametrize("moment", [0.0, 0.2])
@pytest.mark.parametrize("method", [STREAM, UNARY])
async def test_a_call_in_progress_ends_with_its_key_and_others_go_on(method: str, moment: float) -> None:
    """Also while its answer is being sent."""
    rows, echo = Rows(), Echo()
    async with door(rows, echo) as (opened, running):
        call = asyncio.create_task(ended(opened, method, b"", RUN, WAIT))
        other = asyncio.create_task(ended(opened, method, b"", OTHER, WAIT))
        await until(lambda: len(echo.calls) == 2)
        await asyncio.sleep(moment)
        await running.end_those_of_ended_keys()
        assert not echo.ended.is_set()
        del rows.held["tml-run"]
        await running.end_those_of_ended_keys()
        code, _, message = await call
        assert (code, "not in use any more" in message) == (grpc.StatusCode.UNAUTHENTICATED, True)
        assert echo.ended.is_set(), "the call behind the door has ended too"
        assert not other.done()
        other.cancel()


async def test_a_caller_who_leaves_ends_the_call_behind_the_door() -> None:
    echo = Echo()
    async with door(Rows(), echo) as (opened, _):
        call: Any = cast(Any, opened).unary_stream(STREAM)(b"", metadata=(RUN, WAIT))
        assert await call.read() == b"answer"
        call.cancel()
        await asyncio.wait_for(echo.ended.wait(), 60)


async def test_a_tenant_has_so_many_calls_in_progress_and_others_have_their_own() -> None:
    echo = Echo()
    async with door(Rows(), echo, most=3) as (opened, _):
        waiting = [asyncio.create_task(ended(opened, STREAM, b"", RUN, WAIT)) for _ in range(3)]
        await until(lambda: len(echo.calls) == 3)
        code, _, message = await ended(opened, UNARY, b"", RUN)
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "HONE_DOOR_CALLS" in message
        assert (await ended(opened, UNARY, b"", OTHER))[0] is grpc.StatusCode.OK
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        async with asyncio.timeout(20):
            while (await ended(opened, UNARY, b"", RUN))[0] is not grpc.StatusCode.OK:
                await asyncio.sleep(0.01)


async def test_the_requests_of_a_tenant_s_calls_have_a_size_together() -> None:
    echo = Echo()
    raw = inference_pb2.GenerateRequest(request_id="x" * 1_000_000).SerializeToString()
    async with door(Rows(), echo) as (opened, _):
        waiting = [asyncio.create_task(ended(opened, UNARY, raw, RUN, WAIT)) for _ in range(8)]
        await until(lambda: len(echo.calls) == 8)
        code, _, message = await ended(opened, UNARY, raw, RUN)
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "HONE_DOOR_MESSAGE_MB" in message
        assert (await ended(opened, UNARY, raw, OTHER))[0] is grpc.StatusCode.OK
        for one in waiting:
            one.cancel()


async def test_a_request_that_does_not_come_ends_and_one_that_is_none_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "READ_S", 0.2)

    async def nothing(wait_s: float) -> AsyncIterator[bytes]:
        await asyncio.sleep(wait_s)
        return
        yield b""

    async with door(Rows(), Echo()) as (opened, _):
        for wait_s, code in ((60, grpc.StatusCode.DEADLINE_EXCEEDED), (0, grpc.StatusCode.INVALID_ARGUMENT)):
            call: Any = cast(Any, opened).stream_unary(UNARY)(nothing(wait_s), metadata=(RUN,), timeout=20)
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await call
            assert raised.value.code() is code


SPENT = [
    ({"max_tokens_a_day": 10, "tokens_a_day": 10.0}, "its tenant's 10 tokens for this day are used up"),
    ({"month_budget": 1.0, "month_cost": 1.0}, "its tenant's budget of 1.00 EUR for this month is used up"),
    ({"budget": 0.5, "cost": 0.6}, "its budget of 0.50 EUR is used up"),
]


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(("figures", "words"), SPENT[:1])
async def test_a_limit_refuses_what_would_use_more_and_nothing_else(
    method: str, figures: dict[str, Any], words: str
) -> None:
    rows, echo = Rows(), Echo()
    rows.limits |= figures
    raw = b""
    if method == LEARNER + "AppendOperations":
        operation = learner_pb2.NewOperation(kind=learner_pb2.OPERATION_KIND_FORWARD_BACKWARD)
        raw = learner_pb2.AppendOperationsRequest(operations=[operation]).SerializeToString()
    async with door(rows, echo) as (opened, _):
        code, _, message = await ended(opened, method, raw, RUN)
    if RULES[method].spends:
        assert (code, message.startswith(words), echo.calls) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True, [])
    else:
        assert code is grpc.StatusCode.OK


@pytest.mark.parametrize(("figures", "words"), SPENT)
async def test_a_limit_in_the_words_in_which_a_run_is_paused(figures: dict[str, Any], words: str) -> None:
    rows = Rows()
    rows.limits |= figures
    request = reward_pb2.GradeRequest(run_id="run_1").SerializeToString()
    async with door(rows, Echo()) as (opened, _):
        code, _, message = await ended(opened, REWARD + "Grade", request, RUN)
    assert (code, message.startswith(words)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, True)
    assert rows.done("runs.billed") == [{"subject": "run_1"}]
    assert rows.done("runs.limits") == [{"run_id": "run_1"}]
    assert rows.done("tenants.limits") == [{"tenant": "tenant_1", "storage": False}]


async def test_an_export_needs_no_budget() -> None:
    rows = Rows()
    rows.limits |= SPENT[0][0]
    operation = learner_pb2.NewOperation(kind=learner_pb2.OPERATION_KIND_EXPORT)
    raw = learner_pb2.AppendOperationsRequest(operations=[operation]).SerializeToString()
    async with door(rows, Echo()) as (opened, _):
        assert (await ended(opened, LEARNER + "AppendOperations", raw, RUN))[0] is grpc.StatusCode.OK


async def test_limits_are_looked_up_every_few_seconds() -> None:
    rows, clock = Rows(), SimpleNamespace(now=0.0)
    quotas = Quotas(cast(Any, rows), lambda: clock.now)
    call: Any = SimpleNamespace(method=UNARY, tenant_id="tenant_1", named_by=lambda _: [])
    for clock.now in (0.0, 1.0, 2.9):
        await quotas.expect_some_left(call)
    assert len(rows.done("tenants.limits")) == 1
    rows.limits |= SPENT[0][0]
    clock.now = 3.0
    with pytest.raises(Exception, match="tokens for this day"):
        await quotas.expect_some_left(call)


CHANGES = {
    INFERENCE + "Pause": ("inference.pause", inference_pb2.PauseRequest(model_id="mdl_1"), "mdl_1"),
    INFERENCE + "Resume": ("inference.resume", inference_pb2.ResumeRequest(model_id="mdl_1"), "mdl_1"),
    INFERENCE + "LoadVersion": (
        "inference.load_version", inference_pb2.LoadVersionRequest(model_id="mdl_1"), "mdl_1"),
    INFERENCE + "Abort": ("inference.abort", inference_pb2.AbortRequest(request_id="mine\0"), "mine"),
    REWARD + "Grade": ("reward.grade", reward_pb2.GradeRequest(run_id="run_1"), "run_1"),
    REWARD + "GradeStream": (
        "reward.grade_stream", reward_pb2.GradeStreamRequest(request=reward_pb2.GradeRequest(run_id="run_1")), "run_1"),
    REWARD + "Reverify": ("reward.reverify", reward_pb2.ReverifyRequest(run_id="run_1"), "run_1"),
    SIMULATION + "FitAudience": (
        "simulation.fit_audience", simulation_pb2.FitAudienceRequest(dataset="logs"), "logs"),
    SIMULATION + "CalibrateAudience": (
        "simulation.calibrate_audience", simulation_pb2.CalibrateAudienceRequest(fit_id="fit_1"), "fit_1"),
    LEARNER + "AppendOperations": (
        "learner.append_operations", learner_pb2.AppendOperationsRequest(model_id="mdl_1"), "mdl_1"),
}


def test_the_rpcs_that_change_something() -> None:
    assert CHANGES.keys() == {method for method, rule in RULES.items() if rule.changes}


@pytest.mark.parametrize("method", sorted(CHANGES))
async def test_what_changes_something_is_in_the_audit_log(method: str) -> None:
    rows, (action, request, subject) = Rows(), CHANGES[method]
    async with door(rows, Echo()) as (opened, _):
        asked = await ended(opened, method, request.SerializeToString(), RUN, ("x-request-id", "mine-1"))
        assert asked[0] is grpc.StatusCode.OK
    assert rows.done("audit_log.add") == [{
        "tenant_id": "tenant_1", "key_id": "key_1", "action": action, "subject": subject, "request_id": "mine-1",
        "address": "127.0.0.1"}]


@pytest.mark.parametrize("method", sorted(METHODS.keys() - CHANGES.keys()))
async def test_what_changes_nothing_is_not(method: str) -> None:
    rows = Rows()
    async with door(rows, Echo()) as (opened, _):
        assert (await ended(opened, method, b"", RUN))[0] is grpc.StatusCode.OK
    assert not rows.done("audit_log.add")


async def test_a_call_that_failed_changed_nothing() -> None:
    rows, echo = Rows(), Echo()
    echo.error = RuntimeError("secret of /var/lib/hone")
    async with door(rows, echo) as (opened, _):
        code, _, message = await ended(opened, INFERENCE + "Pause", b"", RUN)
    assert (code, message) == (grpc.StatusCode.INTERNAL, "the door failed; its log tells more")
    assert not rows.done("audit_log.add")


def aio_error(code: grpc.StatusCode, details: str, rich: bool) -> grpc.aio.AioRpcError:
    status = status_pb2.Status(code=code.value[0], message=details).SerializeToString()
    trailing = grpc.aio.Metadata(*([("grpc-status-details-bin", status)] if rich else []))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details, None)


@pytest.mark.parametrize(("code", "details", "rich", "shown"), [
    (grpc.StatusCode.UNKNOWN, "Unexpected <class 'KeyError'>: '/srv/hone/x'", False,
     (grpc.StatusCode.INTERNAL, "the service failed; its log tells more")),
    (grpc.StatusCode.UNAVAILABLE, "failed to connect to all addresses; last error: ipv4:10.1.2.3:8472", False,
     (grpc.StatusCode.UNAVAILABLE, "the service is away: the same call may succeed later")),
    (grpc.StatusCode.UNAUTHENTICATED, "hone-stack-token: no", True,
     (grpc.StatusCode.INTERNAL, "the stack's services and its door have different tokens")),
    (grpc.StatusCode.UNAVAILABLE, "version v1: no space left in /srv/hone/objects", True,
     (grpc.StatusCode.UNAVAILABLE, "version v1: no space left in …")),
    (grpc.StatusCode.NOT_FOUND, "model_id: found '/my/own/path', expected", True,
     (grpc.StatusCode.NOT_FOUND, "model_id: found '/my/own/path', expected")),
])
async def test_an_error_tells_nothing_of_the_inside(
    code: grpc.StatusCode, details: str, rich: bool, shown: tuple[grpc.StatusCode, str]
) -> None:
    echo = Echo()
    echo.error = aio_error(code, details, rich)
    async with door(Rows(), echo) as (opened, _):
        found = await ended(opened, UNARY, b"", RUN)
    assert (found[0], found[2]) == shown


@pytest.mark.parametrize(("message", "shown"), [
    ('connection to server at "10.0.0.3", port 5432 failed', "connection to server … failed"),
    ("s3://key:secret@host/bucket is away", "… is away"), ("no file /var/lib/x.json here", "no file … here"),
    ("2/3 of hone.v1/Grade", "2/3 of hone.v1/Grade")])
def test_paths_urls_and_addresses_stay_inside(message: str, shown: str) -> None:
    assert without_inside(message) == shown
