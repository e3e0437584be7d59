"""The door of a real stack: wrong callers and requests, ids of other tenants, keys that end, quotas, usage."""

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from hone import scopes
from hone.api import inference_pb2, learner_pb2, reward_pb2, simulation_pb2, trajectory_pb2
from hone.client.resources import Run
from hone.rpc.access import RULES
from hone.spec.settings import Settings
from services.door.call import METHODS
from tests.acceptance.scene import Scene, wait_for
from tests.integration.foreign import door_matrix as matrix
from tests.integration.foreign.door_matrix import Caller
from tests.integration.foreign.wire import Connection, Header

INFERENCE, SIMULATION = "/hone.v1.InferenceService/", "/hone.v1.SimulationService/"
LEARNER, REWARD = "/hone.v1.LearnerService/", "/hone.v1.RewardService/"
OK, NOT_FOUND, UNAUTHENTICATED = grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAUTHENTICATED
EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
NewCaller = Callable[[str | None], Caller]


@pytest.fixture(scope="module")
def caller(scene: Scene) -> Iterator[NewCaller]:
    record, made = scene.stack.record(), []

    def new(key: str | None) -> Caller:
        made.append(Caller(record.door_address, record.door_certificate, key))
        return made[-1]

    yield new
    logged = [message for one in made for message in one.tells_inside()]
    for one in made:
        one.close()
    assert logged == [], "messages that tell something of the inside"


@pytest.fixture(scope="module")
def mine(caller: NewCaller, scene: Scene) -> Caller:
    return caller(scene.stack.record().api_key)


@pytest.fixture(scope="module")
def stranger(scene: Scene) -> Callable[..., str]:
    """Return a function that makes a key of another tenant."""
    tenant = scene.client.create_tenant("stranger").id
    return lambda *scopes, **given: scene.client.create_tenant_key(tenant, "door", list(scopes), **given).secret


def model_of(scene: Scene, run: Run) -> str:
    return str(scene.one("SELECT policy_model_id FROM runs WHERE id = %s", run.id))


def generation(model_id: str, tokens: int = 3, **given: Any) -> inference_pb2.GenerateRequest:
    sampling = trajectory_pb2.Sampling(max_tokens=tokens, temperature=1.0, top_p=1.0)
    return inference_pb2.GenerateRequest(
        **{"request_id": "door", "model_id": model_id, "prompt_ids": [5, 6], "n": 2, "sampling": sampling, **given})


def test_every_rpc_refuses_every_wrong_caller_and_every_wrong_request(
    caller: NewCaller, stranger: Callable[..., str], scene: Scene
) -> None:
    ended = scene.client.create_key("ended", scopes=["run"])
    scene.client.revoke_key(ended.id)
    soon = scene.client.create_key("soon", scopes=["run"], expires_at=datetime.now(UTC) + timedelta(seconds=1))
    wait_for("the end of a key", lambda: scene.one(
        "SELECT count(*) FROM api_keys WHERE id = %s AND expires_at < now()", soon.id), 20)
    for key in (None, "", "tml-wrong", ended.secret, soon.secret):
        assert {code for code, *_ in caller(key).everywhere().values()} == {UNAUTHENTICATED}
    reads = caller(stranger("read")).everywhere()
    denied = {method for method, (code, *_) in reads.items() if code is grpc.StatusCode.PERMISSION_DENIED}
    assert denied == {method for method, rule in RULES.items() if not scopes.includes(["read"], rule.scope)}
    client = caller(stranger("run"))
    assert {code for code, *_ in client.everywhere(matrix.GARBAGE).values()} == {grpc.StatusCode.INVALID_ARGUMENT}
    large = client.everywhere(matrix.TOO_LARGE, compression=grpc.Compression.Gzip)
    assert {code for code, *_ in large.values()} == {EXHAUSTED}
    assert not {code for code, *_ in client.everywhere().values()} & matrix.CONFUSED
    for path in ("/hone.v1.NoService/Generate", INFERENCE + "Nothing", "/", "/hone.v1.InferenceService"):
        assert client.ends(path)[0] is grpc.StatusCode.UNIMPLEMENTED
        assert caller(None).ends(path)[0] is UNAUTHENTICATED


