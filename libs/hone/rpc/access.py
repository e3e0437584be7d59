"""Who may call what through the door: one rule for each RPC. docs/grpc.md says the same in words."""

from typing import NamedTuple

from hone.scopes import Scope


class Rule(NamedTuple):
    """Demands of an RPC on a caller who came through the door, and its effect."""

    scope: Scope
    model: str = ""  # path of the field that names models of the tenant
    run: str = ""  # path of the field that names a run of the tenant
    tenant: str = ""  # path of the field that gets the caller's tenant
    checks: str = ""  # what the service itself limits to the tenant
    changes: str = ""  # path of the field that names what it changes, for the audit log
    spends: bool = False  # it uses what quotas and budgets bound
    billed: str = ""  # path of the field that names the run, or the model of the run, which its use is billed to


_INFERENCE, _REWARD, _VALUE = "/hone.v1.InferenceService/", "/hone.v1.RewardService/", "/hone.v1.ValueService/"
_SIMULATION, _LEARNER = "/hone.v1.SimulationService/", "/hone.v1.LearnerService/"
_SESSIONS = Rule("run", checks="sessions that the tenant started")
_ENGINE_STATE = Rule("run", model="model_id", changes="model_id")


def _grading(path: str) -> Rule:
    return Rule("run", run=f"{path}run_id", tenant=f"{path}tenant_id", checks="groups of the run",
                changes=f"{path}run_id", spends=True, billed=f"{path}run_id")


RULES: dict[str, Rule] = {
    _INFERENCE + "Generate": Rule("run", model="model_id", spends=True),
    _INFERENCE + "GenerateStream": Rule("run", model="request.model_id", spends=True),
    _INFERENCE + "GenerateBatch": Rule("run", model="requests.model_id", spends=True),
    _INFERENCE + "Score": Rule("run", model="model_id", spends=True),
    _INFERENCE + "Rate": Rule("run", model="model_id", spends=True),
    _INFERENCE + "ListVersions": Rule("read", checks="lists models of the tenant"),
    _INFERENCE + "LoadVersion": _ENGINE_STATE,
    _INFERENCE + "Pause": _ENGINE_STATE,
    _INFERENCE + "Resume": _ENGINE_STATE,
    _INFERENCE + "Abort": Rule("run", checks="requests that the tenant made", changes="request_id"),
    _REWARD + "Grade": _grading(""),
    _REWARD + "GradeStream": _grading("request."),
    _REWARD + "Reverify": _grading(""),
    _REWARD + "RunGrader": Rule("run", checks="names no row", spends=True),
    _REWARD + "CheckReferences": Rule("run", tenant="tenant_id", checks="names no row", spends=True),
    _VALUE + "AllocateRollouts": Rule("read", run="run_id"),
    _VALUE + "Baseline": Rule("read", run="run_id"),
    _VALUE + "Predict": Rule("read", run="run_id"),
    _VALUE + "Route": Rule("read", tenant="tenant_id", checks="outcomes of the tenant's models alone"),
    _VALUE + "RouteOutcomes": Rule("read", tenant="tenant_id", checks="outcomes of the tenant's models alone"),
    _VALUE + "Nearest": Rule("read", run="run_id"),
    _VALUE + "Embed": Rule("run", checks="names no row"),
    _SIMULATION + "Reset": Rule("run", checks="starts sessions of the tenant"),
    _SIMULATION + "Step": _SESSIONS,
    _SIMULATION + "StepBatch": _SESSIONS,
    _SIMULATION + "CreateUser": _SESSIONS,
    _SIMULATION + "Say": Rule("run", checks="sessions that the tenant started", spends=True),
    _SIMULATION + "FindWords": Rule("run", checks="sessions that the tenant started", spends=True),
    _SIMULATION + "Snapshot": _SESSIONS,
    _SIMULATION + "Restore": Rule("run", checks="starts a session of the tenant"),
    _SIMULATION + "Fork": _SESSIONS,
    _SIMULATION + "Examine": _SESSIONS,
    _SIMULATION + "Replay": Rule("run", checks="names no row"),
    _SIMULATION + "Verify": _SESSIONS,
    _SIMULATION + "Close": _SESSIONS,
    _SIMULATION + "DrawTasks": Rule("run", checks="names no row"),
    _SIMULATION + "ListEnvironments": Rule("read", checks="the same for everybody"),
    _SIMULATION + "FitAudience": Rule("run", tenant="tenant_id", checks="the dataset", changes="dataset", spends=True),
    _SIMULATION + "ReadAudienceFit": Rule("read", tenant="tenant_id", checks="the fit"),
    _SIMULATION + "SimulateAudience": Rule("run", tenant="tenant_id", checks="the fit", spends=True),
    _SIMULATION + "EvaluateAudience": Rule("run", tenant="tenant_id", checks="the fit", spends=True),
    _SIMULATION + "CalibrateAudience": Rule("run", tenant="tenant_id", checks="the fit", changes="fit_id"),
    _LEARNER + "AppendOperations": Rule(
        "run", tenant="tenant_id", checks="the model, and the runs, steps and versions in operations",
        changes="model_id", spends=True, billed="model_id"),
    _LEARNER + "GetOperation": Rule("read", tenant="tenant_id", checks="the operation"),
    _LEARNER + "ListModelVersions": Rule("read", tenant="tenant_id", checks="the model"),
}
"""The rule of each RPC. The door serves no RPC without one."""
