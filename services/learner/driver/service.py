"""The Learner service: a model's operation log over gRPC, so that clients other than a driver may append to it.

An operation that trains names a step of a run, which a driver has planned.
"""

import asyncio
import json
from typing import Any

from pydantic import ValidationError

from hone.api import learner_pb2 as pb
from hone.api import learner_pb2_grpc
from hone.rpc.errors import InvalidField, NotFound
from hone.spec import strict_json
from hone.spec.operations import PAYLOADS, Export, ForwardBackward, Payload, Save
from hone.spec.problems import from_validation, unstorable
from hone.store.database import Database, Row, Transaction
from services.learner.driver.operations import DedupeConflict, Named, append

_KINDS = {pb.OPERATION_KIND_FORWARD_BACKWARD: "forward_backward", pb.OPERATION_KIND_OPTIM_STEP: "optim_step",
          pb.OPERATION_KIND_SAVE: "save", pb.OPERATION_KIND_EXPORT: "export"}


class LearnerService(learner_pb2_grpc.LearnerServiceServicer):
    """Decodes, calls, encodes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def AppendOperations(self, request: Any, context: Any) -> pb.AppendOperationsResponse:
        """Append to a model's operation log; raises INVALID_ARGUMENT and NOT_FOUND."""
        _check_texts(request, "tenant_id", "model_id")
        operations = [(_key(o, place), _payload(o, place)) for place, o in enumerate(request.operations)]
        rows = await asyncio.to_thread(self._append, request.tenant_id, request.model_id, operations)
        return pb.AppendOperationsResponse(operations=[_operation(row) for row in rows])

    async def GetOperation(self, request: Any, context: Any) -> pb.GetOperationResponse:
        """Return one operation; raises INVALID_ARGUMENT and NOT_FOUND."""
        _check_texts(request, "tenant_id", "operation_id")
        row = await asyncio.to_thread(self._one, "operations.by_id", tenant_id=request.tenant_id,
                                      id=request.operation_id)
        if row is None:
            raise NotFound(f"operation_id: found {request.operation_id!r}, expected the id of an operation of yours")
        return pb.GetOperationResponse(operation=_operation(row))

    async def ListModelVersions(self, request: Any, context: Any) -> pb.ListModelVersionsResponse:
        """Return a model's versions, newest first; raises INVALID_ARGUMENT and NOT_FOUND."""
        _check_texts(request, "tenant_id", "model_id")
        rows = await asyncio.to_thread(self._versions, request.tenant_id, request.model_id)
        return pb.ListModelVersionsResponse(versions=[
            pb.ModelVersion(version_id=row["id"], seq=row["seq"], number=row["number"], state=row["state"])
            for row in rows])

    def _append(self, tenant_id: str, model_id: str, operations: list[Named]) -> list[Row]:
        try:
            with self._database.transaction() as transaction:
                _check_model(transaction, tenant_id, model_id)
                _check_references(transaction, tenant_id, model_id, operations)
                return append(transaction, tenant_id, model_id, operations)
        except DedupeConflict as conflict:
            place = max(place for place, (key, _) in enumerate(operations) if key == conflict.key)
            raise InvalidField(f"operations[{place}].dedupe_key", conflict.key,
                               "a key that is used with one payload only") from None

    def _one(self, name: str, **params: Any) -> Row | None:
        return self._database.one(name, **params)

    def _versions(self, tenant_id: str, model_id: str) -> list[Row]:
        with self._database.transaction() as transaction:
            _check_model(transaction, tenant_id, model_id)
            return transaction.all("versions.all_of_model", tenant_id=tenant_id, model_id=model_id)


def _check_model(transaction: Transaction, tenant_id: str, model_id: str) -> None:
    if transaction.one("models.of_tenant", tenant_id=tenant_id, model_id=model_id) is None:
        raise NotFound(f"model_id: found {model_id!r}, expected the id of a model of yours")


def _key(operation: pb.NewOperation, place: int) -> str:
    field = f"operations[{place}].dedupe_key"
    if not operation.dedupe_key:
        raise InvalidField(field, "", "a text that names this operation")
    _check_text(field, operation.dedupe_key)
    return operation.dedupe_key


def _check_texts(request: Any, *fields: str) -> None:
    for field in fields:
        _check_text(field, getattr(request, field))


def _check_text(field: str, text: str) -> None:
    for problem in unstorable(text):
        raise InvalidField(field, text, problem.expected)


def _payload(operation: pb.NewOperation, place: int) -> Payload:
    if operation.kind not in _KINDS:
        raise InvalidField(f"operations[{place}].kind", operation.kind, f"one of {sorted(_KINDS.values())}")
    model = PAYLOADS[_KINDS[operation.kind]]
    try:
        strict_json.read(operation.payload_json)
    except strict_json.RepeatedKey as error:
        raise InvalidField(f"operations[{place}].payload_json", error.found, error.expected) from None
    except ValueError:
        pass  # the model says where it is no JSON, or no number
    try:
        return model.model_validate_json(operation.payload_json)
    except ValidationError as error:
        first = from_validation(error, model, f"operations[{place}].payload_json")[0]
        raise InvalidField(first.field, first.found, first.expected) from None


def _check_references(transaction: Transaction, tenant_id: str, model_id: str, operations: list[Named]) -> None:
    """Check the rows that new operations name. Those of operations that are in the log may have changed since."""
    known = transaction.all("operations.by_dedupe_key", tenant_id=tenant_id, model_id=model_id,
                            dedupe_keys=[key for key, _ in operations])
    keys = {row["dedupe_key"] for row in known}
    for place, (key, payload) in enumerate(operations):
        if key not in keys:
            _check_named(transaction, tenant_id, model_id, payload, f"operations[{place}].payload_json")


def _check_named(transaction: Transaction, tenant_id: str, model_id: str, payload: Payload, field: str) -> None:
    """Refuse a run, step or version that the tenant does not have or the model cannot use. Raises InvalidField."""
    owned = {"tenant_id": tenant_id, "model_id": model_id}
    if isinstance(payload, ForwardBackward | Save):
        _check_run(transaction, owned, payload, field)
    if isinstance(payload, Export) and not transaction.one(
            "versions.of_model", **owned, version_id=payload.version_id):
        raise InvalidField(f"{field}.version_id", payload.version_id, "the id of a version of this model")


def _check_run(transaction: Transaction, owned: dict[str, str], payload: ForwardBackward | Save, field: str) -> None:
    number = payload.number if isinstance(payload, Save) else None
    run = transaction.one("runs.of_model", **owned, run_id=payload.run_id, step=payload.step, number=number)
    if run is None:
        raise InvalidField(f"{field}.run_id", payload.run_id, "the id of a run of yours that trains this model")
    if payload.step is not None and run["step"] is None:
        raise InvalidField(f"{field}.step", payload.step, f"a step of {payload.run_id} that is planned")
    if isinstance(payload, ForwardBackward):
        return
    if run["step"] not in (None, "planned"):
        raise InvalidField(f"{field}.step", payload.step, f"a step that is planned; this one is {run['step']}")
    if run["taken"]:
        raise InvalidField(f"{field}.number", number, "a number that no version of this model has")


def _operation(row: Row) -> pb.Operation:
    kind = next(number for number, name in _KINDS.items() if name == row["kind"])
    return pb.Operation(
        operation_id=row["id"], model_id=row["model_id"], seq=row["seq"], kind=kind, state=row["state"],
        result_json="" if row["result"] is None else json.dumps(row["result"]), reason=row["reason"] or "")
