"""Who may call what through the door: one rule for each RPC. docs/grpc.md says the same in words."""

from typing import Literal, NamedTuple

Scope = Literal["read", "run", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "run", "admin")
"""What a key may do. Each scope includes those before it."""


class Rule(NamedTuple):
    """What an RPC asks of a caller who came through the door."""

    scope: Scope
    model: str = ""  # path of the field that names models of the tenant
    run: str = ""  # path of the field that names a run of the tenant
    tenant: str = ""  # path of the field that gets the caller's tenant
    checks: str = ""  # what the service itself limits to the tenant


_INFERENCE, _REWARD, _VALUE = "/hone.v1.InferenceService/", "/hone.v1.RewardService/", "/hone.v1.ValueService/"
_SIMULATION, _LEARNER = "/hone.v1.SimulationService/", "/hone.v1.LearnerService/"
_SESSIONS = Rule("run", checks="sessions that the tenant started")

RULES: dict[str, Rule] = {
    _INFERENCE + "Generate": Rule("run", model="model_id"),
    _INFERENCE + "GenerateStream": Rule("run", model="request.model_id"),
    _INFERENCE + "GenerateBatch": Rule("run", model="requests.model_id"),
    _INFERENCE + "Score": Rule("run", model="model_id"),
    _INFERENCE + "ListVersions": Rule("read", checks="lists models of the tenant"),
    _INFERENCE + "LoadVersion": Rule("run", model="model_id"),
    _INFERENCE + "Pause": Rule("run", model="model_id"),
    _INFERENCE + "Resume": Rule("run", model="model_id"),
    _INFERENCE + "Abort": Rule("run", checks="requests that the tenant made"),
    _REWARD + "Grade": Rule("run", run="run_id", tenant="tenant_id", checks="groups of the run"),
    _REWARD + "GradeStream": Rule("run", run="request.run_id", tenant="request.tenant_id", checks="groups of the run"),
    _REWARD + "RunGrader": Rule("run", checks="names no row"),
    _REWARD + "CheckReferences": Rule("run", tenant="tenant_id", checks="names no row"),
    _VALUE + "AllocateRollouts": Rule("read", run="run_id"),
    _VALUE + "Baseline": Rule("read", run="run_id"),
    _SIMULATION + "Reset": Rule("run", checks="starts sessions of the tenant"),
    _SIMULATION + "Step": _SESSIONS,
    _SIMULATION + "StepBatch": _SESSIONS,
    _SIMULATION + "Snapshot": _SESSIONS,
    _SIMULATION + "Restore": Rule("run", checks="starts a session of the tenant"),
    _SIMULATION + "Fork": _SESSIONS,
    _SIMULATION + "Verify": _SESSIONS,
    _SIMULATION + "Close": _SESSIONS,
    _SIMULATION + "DrawTasks": Rule("run", checks="names no row"),
    _SIMULATION + "ListEnvironments": Rule("read", checks="the same for everybody"),
    _LEARNER + "AppendOperations": Rule(
        "run", tenant="tenant_id", checks="the model, and the runs, steps and versions in operations"),
    _LEARNER + "GetOperation": Rule("read", tenant="tenant_id", checks="the operation"),
    _LEARNER + "ListModelVersions": Rule("read", tenant="tenant_id", checks="the model"),
}
"""The rule of each RPC. The door serves no RPC without one."""


def permits(scopes: list[str], wanted: Scope) -> bool:
    """Whether a key with these scopes may make a call that wants `wanted`."""
    return any(scope in scopes for scope in SCOPES[SCOPES.index(wanted):])
