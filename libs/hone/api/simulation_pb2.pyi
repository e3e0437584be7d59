from hone.api import trajectory_pb2 as _trajectory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Split(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPLIT_UNSPECIFIED: _ClassVar[Split]
    SPLIT_TRAIN: _ClassVar[Split]
    SPLIT_HELD_OUT: _ClassVar[Split]
SPLIT_UNSPECIFIED: Split
SPLIT_TRAIN: Split
SPLIT_HELD_OUT: Split

class ResetRequest(_message.Message):
    __slots__ = ("tasks",)
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_trajectory_pb2.Task]
    def __init__(self, tasks: _Optional[_Iterable[_Union[_trajectory_pb2.Task, _Mapping]]] = ...) -> None: ...

class ResetResponse(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "address", "ttl_s", "observation")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    address: str
    ttl_s: float
    observation: Observation
    def __init__(self, session_id: _Optional[str] = ..., address: _Optional[str] = ..., ttl_s: _Optional[float] = ..., observation: _Optional[_Union[Observation, _Mapping]] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ("messages", "item_json", "grader_json", "turns_left", "state_hash", "tools_json", "admissible", "entities", "lexicon", "ask")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    GRADER_JSON_FIELD_NUMBER: _ClassVar[int]
    TURNS_LEFT_FIELD_NUMBER: _ClassVar[int]
    STATE_HASH_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    ADMISSIBLE_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    LEXICON_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    item_json: str
    grader_json: str
    turns_left: int
    state_hash: str
    tools_json: str
    admissible: Names
    entities: Names
    lexicon: Names
    ask: Ask
    def __init__(self, messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ..., item_json: _Optional[str] = ..., grader_json: _Optional[str] = ..., turns_left: _Optional[int] = ..., state_hash: _Optional[str] = ..., tools_json: _Optional[str] = ..., admissible: _Optional[_Union[Names, _Mapping]] = ..., entities: _Optional[_Union[Names, _Mapping]] = ..., lexicon: _Optional[_Union[Names, _Mapping]] = ..., ask: _Optional[_Union[Ask, _Mapping]] = ...) -> None: ...

class Names(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Ask(_message.Message):
    __slots__ = ("role", "messages")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    role: str
    messages: _containers.RepeatedCompositeFieldContainer[Message]
    def __init__(self, role: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[Message, _Mapping]]] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("role", "content", "fields_json")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    FIELDS_JSON_FIELD_NUMBER: _ClassVar[int]
    role: str
    content: str
    fields_json: str
    def __init__(self, role: _Optional[str] = ..., content: _Optional[str] = ..., fields_json: _Optional[str] = ...) -> None: ...

class StepRequest(_message.Message):
    __slots__ = ("session_id", "index", "action")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    index: int
    action: str
    def __init__(self, session_id: _Optional[str] = ..., index: _Optional[int] = ..., action: _Optional[str] = ...) -> None: ...

class StepResponse(_message.Message):
    __slots__ = ("observation", "done", "valid", "reward", "effect", "rules", "injection_json")
    class RulesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    VALID_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    INJECTION_JSON_FIELD_NUMBER: _ClassVar[int]
    observation: Observation
    done: bool
    valid: bool
    reward: float
    effect: bool
    rules: _containers.ScalarMap[str, float]
    injection_json: str
    def __init__(self, observation: _Optional[_Union[Observation, _Mapping]] = ..., done: _Optional[bool] = ..., valid: _Optional[bool] = ..., reward: _Optional[float] = ..., effect: _Optional[bool] = ..., rules: _Optional[_Mapping[str, float]] = ..., injection_json: _Optional[str] = ...) -> None: ...

class StepBatchRequest(_message.Message):
    __slots__ = ("steps",)
    STEPS_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[StepRequest]
    def __init__(self, steps: _Optional[_Iterable[_Union[StepRequest, _Mapping]]] = ...) -> None: ...

class StepBatchResponse(_message.Message):
    __slots__ = ("outcomes",)
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[StepOutcome]
    def __init__(self, outcomes: _Optional[_Iterable[_Union[StepOutcome, _Mapping]]] = ...) -> None: ...

class StepOutcome(_message.Message):
    __slots__ = ("taken", "lost", "refused")
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    taken: StepResponse
    lost: str
    refused: str
    def __init__(self, taken: _Optional[_Union[StepResponse, _Mapping]] = ..., lost: _Optional[str] = ..., refused: _Optional[str] = ...) -> None: ...

class SnapshotRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class SnapshotResponse(_message.Message):
    __slots__ = ("task", "state_json", "state_hash", "next_index")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    STATE_HASH_FIELD_NUMBER: _ClassVar[int]
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    task: _trajectory_pb2.Task
    state_json: str
    state_hash: str
    next_index: int
    def __init__(self, task: _Optional[_Union[_trajectory_pb2.Task, _Mapping]] = ..., state_json: _Optional[str] = ..., state_hash: _Optional[str] = ..., next_index: _Optional[int] = ...) -> None: ...

class RestoreRequest(_message.Message):
    __slots__ = ("task", "state_json", "state_hash", "next_index")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    STATE_HASH_FIELD_NUMBER: _ClassVar[int]
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    task: _trajectory_pb2.Task
    state_json: str
    state_hash: str
    next_index: int
    def __init__(self, task: _Optional[_Union[_trajectory_pb2.Task, _Mapping]] = ..., state_json: _Optional[str] = ..., state_hash: _Optional[str] = ..., next_index: _Optional[int] = ...) -> None: ...

class RestoreResponse(_message.Message):
    __slots__ = ("session", "examination_tools_json")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    EXAMINATION_TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    session: Session
    examination_tools_json: str
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., examination_tools_json: _Optional[str] = ...) -> None: ...

class ForkRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ForkResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ExamineRequest(_message.Message):
    __slots__ = ("session_id", "tool", "arguments_json")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    tool: str
    arguments_json: str
    def __init__(self, session_id: _Optional[str] = ..., tool: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ExamineResponse(_message.Message):
    __slots__ = ("text", "valid")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VALID_FIELD_NUMBER: _ClassVar[int]
    text: str
    valid: bool
    def __init__(self, text: _Optional[str] = ..., valid: _Optional[bool] = ...) -> None: ...

class ReplayRequest(_message.Message):
    __slots__ = ("task", "actions", "state_hashes")
    TASK_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    STATE_HASHES_FIELD_NUMBER: _ClassVar[int]
    task: _trajectory_pb2.Task
    actions: _containers.RepeatedScalarFieldContainer[str]
    state_hashes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task: _Optional[_Union[_trajectory_pb2.Task, _Mapping]] = ..., actions: _Optional[_Iterable[str]] = ..., state_hashes: _Optional[_Iterable[str]] = ...) -> None: ...

class ReplayResponse(_message.Message):
    __slots__ = ("before", "after")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    before: SnapshotResponse
    after: SnapshotResponse
    def __init__(self, before: _Optional[_Union[SnapshotResponse, _Mapping]] = ..., after: _Optional[_Union[SnapshotResponse, _Mapping]] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class VerifyResponse(_message.Message):
    __slots__ = ("score",)
    SCORE_FIELD_NUMBER: _ClassVar[int]
    score: float
    def __init__(self, score: _Optional[float] = ...) -> None: ...

class CloseRequest(_message.Message):
    __slots__ = ("session_ids",)
    SESSION_IDS_FIELD_NUMBER: _ClassVar[int]
    session_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CloseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DrawTasksRequest(_message.Message):
    __slots__ = ("environment", "params_json", "split", "seed", "first", "count")
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    environment: str
    params_json: str
    split: Split
    seed: int
    first: int
    count: int
    def __init__(self, environment: _Optional[str] = ..., params_json: _Optional[str] = ..., split: _Optional[_Union[Split, str]] = ..., seed: _Optional[int] = ..., first: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class DrawTasksResponse(_message.Message):
    __slots__ = ("tasks",)
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_trajectory_pb2.Task]
    def __init__(self, tasks: _Optional[_Iterable[_Union[_trajectory_pb2.Task, _Mapping]]] = ...) -> None: ...

class ListEnvironmentsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListEnvironmentsResponse(_message.Message):
    __slots__ = ("environments",)
    ENVIRONMENTS_FIELD_NUMBER: _ClassVar[int]
    environments: _containers.RepeatedCompositeFieldContainer[EnvironmentInfo]
    def __init__(self, environments: _Optional[_Iterable[_Union[EnvironmentInfo, _Mapping]]] = ...) -> None: ...

class EnvironmentInfo(_message.Message):
    __slots__ = ("name", "summary", "params_schema_json", "harness")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    PARAMS_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    HARNESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    summary: str
    params_schema_json: str
    harness: str
    def __init__(self, name: _Optional[str] = ..., summary: _Optional[str] = ..., params_schema_json: _Optional[str] = ..., harness: _Optional[str] = ...) -> None: ...
