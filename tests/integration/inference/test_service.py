"""The inference service as its own process on a real PostgreSQL and an object directory.

Both engines pass these tests: `make vllm-test` runs them on vLLM, by HONE_ENGINE=vllm.
tests.integration.inference.equality has the differences between the engines.
"""

import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from hone.api import inference_pb2 as pb
from hone.api import trajectory_pb2 as tpb
from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.models import probe, toy
from hone.models.checkpoint import Checkpoint, read_weights, weights_bytes
from hone.models.policy import Policy
from tests.integration.inference.equality import LEAST_TEMPERATURE, same, same_ids
from tests.integration.inference.models import Model, make_model
from tests.servers.service import Service, refused_field, running


def asked(model: Model, name: str = "train/0", n: int = 2, version_id: str = "", **sampling: Any) -> pb.GenerateRequest:
    chosen = {"max_tokens": 6, "temperature": 1.0, "top_p": 1.0, **sampling}
    return pb.GenerateRequest(
        request_id=name, model_id=model.id, version_id=version_id, prompt_ids=[23, 9, 6, 13], n=n,
        sampling=tpb.Sampling(**chosen), noise=tpb.NoiseKey(seed=7, request=name))


def versions(response: pb.GenerateResponse) -> set[str]:
    return {span.version_id for made in response.completions for span in made.versions}


