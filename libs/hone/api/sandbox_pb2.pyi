from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATUS_UNSPECIFIED: _ClassVar[RunStatus]
    RUN_STATUS_FINISHED: _ClassVar[RunStatus]
    RUN_STATUS_ERROR: _ClassVar[RunStatus]
    RUN_STATUS_TIME_LIMIT: _ClassVar[RunStatus]
    RUN_STATUS_MEMORY_LIMIT: _ClassVar[RunStatus]
    RUN_STATUS_OUTPUT_LIMIT: _ClassVar[RunStatus]
    RUN_STATUS_REFUSED: _ClassVar[RunStatus]
    RUN_STATUS_ENDED: _ClassVar[RunStatus]
    RUN_STATUS_INFRA_ERROR: _ClassVar[RunStatus]
RUN_STATUS_UNSPECIFIED: RunStatus
RUN_STATUS_FINISHED: RunStatus
RUN_STATUS_ERROR: RunStatus
RUN_STATUS_TIME_LIMIT: RunStatus
RUN_STATUS_MEMORY_LIMIT: RunStatus
RUN_STATUS_OUTPUT_LIMIT: RunStatus
RUN_STATUS_REFUSED: RunStatus
RUN_STATUS_ENDED: RunStatus
RUN_STATUS_INFRA_ERROR: RunStatus

class RunRequest(_message.Message):
    __slots__ = ("tenant_id", "run_id", "source", "files", "stdin", "limits", "function", "calls_json", "wait_s")
    class FilesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    CALLS_JSON_FIELD_NUMBER: _ClassVar[int]
    WAIT_S_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    run_id: str
    source: str
    files: _containers.ScalarMap[str, bytes]
    stdin: bytes
    limits: RunLimits
    function: str
    calls_json: _containers.RepeatedScalarFieldContainer[str]
    wait_s: float
    def __init__(self, tenant_id: _Optional[str] = ..., run_id: _Optional[str] = ..., source: _Optional[str] = ..., files: _Optional[_Mapping[str, bytes]] = ..., stdin: _Optional[bytes] = ..., limits: _Optional[_Union[RunLimits, _Mapping]] = ..., function: _Optional[str] = ..., calls_json: _Optional[_Iterable[str]] = ..., wait_s: _Optional[float] = ...) -> None: ...

class RunLimits(_message.Message):
    __slots__ = ("wall_s", "call_s", "cpu_s", "memory_bytes", "output_bytes", "file_bytes", "processes")
    WALL_S_FIELD_NUMBER: _ClassVar[int]
    CALL_S_FIELD_NUMBER: _ClassVar[int]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    wall_s: float
    call_s: float
    cpu_s: float
    memory_bytes: int
    output_bytes: int
    file_bytes: int
    processes: int
    def __init__(self, wall_s: _Optional[float] = ..., call_s: _Optional[float] = ..., cpu_s: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., output_bytes: _Optional[int] = ..., file_bytes: _Optional[int] = ..., processes: _Optional[int] = ...) -> None: ...

class RunResponse(_message.Message):
    __slots__ = ("status", "detail", "outcomes", "stdout", "stderr", "wall_ms", "cpu_ms", "exit_code")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    status: RunStatus
    detail: str
    outcomes: _containers.RepeatedCompositeFieldContainer[CallOutcome]
    stdout: bytes
    stderr: bytes
    wall_ms: float
    cpu_ms: float
    exit_code: int
    def __init__(self, status: _Optional[_Union[RunStatus, str]] = ..., detail: _Optional[str] = ..., outcomes: _Optional[_Iterable[_Union[CallOutcome, _Mapping]]] = ..., stdout: _Optional[bytes] = ..., stderr: _Optional[bytes] = ..., wall_ms: _Optional[float] = ..., cpu_ms: _Optional[float] = ..., exit_code: _Optional[int] = ...) -> None: ...

class CallOutcome(_message.Message):
    __slots__ = ("value_json", "error")
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    value_json: str
    error: str
    def __init__(self, value_json: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("isolation", "forbidden", "places", "running", "waiting", "preloaded", "unavailable")
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    FORBIDDEN_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    PRELOADED_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    isolation: str
    forbidden: _containers.RepeatedScalarFieldContainer[str]
    places: int
    running: int
    waiting: int
    preloaded: _containers.RepeatedScalarFieldContainer[str]
    unavailable: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, isolation: _Optional[str] = ..., forbidden: _Optional[_Iterable[str]] = ..., places: _Optional[int] = ..., running: _Optional[int] = ..., waiting: _Optional[int] = ..., preloaded: _Optional[_Iterable[str]] = ..., unavailable: _Optional[_Iterable[str]] = ...) -> None: ...
