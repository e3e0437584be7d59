"""The Learner service refuses bad operations by the name of the field, and stores nothing of them."""

import asyncio
import json
from typing import Any

import pytest

from hone.api import learner_pb2 as pb
from hone.rpc.errors import InvalidField
from hone.store.database import Database
from services.learner.driver.service import LearnerService
from tests.integration.learner.rows import RunRows, add_run, add_step, add_version

KINDS = {"forward_backward": pb.OPERATION_KIND_FORWARD_BACKWARD, "optim_step": pb.OPERATION_KIND_OPTIM_STEP,
         "save": pb.OPERATION_KIND_SAVE, "export": pb.OPERATION_KIND_EXPORT}
PAYLOAD = "operations[0].payload_json"


class Caller:
    """Appends to the model of one run, whose step 1 is committed and step 2 planned."""

    def __init__(self, url: str, owner_url: str) -> None:
        self.run = add_run(owner_url)
        self.base = add_version(owner_url, self.run, 0)
        add_version(owner_url, self.run, 1)
        add_step(owner_url, self.run, 1, "committed")
        add_step(owner_url, self.run, 2)
        self._owner_url, self._database = owner_url, Database(url)
        self._learner = LearnerService(self._database)

    def append(self, *operations: tuple[str, str, Any]) -> list[pb.Operation]:
        """Append `(dedupe_key, kind, payload)`; a payload that is text goes as it is."""
        wanted = [pb.NewOperation(dedupe_key=key, kind=KINDS[kind],
                                  payload_json=payload if isinstance(payload, str) else json.dumps(payload))
                  for key, kind, payload in operations]
        request = pb.AppendOperationsRequest(tenant_id=self.run.tenant_id, model_id=self.run.model_id,
                                             operations=wanted)
        return list(asyncio.run(self._learner.AppendOperations(request, None)).operations)

    def refusal(self, *operations: tuple[str, str, Any]) -> InvalidField:
        """Append operations that are refused, and check that none is stored."""
        with pytest.raises(InvalidField) as refused:
            self.append(*operations)
        assert self._database.all("operations.queued", model_id=self.run.model_id) == []
        return refused.value

    def look(self, ask: str, request: Any) -> Any:
        return asyncio.run(getattr(self._learner, ask)(request, None))


@pytest.fixture
def caller(postgres_url: str, postgres_owner_url: str) -> Caller:
    return Caller(postgres_url, postgres_owner_url)


@pytest.fixture
def stranger(caller: Caller, postgres_owner_url: str) -> RunRows:
    """A run of another tenant, with a step that is planned."""
    rows = add_run(postgres_owner_url)
    assert rows.tenant_id != caller.run.tenant_id
    add_step(postgres_owner_url, rows, 2)
    return rows


@pytest.mark.parametrize(("kind", "payload", "field"), [
    ("save", {}, ".run_id"),
    ("save", {"run_id": "run_a", "number": 1.5}, ".number"),
    ("save", {"run_id": "run_a", "number": True}, ".number"),
    ("save", {"run_id": "run_a", "number": 2**31}, ".number"),
    ("save", {"run_id": "run_a", "number": 3, "step": "3"}, ".step"),
    ("save", {"run_id": "run_a", "number": 3, "step": 2}, ".number"),
    ("save", '{"run_id": "\\u0000", "number": 2}', ".run_id"),
    ("save", '{"run_id": "\\ud800", "number": 2}', ""),
    ("save", "[]", ""),
    ("save", "[" * 100_000, ""),
    ("save", "", ""),
    ("forward_backward", {"run_id": "run_a", "step": 0}, ".step"),
    ("forward_backward", {"run_id": "run_a", "step": 1, "update": -1}, ".update"),
    ("optim_step", {"lr": "x", "clip_norm": 1.0}, ".lr"),
    ("optim_step", '{"lr": NaN, "clip_norm": 1.0}', ".lr"),
    ("optim_step", '{"lr": 1e999, "clip_norm": 1.0}', ".lr"),
    ("optim_step", {"lr": 1e-3}, ".clip_norm"),
    ("optim_step", {"lr": 1e-3, "clip_norm": 0}, ".clip_norm"),
    ("optim_step", {"lr": 1e-3, "clip_norm": 1.0, "a": float("nan")}, ".a"),
    ("export", {"version_id": 7}, ".version_id"),
])
def test_a_payload_that_its_kind_cannot_have_is_refused(caller: Caller, kind: str, payload: Any, field: str) -> None:
    assert caller.refusal(("key", kind, payload)).field == PAYLOAD + field


