"""A client without Hone: grpcio, code made from the .proto files, the door's certificate and two tenants' keys.

    python_client.py FOLDER-OF-GENERATED-CODE < place.json

Prints what each call gave, as JSON: a value, or the name of its status.
"""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

assert importlib.util.find_spec("hone") is None, "this environment has Hone"
sys.path.insert(0, sys.argv[1])
inference, simulation, learner, trajectory = (importlib.import_module(f"hone.v1.{name}_pb2")
                                              for name in ("inference", "simulation", "learner", "trajectory"))
stubs = {name: importlib.import_module(f"hone.v1.{name}_pb2_grpc") for name in ("inference", "simulation", "learner")}
place = json.load(sys.stdin)
TASK = {"environment": "sort_turns", "params_json": "{}", "seed": 3}


@contextmanager
def opened(key: str) -> Iterator[grpc.Channel]:
    with open(place["certificate"], "rb") as file:
        trusted = grpc.ssl_channel_credentials(file.read())
    shown = grpc.access_token_call_credentials(key)
    with grpc.secure_channel(place["door_address"], grpc.composite_channel_credentials(trusted, shown)) as channel:
        yield channel


def ended(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or the name of its status."""
    try:
        return call()
    except grpc.RpcError as error:
        return error.code().name


with opened(place["api_key"]) as mine, opened(place["stranger_key"]) as theirs, opened("tml-none") as nobody:
    stub = {name: stubs["inference"].InferenceServiceStub(channel)
            for name, channel in (("mine", mine), ("theirs", theirs), ("nobody", nobody))}
    game = {name: stubs["simulation"].SimulationServiceStub(channel)
            for name, channel in (("mine", mine), ("theirs", theirs))}
    log = {name: stubs["learner"].LearnerServiceStub(channel) for name, channel in (("mine", mine), ("theirs", theirs))}
    session = game["mine"].Reset(simulation.ResetRequest(tasks=[trajectory.Task(**TASK)]), timeout=120).sessions[0]
    step = simulation.StepRequest(session_id=session.session_id, index=0, action="1")
    generate = inference.GenerateRequest(request_id="r", model_id=place["model_id"], prompt_ids=[5, 6], n=2,
                                         sampling=trajectory.Sampling(max_tokens=3, temperature=1.0, top_p=1.0))
    versions = learner.ListModelVersionsRequest(model_id=place["model_id"])
    print(json.dumps({
        "held by mine": [one.model_id for one in stub["mine"].ListVersions(
            inference.ListVersionsRequest(), timeout=120).models],
        "held by theirs": [one.model_id for one in stub["theirs"].ListVersions(
            inference.ListVersionsRequest(), timeout=120).models],
        "no key": ended(lambda: stub["nobody"].ListVersions(inference.ListVersionsRequest(), timeout=120)),
        "their generation": ended(lambda: stub["theirs"].Generate(generate, timeout=120)),
        "samples": len(stub["mine"].Generate(generate, timeout=120).completions),
        "streamed": sum(1 for _ in stub["mine"].GenerateStream(inference.GenerateStreamRequest(request=generate),
                                                               timeout=120)) > 0,
        "their pause": ended(lambda: stub["theirs"].Pause(
            inference.PauseRequest(model_id=place["model_id"]), timeout=120)),
        "their step in my session": ended(lambda: game["theirs"].Step(step, timeout=120)),
        "my step": ended(lambda: game["mine"].Step(step, timeout=120).done in (True, False)),
        "their look at my versions": ended(lambda: log["theirs"].ListModelVersions(versions, timeout=120)),
        "my versions": sorted(one.number for one in log["mine"].ListModelVersions(versions, timeout=120).versions),
    }))