def test_ids_of_another_tenant_are_like_ids_that_do_not_exist(
    caller: NewCaller, stranger: Callable[..., str], mine: Caller, scene: Scene, run: Run
) -> None:
    ids = _ids(scene, run, mine)
    other = caller(stranger("admin"))
    names = {path for method in METHODS for path, _ in matrix.naming(method, ids)}
    assert len(names) >= 12, names
    for method in METHODS:
        absent = dict(matrix.naming(method, {name: _absent(value) for name, value in ids.items()}))
        for path, raw in matrix.naming(method, ids):
            theirs, nobodys = other.ends(method, raw), other.ends(method, absent[path])
            assert _blurred(theirs, ids) == _blurred(nobodys, ids), (method, path)
            assert theirs[0] not in matrix.CONFUSED, (method, path)
    assert mine.ends(SIMULATION + "Verify", simulation_pb2.VerifyRequest(
        session_id=ids["session_id"]).SerializeToString())[0] is OK, "their Close did not close mine"


def _ids(scene: Scene, run: Run, mine: Caller) -> dict[str, Any]:
    """Return an id of each kind, all of them of one tenant's."""
    task = trajectory_pb2.Task(environment="sort_turns", params_json="{}", seed=3)
    code, answers, message = mine.ends(
        SIMULATION + "Reset", simulation_pb2.ResetRequest(tasks=[task]).SerializeToString())
    assert code is OK, message
    session = simulation_pb2.ResetResponse.FromString(answers[0]).sessions[0]
    assert session.address == "", "where a session is held stays inside"
    (row,) = scene.rows(
        "SELECT r.tenant_id, r.policy_model_id AS model_id, r.id AS run_id, v.id AS version_id, o.id AS operation_id, "
        "g.id AS group_id FROM runs r JOIN versions v ON v.model_id = r.policy_model_id "
        "JOIN operations o ON o.model_id = v.model_id JOIN groups g ON g.run_id = r.id WHERE r.id = %s LIMIT 1", run.id)
    return {**row, "session_id": session.session_id, "request_id": "door"}


def _absent(value: Any) -> Any:
    return value + 10**9 if isinstance(value, int) else value[:-1] + ("x" if value[-1] != "x" else "y")