def code(call: Callable[[], Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as refused:
        call()
    error: Any = refused.value
    return error.code(), error.details()


def eventually(found: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    until = time.monotonic() + timeout_s
    while not (value := found()) and time.monotonic() < until:
        time.sleep(0.02)
    return value


def test_samples_of_the_newest_version(engine: Any, model: Model) -> None:
    model.publish(0)
    newest = model.publish(1)
    response = engine.Generate(asked(model, n=3), timeout=60)
    assert response.request_id == "train/0"
    assert [made.index for made in response.completions] == [0, 1, 2]
    assert all(len(made.ids) == len(made.logp_sample) == 6 for made in response.completions)
    assert {made.finish_reason for made in response.completions} == {tpb.FINISH_REASON_LENGTH}
    assert versions(response) == {newest}


def test_a_request_of_a_batch_has_the_same_answer_as_alone(engine: Any, model: Model) -> None:
    version_id = model.publish(0)
    requests = [asked(model, f"train/{number}", 8, version_id if number % 2 else "", max_tokens=2 + number % 7)
                for number in range(20)]
    stream = engine.GenerateBatch(pb.GenerateBatchRequest(requests=requests), timeout=60)
    answers = {response.request_id: response for message in stream for response in message.responses}
    alone = {request.request_id: engine.Generate(request, timeout=60) for request in requests}
    assert answers.keys() == alone.keys()
    assert all(same(answers[name], alone[name]) for name in alone)


def test_a_stream_gives_the_tokens_of_the_answer_one_by_one(engine: Any, model: Model) -> None:
    model.publish(0)
    whole = engine.Generate(asked(model), timeout=60)
    stream = engine.GenerateStream(pb.GenerateStreamRequest(request=asked(model)), timeout=60)
    deltas = [message.delta for message in stream]
    for made in whole.completions:
        own = [delta for delta in deltas if delta.index == made.index]
        assert same_ids([id for delta in own for id in delta.ids], made.ids)
        assert own[-1].finish_reason == made.finish_reason
        assert len(own) > 3


def test_a_published_version_is_taken_over_without_being_asked_for(engine: Any, model: Model) -> None:
    model.publish(0)
    engine.Generate(asked(model), timeout=60)
    second = model.publish(1)

    def row() -> bool:
        rows = model.do("SELECT version_id, loads FROM engine_models WHERE model_id = %s", model.id)
        return rows == [(second, 2)]

    assert eventually(row)
    assert versions(engine.Generate(asked(model), timeout=60)) == {second}


def test_a_request_for_a_version_waits_until_it_is_there(engine: Any, model: Model) -> None:
    model.publish(0)
    engine.Generate(asked(model), timeout=60)
    code_, reason = code(lambda: engine.Generate(asked(model, version_id="ver_none"), timeout=60))
    assert code_ is grpc.StatusCode.NOT_FOUND
    assert "ver_none" in reason
    second = model.publish(1)
    assert versions(engine.Generate(asked(model, version_id=second), timeout=60)) == {second}


def test_a_request_waits_for_a_version_that_is_new_enough(engine: Any, model: Model) -> None:
    first = model.publish(0)
    any_version = asked(model)
    assert versions(engine.Generate(any_version, timeout=60)) == {first}
    newer = asked(model)
    newer.min_version = 1
    code_, _ = code(lambda: engine.Generate(newer, timeout=0.8))
    assert code_ in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    second = model.publish(1)
    assert versions(engine.Generate(newer, timeout=60)) == {second}
    third = model.publish(2)
    assert versions(engine.Generate(newer, timeout=60)) <= {second, third}


def test_a_model_without_a_version_is_waited_for_until_the_deadline(engine: Any, model: Model) -> None:
    code_, _ = code(lambda: engine.Generate(asked(model), timeout=0.5))
    assert code_ in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    answers: list[pb.GenerateResponse] = []
    waiting = threading.Thread(target=lambda: answers.append(engine.Generate(asked(model), timeout=60)))
    waiting.start()
    time.sleep(0.3)
    first = model.publish(0)
    waiting.join()
    assert versions(answers[0]) == {first}


def test_an_older_version_than_the_served_one_is_refused(engine: Any, model: Model) -> None:
    first, second = model.publish(0), model.publish(1)
    engine.LoadVersion(pb.LoadVersionRequest(model_id=model.id), timeout=60)
    code_, reason = code(lambda: engine.Generate(asked(model, version_id=first), timeout=60))
    assert code_ is grpc.StatusCode.FAILED_PRECONDITION
    assert first in reason
    assert second in reason


def test_versions_insisted_on_are_served_in_order_and_each_exactly(engine: Any, model: Model) -> None:
    first = model.publish(0)
    engine.Generate(asked(model), timeout=60)
    long = [asked(model, f"eval/{number}", 16, first, max_tokens=900) for number in range(3)]
    answers: list[pb.GenerateResponse] = []
    old = threading.Thread(target=lambda: answers.extend(
        response for message in engine.GenerateBatch(pb.GenerateBatchRequest(requests=long), timeout=60)
        for response in message.responses))
    old.start()
    eventually(lambda: _loaded_model(engine, model).running_sequences)
    second = model.publish(1)
    insisting = engine.Generate.future(asked(model, version_id=second), timeout=60)
    _loaded_model(engine, model)  # its answer shows that the requests before it have arrived
    third = model.publish(2)
    assert versions(insisting.result()) == {second}
    old.join()
    assert [versions(answer) for answer in answers] == [{first}] * 3
    assert eventually(lambda: _loaded_model(engine, model).version_id == third)


def _loaded_model(engine: Any, model: Model) -> pb.LoadedModel:
    listed: list[pb.LoadedModel] = engine.ListVersions(pb.ListVersionsRequest(), timeout=60).models
    return next(one for one in listed if one.model_id == model.id)


def test_an_abandoned_version_is_left_for_its_replacement(engine: Any, model: Model) -> None:
    abandoned = model.publish(1)
    engine.Generate(asked(model), timeout=60)
    model.do("UPDATE versions SET state = 'abandoned' WHERE id = %s", abandoned)
    replacement = model.publish(1)
    assert versions(engine.Generate(asked(model, version_id=replacement), timeout=60)) == {replacement}
    code_, reason = code(lambda: engine.Generate(asked(model, version_id=abandoned), timeout=60))
    assert code_ is grpc.StatusCode.FAILED_PRECONDITION
    assert "abandoned" in reason


def _poisoned() -> dict[str, bytes]:
    files = toy.files(1, hidden=64, ffn=96, heads=2)
    tensors = read_weights(files["model.safetensors"])
    tensors["model.layers.1.mlp.down_proj.weight"][3, 5] = float("nan")
    return {**files, "model.safetensors": weights_bytes(tensors)}


def test_bad_weights_are_refused_with_their_reason_and_never_served(engine: Any, model: Model) -> None:
    good = model.publish(0)
    engine.Generate(asked(model), timeout=60)
    bad = model.publish(1, _poisoned())
    code_, reason = code(lambda: engine.Generate(asked(model, version_id=bad), timeout=60))
    assert code_ is grpc.StatusCode.DATA_LOSS
    assert "model.layers.1.mlp.down_proj.weight holds NaN" in reason
    assert versions(engine.Generate(asked(model), timeout=60)) == {good}
    assert eventually(lambda: model.do(
        "SELECT version_id FROM engine_models WHERE model_id = %s AND refused_version_id = %s"
        " AND refused_reason LIKE '%%NaN%%'", model.id, bad)) == [(good,)]
    assert "NaN" in _loaded_model(engine, model).refused_reason
    better = model.publish(2)
    assert versions(engine.Generate(asked(model, version_id=better), timeout=60)) == {better}
    assert _loaded_model(engine, model).refused_reason == ""


def _probed(seed: int) -> dict[str, Any]:
    """Return the probe of the toy model of this seed, as a trainer would publish it."""
    made = Checkpoint.from_files(toy.files(seed, hidden=64, ffn=96, heads=2))
    return probe.expected(Policy(made.architecture, made.tensors)).to_json()


def test_a_version_that_fails_its_probe_is_refused(engine: Any, model: Model) -> None:
    good = model.publish(0, probe=_probed(0))
    engine.Generate(asked(model), timeout=60)
    bad = model.publish(1, probe=_probed(5))
    code_, reason = code(lambda: engine.Generate(asked(model, version_id=bad), timeout=60))
    assert code_ is grpc.StatusCode.DATA_LOSS
    assert "nats from the trainer's log-probs" in reason
    assert "after an update, a reload and a rebuild" in reason
    assert versions(engine.Generate(asked(model), timeout=60)) == {good}
    better = model.publish(2, probe=_probed(2))
    assert versions(engine.Generate(asked(model, version_id=better), timeout=60)) == {better}
    assert _loaded_model(engine, model).refused_reason == ""


def test_a_first_version_that_fails_its_probe_is_refused_too(engine: Any, model: Model) -> None:
    bad = model.publish(0, probe=_probed(5))
    code_, reason = code(lambda: engine.Generate(asked(model, version_id=bad), timeout=60))
    assert code_ is grpc.StatusCode.DATA_LOSS
    assert "nats from the trainer's log-probs" in reason


def test_a_version_that_another_engine_may_serve_is_refused_for_now_only(engine: Any, model: Model) -> None:
    model.publish(0, probe=_probed(0))
    engine.Generate(asked(model), timeout=60)
    bad = model.publish(1, probe=_probed(5))
    model.do("INSERT INTO engines (id, address, kind, heartbeat_at) VALUES ('other', 'nowhere', 'native', 'infinity')")
    try:
        code_, reason = code(lambda: engine.Generate(asked(model, version_id=bad), timeout=60))
        assert code_ is grpc.StatusCode.UNAVAILABLE
        assert "another may serve it" in reason
        assert "nats from the trainer's log-probs" in reason
        model.do("INSERT INTO engine_models (engine_id, model_id, refused_version_id) VALUES ('other', %s, %s)",
                 model.id, bad)
        assert code(lambda: engine.Generate(asked(model, version_id=bad), timeout=60))[0] \
            is grpc.StatusCode.DATA_LOSS
    finally:
        model.do("DELETE FROM engines WHERE id = 'other'")


def test_changed_bytes_are_refused(engine: Any, model: Model, objects_url: str) -> None:
    version_id = model.publish(0)
    path = Path(objects_url.removeprefix("file://"), f"models/{model.id}/versions/{version_id}/model.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"\0")

    def asked_and_refused() -> Any:  # a busy engine forgets a request that ended before its turn to load came
        code_, _ = code(lambda: engine.Generate(asked(model), timeout=1.5))
        assert code_ in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        return model.do(
            "SELECT 1 FROM engine_models WHERE model_id = %s AND refused_reason LIKE '%%sha256 differs%%'", model.id)

    assert eventually(asked_and_refused)
    path.write_bytes(whole)
    assert versions(engine.Generate(asked(model), timeout=60)) == {version_id}


@pytest.mark.parametrize(("change", "field"), [
    ({"prompt_ids": []}, "prompt_ids"), ({"prompt_ids": [3, 32]}, "prompt_ids"), ({"n": 0}, "n"),
    ({"model_id": ""}, "model_id"), ({"max_tokens": 0}, "sampling.max_tokens"),
    ({"max_tokens": 1022}, "sampling.max_tokens"), ({"temperature": -1.0}, "sampling.temperature"),
    ({"temperature": 1e-38}, "sampling.temperature"),
    ({"stop_ids": [3, 32]}, "sampling.stop_ids"), ({"stop_ids": [-1]}, "sampling.stop_ids"),
    ({"top_p": 0.0}, "sampling.top_p"), ({"top_k": -1}, "sampling.top_k"), ({"stop": [""]}, "sampling.stop"),
])
def test_bad_input_is_named(engine: Any, model: Model, change: dict[str, Any], field: str) -> None:
    model.publish(0)
    request = asked(model)
    target: Any = request if set(change) & {"prompt_ids", "n", "model_id"} else request.sampling
    for name, value in change.items():
        target.ClearField(name)
        target.MergeFrom(type(target)(**{name: value}))
    for path, call in (("", lambda: engine.Generate(request, timeout=60)),
                       ("requests[1].", lambda: list(engine.GenerateBatch(
                           pb.GenerateBatchRequest(requests=[asked(model), request]), timeout=60)))):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        named, text = refused_field(refused.value)
        assert named == path + field
        assert "expected" in text


def test_scores(engine: Any, model: Model) -> None:
    version_id = model.publish(0)
    made = engine.Generate(asked(model, temperature=0.7, max_tokens=40), timeout=60).completions[0]
    item = pb.ScoreItem(context_ids=[23, 9, 6, 13], ids=made.ids)
    scored = engine.Score(pb.ScoreRequest(model_id=model.id, items=[item] * 40, temperature=0.7), timeout=60)
    assert scored.version_id == version_id
    assert len(scored.items) == 40
    assert list(scored.items[39].logp) == pytest.approx(list(made.logp_sample), abs=2e-5)
    assert all(entropy > 0 for entropy in scored.items[0].entropy)
    with pytest.raises(grpc.RpcError) as refused:
        engine.Score(pb.ScoreRequest(model_id=model.id, items=[pb.ScoreItem(ids=[3])]), timeout=60)
    assert refused_field(refused.value)[0] == "items[0].context_ids"


def test_the_least_temperature_is_what_the_engine_draws_at(engine: Any, model: Model) -> None:
    model.publish(0)
    for temperature in (LEAST_TEMPERATURE, 0.0):
        assert len(engine.Generate(asked(model, temperature=temperature), timeout=60).completions) == 2
    with pytest.raises(grpc.RpcError) as refused:
        engine.Generate(asked(model, temperature=LEAST_TEMPERATURE * 0.99), timeout=60)
    named, text = refused_field(refused.value)
    assert named == "sampling.temperature"
    assert f"at least {LEAST_TEMPERATURE}" in text


def test_pause_holds_and_abort_ends_what_runs(engine: Any, model: Model) -> None:
    model.publish(0)
    engine.LoadVersion(pb.LoadVersionRequest(model_id=model.id), timeout=60)
    engine.Pause(pb.PauseRequest(model_id=model.id), timeout=60)
    pending = engine.Generate.future(asked(model, "held", 40, max_tokens=900), timeout=60)
    assert eventually(lambda: _loaded_model(engine, model).waiting_sequences == 40)
    time.sleep(0.1)
    assert not pending.done()
    assert engine.Abort(pb.AbortRequest(request_id="held"), timeout=60).aborted == 40
    assert {made.finish_reason for made in pending.result().completions} == {tpb.FINISH_REASON_ABORT}
    pending = engine.Generate.future(asked(model), timeout=60)
    engine.Resume(pb.ResumeRequest(model_id=model.id), timeout=60)
    assert len(pending.result().completions) == 2


def test_the_requests_of_a_caller_who_went_away_are_ended(engine: Any, model: Model) -> None:
    model.publish(0)
    pending = engine.Generate.future(asked(model, n=64, max_tokens=1000), timeout=60)
    assert eventually(lambda: model.id in {one.model_id for one in engine.ListVersions(
        pb.ListVersionsRequest(), timeout=60).models} and _loaded_model(engine, model).running_sequences)
    pending.cancel()
    assert eventually(lambda: not _loaded_model(engine, model).running_sequences)
    assert _loaded_model(engine, model).waiting_sequences == 0


def test_counts_reach_the_rows(engine: Any, model: Model) -> None:
    model.publish(0)
    for number in range(3):
        engine.Generate(asked(model, f"train/{number}", 5), timeout=60)
    assert eventually(lambda: model.do(
        "SELECT generated_tokens, generated_samples FROM engine_models WHERE model_id = %s", model.id) == [(90, 15)])


def test_idle_models_are_let_go(engine: Any, postgres_owner_url: str, objects_url: str) -> None:
    models = [make_model(postgres_owner_url, objects_url) for _ in range(6)]
    for model in models:
        model.publish(0)
        engine.Generate(asked(model), timeout=60)
    listed = eventually(lambda: _few(engine))
    assert listed == {model.id for model in models[2:]}
    engine.Generate(asked(models[0]), timeout=60)


def _few(engine: Any) -> set[str]:
    listed = {one.model_id for one in engine.ListVersions(pb.ListVersionsRequest(), timeout=60).models}
    return listed if len(listed) == 4 else set()


def test_it_dies_at_its_crash_points_and_a_successor_gives_the_same_and_ends_in_order(
    engine: Any, variables: dict[str, str], model: Model, tmp_path: Path
) -> None:
    version_id = model.publish(0)
    wanted = engine.Generate(asked(model), timeout=60)
    crashing = {**variables, "HONE_CRASH_DIR": str(tmp_path), "HONE_PROCESS_NAME": "inference-2"}
    for point in ("weights.mid-load", "generate.mid"):
        (tmp_path / point).touch()
        with running("inference", **crashing) as service:
            doomed: Any = InferenceServiceStub(service.channel)
            assert code(partial(doomed.Generate, asked(model), timeout=90))
            assert service.process.wait(60) == -signal.SIGKILL, point
    with running("inference", **crashing) as service:
        stub: Any = InferenceServiceStub(service.channel)
        assert same(stub.Generate(asked(model), timeout=60), wanted)
        _ends_in_order(service, stub, model, version_id)
    assert model.do("SELECT 1 FROM engines WHERE id = 'inference-2'") == []


def _ends_in_order(service: Service, stub: Any, model: Model, version_id: str) -> None:
    """Find an engine in its rows, and end it under a request that runs: the caller gets what was made."""
    assert stub.ListVersions(pb.ListVersionsRequest(), timeout=60).engine_id == "inference-2"
    rows = eventually(lambda: model.do(
        "SELECT e.load, m.version_id FROM engines e JOIN engine_models m ON m.engine_id = e.id"
        " WHERE e.id = 'inference-2' AND m.model_id = %s AND e.heartbeat_at > now() - interval '5 seconds'", model.id))
    assert 0 <= rows[0][0] <= 1
    assert rows[0][1] == version_id
    pending = stub.Generate.future(asked(model, n=64, max_tokens=1000), timeout=60)
    eventually(lambda: _loaded_model(stub, model).running_sequences)
    service.process.terminate()
    assert service.process.wait(60) == 0
    assert {made.finish_reason for made in pending.result().completions} == {tpb.FINISH_REASON_ABORT}
