from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AllocateRolloutsRequest(_message.Message):
    __slots__ = ("run_id", "method", "params_json", "task_hashes", "budget", "before_step", "since_step", "lowest", "highest")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    TASK_HASHES_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    BEFORE_STEP_FIELD_NUMBER: _ClassVar[int]
    SINCE_STEP_FIELD_NUMBER: _ClassVar[int]
    LOWEST_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    method: str
    params_json: str
    task_hashes: _containers.RepeatedScalarFieldContainer[str]
    budget: int
    before_step: int
    since_step: int
    lowest: float
    highest: float
    def __init__(self, run_id: _Optional[str] = ..., method: _Optional[str] = ..., params_json: _Optional[str] = ..., task_hashes: _Optional[_Iterable[str]] = ..., budget: _Optional[int] = ..., before_step: _Optional[int] = ..., since_step: _Optional[int] = ..., lowest: _Optional[float] = ..., highest: _Optional[float] = ...) -> None: ...

class AllocateRolloutsResponse(_message.Message):
    __slots__ = ("rollouts",)
    ROLLOUTS_FIELD_NUMBER: _ClassVar[int]
    rollouts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rollouts: _Optional[_Iterable[int]] = ...) -> None: ...

class BaselineRequest(_message.Message):
    __slots__ = ("run_id", "task_hashes", "before_step", "since_step")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_HASHES_FIELD_NUMBER: _ClassVar[int]
    BEFORE_STEP_FIELD_NUMBER: _ClassVar[int]
    SINCE_STEP_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    task_hashes: _containers.RepeatedScalarFieldContainer[str]
    before_step: int
    since_step: int
    def __init__(self, run_id: _Optional[str] = ..., task_hashes: _Optional[_Iterable[str]] = ..., before_step: _Optional[int] = ..., since_step: _Optional[int] = ...) -> None: ...

class BaselineResponse(_message.Message):
    __slots__ = ("baselines",)
    BASELINES_FIELD_NUMBER: _ClassVar[int]
    baselines: _containers.RepeatedCompositeFieldContainer[TaskBaseline]
    def __init__(self, baselines: _Optional[_Iterable[_Union[TaskBaseline, _Mapping]]] = ...) -> None: ...

class TaskBaseline(_message.Message):
    __slots__ = ("task_hash", "mean", "count")
    TASK_HASH_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    task_hash: str
    mean: float
    count: int
    def __init__(self, task_hash: _Optional[str] = ..., mean: _Optional[float] = ..., count: _Optional[int] = ...) -> None: ...