def _blurred(ended: matrix.Ended, ids: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a call gave, with the same sign for each id that it names."""
    blurred = {str(one)[:100] for value in ids.values() for one in (value, _absent(value))}
    either = "|".join(rf"\b{re.escape(one)}\b" for one in sorted(blurred, key=len, reverse=True))
    code, answers, message = ended
    return code, *(re.sub(either, "…", text) for text in (message, *(raw.decode("latin-1") for raw in answers)))


MANY = Settings().tenant_samples + 1


def test_one_call_holds_so_many_samples_and_a_tenant_so_many_sessions(mine: Caller, run: Run) -> None:
    exact = '{"type": "exact", "reference": "a"}'
    graded = reward_pb2.GradeRequest(run_id=run.id, grader_json=exact, items=[
        reward_pb2.GradeItem(group_id=number) for number in range(MANY)])
    for name, field, request in (
            ("Grade", "items", graded), ("GradeStream", "request.items", reward_pb2.GradeStreamRequest(request=graded)),
            ("CheckReferences", "items_json", reward_pb2.CheckReferencesRequest(
                grader_json=exact, items_json=["{}"] * MANY))):
        code, _, message = mine.ends(REWARD + name, request.SerializeToString())
        assert (code, message) == (grpc.StatusCode.INVALID_ARGUMENT, (
            f"{field}: found '{MANY} of them', expected at most {MANY - 1} in a call (HONE_TENANT_SAMPLES)"))
    tasks = [trajectory_pb2.Task(environment="sort_turns", params_json="{}", seed=3)] * MANY
    code, _, message = mine.ends(SIMULATION + "Reset", simulation_pb2.ResetRequest(tasks=tasks).SerializeToString())
    assert (code, "(HONE_TENANT_SESSIONS)" in message) == (EXHAUSTED, True), message


def test_what_calls_use_counts_for_their_key_at_their_prices(mine: Caller, scene: Scene, run: Run) -> None:
    model_id = model_of(scene, run)
    scene.client.set_prices(prompt_tokens=1e6, completion_tokens=1e6, scored_tokens=1e6)
    key = scene.client.create_key("counted", scopes=["run"])
    client = Caller(mine.address, mine.certificate, key.secret)
    made = _generated(client, model_id)
    items = [inference_pb2.ScoreItem(context_ids=[5, 6], ids=[7, 8, 9])]
    scored = [client.ends(INFERENCE + "Score", inference_pb2.ScoreRequest(
        model_id=model_id, items=items).SerializeToString())[0] for _ in range(2)]
    graded = client.ends(REWARD + "RunGrader", reward_pb2.RunGraderRequest(
        grader_json='{"type": "exact", "reference": "a"}', item_json="{}", output_text="a").SerializeToString())
    assert {*scored, graded[0]} == {OK}

    def counted() -> Any:
        found = {one.id: one for one in scene.client.usage("key").data}.get(key.id)
        return found if found and found.amounts.get("grades") and found.amounts.get("scored_tokens") == 10 else None

    used = wait_for("the usage of a key", counted, 120)
    assert (used.amounts["completion_tokens"], used.amounts["prompt_tokens"]) == (made, 5 * 2 * 2.0)
    assert used.cost == pytest.approx(made + 20 + 10)
    scene.client.set_prices(prompt_tokens=0, completion_tokens=0, scored_tokens=0)
    assert {row["id"]: row for row in map(vars, scene.client.keys().data)}[key.id]["last_used_at"] is not None
    client.close()


def _generated(client: Caller, model_id: str) -> int:
    """Generate in each way, two prompts more in a batch, and return the number of tokens of all answers."""
    one = generation(model_id)
    alone = client.ends(INFERENCE + "Generate", one.SerializeToString())
    stream = client.ends(
        INFERENCE + "GenerateStream", inference_pb2.GenerateStreamRequest(request=one).SerializeToString())
    batch = client.ends(INFERENCE + "GenerateBatch", inference_pb2.GenerateBatchRequest(
        requests=[generation(model_id, request_id=str(number)) for number in range(3)]).SerializeToString())
    assert {alone[0], stream[0], batch[0]} == {OK}, (alone[2], stream[2], batch[2])
    completions = list(inference_pb2.GenerateResponse.FromString(alone[1][0]).completions)
    completions += [inference_pb2.GenerateStreamResponse.FromString(raw).delta for raw in stream[1]]
    completions += [made for raw in batch[1] for response in inference_pb2.GenerateBatchResponse.FromString(
        raw).responses for made in response.completions]
    return sum(len(made.ids) for made in completions)


def test_changes_are_in_the_audit_log_and_the_door_is_a_service(mine: Caller, scene: Scene, run: Run) -> None:
    model_id = model_of(scene, run)
    for name, kind in (("Pause", inference_pb2.PauseRequest), ("Resume", inference_pb2.ResumeRequest)):
        assert mine.ends(INFERENCE + name, kind(model_id=model_id).SerializeToString())[0] is OK
    number = 77
    payload = json.dumps({"run_id": run.id, "number": number})
    operation = learner_pb2.NewOperation(dedupe_key="door", kind=learner_pb2.OPERATION_KIND_SAVE, payload_json=payload)
    appended = mine.ends(LEARNER + "AppendOperations", learner_pb2.AppendOperationsRequest(
        model_id=model_id, operations=[operation]).SerializeToString())
    assert appended[0] is OK, appended[2]
    logged = [(one.action, one.subject, one.address) for one in reversed(scene.client.audit(limit=3).data)]
    assert logged == [(action, model_id, "127.0.0.1") for action in (
        "inference.pause", "inference.resume", "learner.append_operations")]
    assert {one.name: one.ok for one in scene.client.health().services}["door door-0"]


def test_a_stream_ends_soon_after_its_key(mine: Caller, scene: Scene, run: Run) -> None:
    """A version that nobody makes is waited for until the call's end."""
    waiting = generation(model_of(scene, run), min_version=10**6)
    keys = [scene.client.create_key(name, scopes=["run"], expires_at=until) for name, until in (
        ("revoked", None), ("expires", datetime.now(UTC) + timedelta(seconds=5)))]
    clients = [Caller(mine.address, mine.certificate, key.secret) for key in keys]
    stream = inference_pb2.GenerateStreamRequest(request=waiting).SerializeToString()
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(client.ends, INFERENCE + name, raw) for client in clients
                 for name, raw in (("GenerateStream", stream), ("Generate", waiting.SerializeToString()))]
        time.sleep(1)
        scene.client.revoke_key(keys[0].id)
        for call in calls:
            code, _, message = call.result()
            assert (code, "is not in use any more" in message) == (UNAUTHENTICATED, True), message
    for client in clients:
        client.close()


