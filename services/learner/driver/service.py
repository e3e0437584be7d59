"""The Learner service: the operation log over gRPC, for callers who write their own loop."""

import asyncio
import json
from typing import Any

from hone.api import learner_pb2 as pb
from hone.api import learner_pb2_grpc
from hone.rpc.errors import InvalidField, NotFound
from hone.store.database import Database, Row
from services.learner.driver.operations import DedupeConflict, append

_KINDS = {pb.OPERATION_KIND_FORWARD_BACKWARD: "forward_backward", pb.OPERATION_KIND_OPTIM_STEP: "optim_step",
          pb.OPERATION_KIND_SAVE: "save", pb.OPERATION_KIND_EXPORT: "export"}


class Learner(learner_pb2_grpc.LearnerServiceServicer):
    """Decodes, calls, encodes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def AppendOperations(self, request: Any, context: Any) -> pb.AppendOperationsResponse:
        """Append to a model's lane; raises INVALID_ARGUMENT and NOT_FOUND."""
        operations = [(_key(o, place), _kind(o, place), _payload(o, place))
                      for place, o in enumerate(request.operations)]
        rows = await asyncio.to_thread(self._append, request.tenant_id, request.model_id, operations)
        return pb.AppendOperationsResponse(operations=[_operation(row) for row in rows])

    async def GetOperation(self, request: Any, context: Any) -> pb.GetOperationResponse:
        """Return one operation; raises NOT_FOUND."""
        row = await asyncio.to_thread(self._one, "driver.operation", tenant_id=request.tenant_id,
                                      id=request.operation_id)
        if row is None:
            raise NotFound(f"operation_id: found {request.operation_id!r}, expected the id of an operation of yours")
        return pb.GetOperationResponse(operation=_operation(row))

    async def ListModelVersions(self, request: Any, context: Any) -> pb.ListModelVersionsResponse:
        """Return a model's versions, newest first."""
        rows = await asyncio.to_thread(self._all, "driver.live_versions", tenant_id=request.tenant_id,
                                       model_id=request.model_id)
        return pb.ListModelVersionsResponse(versions=[
            pb.ModelVersion(version_id=row["id"], seq=row["seq"], number=row["number"], state=row["state"])
            for row in rows])

    def _append(self, tenant_id: str, model_id: str, operations: list[tuple[str, str, dict[str, Any]]]) -> list[Row]:
        try:
            with self._database.transaction() as transaction:
                if transaction.one("driver.model_of", tenant_id=tenant_id, model_id=model_id) is None:
                    raise NotFound(f"model_id: found {model_id!r}, expected the id of a model of yours")
                return append(transaction, tenant_id, model_id, operations)
        except DedupeConflict as conflict:
            raise InvalidField("operations.dedupe_key", str(conflict), "a key used with one payload only") from None

    def _one(self, name: str, **params: Any) -> Row | None:
        return self._database.one(name, **params)

    def _all(self, name: str, **params: Any) -> list[Row]:
        return self._database.all(name, **params)


def _key(operation: pb.NewOperation, place: int) -> str:
    if not operation.dedupe_key:
        raise InvalidField(f"operations[{place}].dedupe_key", "", "a text that names this operation")
    return operation.dedupe_key


def _kind(operation: pb.NewOperation, place: int) -> str:
    if operation.kind not in _KINDS:
        raise InvalidField(f"operations[{place}].kind", operation.kind, f"one of {sorted(_KINDS.values())}")
    return _KINDS[operation.kind]


def _payload(operation: pb.NewOperation, place: int) -> dict[str, Any]:
    try:
        payload = json.loads(operation.payload_json)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise InvalidField(f"operations[{place}].payload_json", operation.payload_json[:80], "a JSON object")
    return payload


def _operation(row: Row) -> pb.Operation:
    kind = next(number for number, name in _KINDS.items() if name == row["kind"])
    return pb.Operation(
        operation_id=row["id"], model_id=row["model_id"], seq=row["seq"], kind=kind, state=row["state"],
        result_json="" if row["result"] is None else json.dumps(row["result"]), reason=row["reason"] or "")
