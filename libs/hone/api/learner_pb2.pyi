from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OperationKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OPERATION_KIND_UNSPECIFIED: _ClassVar[OperationKind]
    OPERATION_KIND_FORWARD_BACKWARD: _ClassVar[OperationKind]
    OPERATION_KIND_OPTIM_STEP: _ClassVar[OperationKind]
    OPERATION_KIND_SAVE: _ClassVar[OperationKind]
    OPERATION_KIND_EXPORT: _ClassVar[OperationKind]
OPERATION_KIND_UNSPECIFIED: OperationKind
OPERATION_KIND_FORWARD_BACKWARD: OperationKind
OPERATION_KIND_OPTIM_STEP: OperationKind
OPERATION_KIND_SAVE: OperationKind
OPERATION_KIND_EXPORT: OperationKind

class NewOperation(_message.Message):
    __slots__ = ("dedupe_key", "kind", "payload_json")
    DEDUPE_KEY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_JSON_FIELD_NUMBER: _ClassVar[int]
    dedupe_key: str
    kind: OperationKind
    payload_json: str
    def __init__(self, dedupe_key: _Optional[str] = ..., kind: _Optional[_Union[OperationKind, str]] = ..., payload_json: _Optional[str] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ("operation_id", "model_id", "seq", "kind", "state", "result_json", "reason")
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    operation_id: str
    model_id: str
    seq: int
    kind: OperationKind
    state: str
    result_json: str
    reason: str
    def __init__(self, operation_id: _Optional[str] = ..., model_id: _Optional[str] = ..., seq: _Optional[int] = ..., kind: _Optional[_Union[OperationKind, str]] = ..., state: _Optional[str] = ..., result_json: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class AppendOperationsRequest(_message.Message):
    __slots__ = ("tenant_id", "model_id", "operations")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    model_id: str
    operations: _containers.RepeatedCompositeFieldContainer[NewOperation]
    def __init__(self, tenant_id: _Optional[str] = ..., model_id: _Optional[str] = ..., operations: _Optional[_Iterable[_Union[NewOperation, _Mapping]]] = ...) -> None: ...

class AppendOperationsResponse(_message.Message):
    __slots__ = ("operations",)
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    operations: _containers.RepeatedCompositeFieldContainer[Operation]
    def __init__(self, operations: _Optional[_Iterable[_Union[Operation, _Mapping]]] = ...) -> None: ...

class GetOperationRequest(_message.Message):
    __slots__ = ("tenant_id", "operation_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    OPERATION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    operation_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., operation_id: _Optional[str] = ...) -> None: ...

class GetOperationResponse(_message.Message):
    __slots__ = ("operation",)
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    operation: Operation
    def __init__(self, operation: _Optional[_Union[Operation, _Mapping]] = ...) -> None: ...

class ListModelVersionsRequest(_message.Message):
    __slots__ = ("tenant_id", "model_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    model_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., model_id: _Optional[str] = ...) -> None: ...

class ListModelVersionsResponse(_message.Message):
    __slots__ = ("versions",)
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[ModelVersion]
    def __init__(self, versions: _Optional[_Iterable[_Union[ModelVersion, _Mapping]]] = ...) -> None: ...

class ModelVersion(_message.Message):
    __slots__ = ("version_id", "seq", "number", "state")
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    version_id: str
    seq: int
    number: int
    state: str
    def __init__(self, version_id: _Optional[str] = ..., seq: _Optional[int] = ..., number: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...