def test_what_is_named_has_to_be_the_callers_and_the_models(caller: Caller, stranger: RunRows) -> None:
    theirs, run, base = stranger.run_id, caller.run.run_id, caller.base
    refused = {
        "a run of another tenant": ("save", {"run_id": theirs, "step": 2, "number": 2}, ".run_id"),
        "its step": ("forward_backward", {"run_id": theirs, "step": 2}, ".run_id"),
        "no run": ("save", {"run_id": "run_none", "number": 2}, ".run_id"),
        "a step that nobody planned": ("forward_backward", {"run_id": run, "step": 3}, ".step"),
        "one to be committed": ("save", {"run_id": run, "step": 3, "number": 3}, ".step"),
        "one that is committed": ("save", {"run_id": run, "step": 1, "number": 1}, ".step"),
        "a number that is taken": ("save", {"run_id": run, "number": 1}, ".number"),
        "no version": ("export", {"version_id": "ver_none"}, ".version_id"),
    }
    found = {what: caller.refusal(("key", kind, payload)).field for what, (kind, payload, _) in refused.items()}
    assert found == {what: PAYLOAD + field for what, (_, _, field) in refused.items()}
    appended = caller.append(
        ("a", "forward_backward", {"run_id": run, "step": 1}), ("b", "optim_step", {"lr": 0, "clip_norm": 1}),
        ("c", "save", {"run_id": run, "step": 2, "number": 2}), ("d", "export", {"version_id": base}))
    assert [operation.seq for operation in appended] == [1, 2, 3, 4]


def test_what_was_appended_is_found_again_though_its_step_went_on(caller: Caller, postgres_owner_url: str) -> None:
    save = ("c", "save", {"run_id": caller.run.run_id, "step": 2, "number": 2})
    (first,) = caller.append(save)
    add_version(postgres_owner_url, caller.run, 2)
    (again,) = caller.append(save)
    assert again.operation_id == first.operation_id


def test_a_key_with_two_payloads_in_one_request_is_refused(caller: Caller) -> None:
    update, other = {"lr": 1e-3, "clip_norm": 1.0}, {"lr": 1e-4, "clip_norm": 1.0}
    save = ("save", "save", {"run_id": caller.run.run_id, "number": 2})
    refused = caller.refusal(("a", "optim_step", update), save, ("a", "optim_step", other))
    assert refused.field == "operations[2].dedupe_key"
    first, second, _ = caller.append(("a", "optim_step", update), ("a", "optim_step", dict(update)), save)
    assert first.operation_id == second.operation_id
    with pytest.raises(InvalidField) as later:
        caller.append(save, ("a", "optim_step", other))
    assert later.value.field == "operations[1].dedupe_key"


def test_text_that_a_row_cannot_hold_is_refused(caller: Caller) -> None:
    assert caller.refusal(("a\0b", "optim_step", {"lr": 1, "clip_norm": 1})).field == "operations[0].dedupe_key"
    with pytest.raises(InvalidField, match="operation_id"):
        caller.look("GetOperation", pb.GetOperationRequest(tenant_id="t", operation_id="\0"))
    with pytest.raises(InvalidField, match="model_id"):
        caller.look("ListModelVersions", pb.ListModelVersionsRequest(tenant_id="t", model_id="\0"))
