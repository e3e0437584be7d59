"""Worlds of packages in a simulation service."""

import json
from typing import Any

from hone.api import simulation_pb2 as pb
from hone.api.trajectory_pb2 import Task


def started(simulation: Any, package: str) -> pb.Session:
    task = Task(environment="package", params_json=json.dumps({"package": package}))
    return simulation.Reset(pb.ResetRequest(tasks=[task]), timeout=60).sessions[0]  # type: ignore[no-any-return]


def stepped(simulation: Any, session: pb.Session, index: int, action: str) -> pb.StepResponse:
    request = pb.StepRequest(session_id=session.session_id, index=index, action=action)
    return simulation.Step(request, timeout=60)  # type: ignore[no-any-return]