def test_a_tenant_that_has_used_its_tokens_up_generates_no_more(mine: Caller, scene: Scene) -> None:
    tenant = scene.client.create_tenant("spent").id
    key = scene.client.create_tenant_key(tenant, "door", ["run"])
    client = Caller(mine.address, mine.certificate, key.secret)
    grader = reward_pb2.RunGraderRequest(
        grader_json='{"type": "exact", "reference": "a"}', item_json="{}", output_text="a").SerializeToString()
    assert client.ends(REWARD + "RunGrader", grader)[0] is OK
    scene.client.change_tenant(tenant, max_tokens_a_day=0)
    code, message = wait_for("the limit", lambda: _refused(client, grader), 120)
    assert (code, message) == (EXHAUSTED, "its tenant's 0 tokens for this day are used up (max_tokens_a_day); expected "
                                          "the next day of UTC or a higher quota")
    assert client.ends(SIMULATION + "ListEnvironments")[0] is OK
    scene.client.change_tenant(tenant, max_tokens_a_day=None, suspended=True)
    wait_for("the suspension", lambda: client.ends(SIMULATION + "ListEnvironments")[0] is UNAUTHENTICATED, 120)
    client.close()


def _refused(client: Caller, raw: bytes) -> tuple[grpc.StatusCode, str] | None:
    code, _, message = client.ends(REWARD + "RunGrader", raw)
    return None if code is OK else (code, message)


def test_http_by_hand_is_bounded_and_others_are_served(
    mine: Caller, stranger: Callable[..., str], scene: Scene
) -> None:
    record = scene.stack.record()
    bearer = ("authorization", f"Bearer {stranger('run')}")
    grpc_type = ("content-type", "application/grpc")
    path = SIMULATION + "ListEnvironments"

    def connected() -> Connection:
        return Connection(record.door_address, record.door_certificate)

    idle = [Connection(record.door_address, record.door_certificate, greets) for greets in (True, False) * 20]
    open_calls = connected()
    for number in range(100):
        open_calls.open_call(2 * number + 1, path, [grpc_type, bearer])
        open_calls.send(2 * number + 1, b"\0")  # the first byte of five that tell the size
    strange = connected()
    strange.open_call(1, path, [("content-type", "text/html"), ("authorization", f"Bearer {mine.key}")], ends=True)
    assert b"found 'nothing', expected a message" in strange.ended(1), "its type is not looked at"
    giant = connected()
    assert _refused_at_once(giant, path, [grpc_type, bearer, ("x-giant", "x" * 100_000)])
    nobody = connected()
    nobody.open_call(1, path, [grpc_type])
    assert b"found no key" in nobody.ended(1), "refused before its request has come"
    assert mine.ends(path)[0] is OK
    for one in (*idle, open_calls, strange, giant, nobody):
        one.close()
    assert mine.ends(path)[0] is OK


def _refused_at_once(connection: Connection, path: str, headers: list[Header]) -> bool:
    """Whether a call is reset, or its connection closed, before it is looked at."""
    try:
        connection.open_call(1, path, headers)
        return connection.ended(1) == b""
    except (ConnectionError, ssl.SSLError):
        return True


def test_nothing_of_this_left_a_traceback_or_a_secret_in_the_logs(scene: Scene) -> None:
    token, key = scene.stack.record().stack_token, scene.stack.record().api_key
    for log in (scene.stack.state / "logs").glob("*-0.log"):
        lines = log.read_text()
        assert not [line for line in lines.splitlines() if "Traceback" in line], log.name
        assert token not in lines
        assert key not in lines
