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

class CreateUserRequest(_message.Message):
    __slots__ = ("user_json", "params_json", "seed")
    USER_JSON_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    user_json: str
    params_json: str
    seed: int
    def __init__(self, user_json: _Optional[str] = ..., params_json: _Optional[str] = ..., seed: _Optional[int] = ...) -> None: ...

class CreateUserResponse(_message.Message):
    __slots__ = ("session", "words")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    session: Session
    words: str
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., words: _Optional[str] = ...) -> None: ...

class Voice(_message.Message):
    __slots__ = ("endpoint", "max_tokens", "temperature")
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    endpoint: str
    max_tokens: int
    temperature: float
    def __init__(self, endpoint: _Optional[str] = ..., max_tokens: _Optional[int] = ..., temperature: _Optional[float] = ...) -> None: ...

class SayRequest(_message.Message):
    __slots__ = ("session_id", "index", "text", "voice")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    index: int
    text: str
    voice: Voice
    def __init__(self, session_id: _Optional[str] = ..., index: _Optional[int] = ..., text: _Optional[str] = ..., voice: _Optional[_Union[Voice, _Mapping]] = ...) -> None: ...

class SayResponse(_message.Message):
    __slots__ = ("words", "done", "next_index", "item_json", "rules")
    class RulesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    WORDS_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    words: str
    done: bool
    next_index: int
    item_json: str
    rules: _containers.ScalarMap[str, float]
    def __init__(self, words: _Optional[str] = ..., done: _Optional[bool] = ..., next_index: _Optional[int] = ..., item_json: _Optional[str] = ..., rules: _Optional[_Mapping[str, float]] = ...) -> None: ...

class FindWordsRequest(_message.Message):
    __slots__ = ("session_id", "index", "voice")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    index: int
    voice: Voice
    def __init__(self, session_id: _Optional[str] = ..., index: _Optional[int] = ..., voice: _Optional[_Union[Voice, _Mapping]] = ...) -> None: ...

class FindWordsResponse(_message.Message):
    __slots__ = ("taken",)
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    taken: StepResponse
    def __init__(self, taken: _Optional[_Union[StepResponse, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("session_id", "with_observation")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    WITH_OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    with_observation: bool
    def __init__(self, session_id: _Optional[str] = ..., with_observation: _Optional[bool] = ...) -> None: ...

class SnapshotResponse(_message.Message):
    __slots__ = ("task", "state_json", "state_hash", "next_index", "observation", "done")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    STATE_HASH_FIELD_NUMBER: _ClassVar[int]
    NEXT_INDEX_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    task: _trajectory_pb2.Task
    state_json: str
    state_hash: str
    next_index: int
    observation: Observation
    done: bool
    def __init__(self, task: _Optional[_Union[_trajectory_pb2.Task, _Mapping]] = ..., state_json: _Optional[str] = ..., state_hash: _Optional[str] = ..., next_index: _Optional[int] = ..., observation: _Optional[_Union[Observation, _Mapping]] = ..., done: _Optional[bool] = ...) -> None: ...

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

class FitAudienceRequest(_message.Message):
    __slots__ = ("tenant_id", "key_id", "dataset", "params_json", "reasoner_json")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    REASONER_JSON_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    key_id: str
    dataset: str
    params_json: str
    reasoner_json: str
    def __init__(self, tenant_id: _Optional[str] = ..., key_id: _Optional[str] = ..., dataset: _Optional[str] = ..., params_json: _Optional[str] = ..., reasoner_json: _Optional[str] = ...) -> None: ...

class ReadAudienceFitRequest(_message.Message):
    __slots__ = ("tenant_id", "fit_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    FIT_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    fit_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., fit_id: _Optional[str] = ...) -> None: ...

class FitAudienceResponse(_message.Message):
    __slots__ = ("fit",)
    FIT_FIELD_NUMBER: _ClassVar[int]
    fit: AudienceFit
    def __init__(self, fit: _Optional[_Union[AudienceFit, _Mapping]] = ...) -> None: ...

class ReadAudienceFitResponse(_message.Message):
    __slots__ = ("fit",)
    FIT_FIELD_NUMBER: _ClassVar[int]
    fit: AudienceFit
    def __init__(self, fit: _Optional[_Union[AudienceFit, _Mapping]] = ...) -> None: ...

class CalibrateAudienceResponse(_message.Message):
    __slots__ = ("fit",)
    FIT_FIELD_NUMBER: _ClassVar[int]
    fit: AudienceFit
    def __init__(self, fit: _Optional[_Union[AudienceFit, _Mapping]] = ...) -> None: ...

class AudienceFit(_message.Message):
    __slots__ = ("fit_id", "state", "reason", "report_json")
    FIT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REPORT_JSON_FIELD_NUMBER: _ClassVar[int]
    fit_id: str
    state: str
    reason: str
    report_json: str
    def __init__(self, fit_id: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., report_json: _Optional[str] = ...) -> None: ...

class SimulateAudienceRequest(_message.Message):
    __slots__ = ("tenant_id", "fit_id", "group")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    FIT_ID_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    fit_id: str
    group: AudienceGroup
    def __init__(self, tenant_id: _Optional[str] = ..., fit_id: _Optional[str] = ..., group: _Optional[_Union[AudienceGroup, _Mapping]] = ...) -> None: ...

class AudienceGroup(_message.Message):
    __slots__ = ("merchant_json", "segment_json", "strategy_json", "seed")
    MERCHANT_JSON_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_JSON_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_JSON_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    merchant_json: str
    segment_json: str
    strategy_json: str
    seed: int
    def __init__(self, merchant_json: _Optional[str] = ..., segment_json: _Optional[str] = ..., strategy_json: _Optional[str] = ..., seed: _Optional[int] = ...) -> None: ...

class SimulateAudienceResponse(_message.Message):
    __slots__ = ("steps", "policies", "flags", "users", "personas", "gap", "mean_gap", "alarm", "simulation_id")
    STEPS_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    PERSONAS_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    MEAN_GAP_FIELD_NUMBER: _ClassVar[int]
    ALARM_FIELD_NUMBER: _ClassVar[int]
    SIMULATION_ID_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[StepReaction]
    policies: _containers.RepeatedScalarFieldContainer[str]
    flags: _containers.RepeatedScalarFieldContainer[str]
    users: int
    personas: int
    gap: float
    mean_gap: float
    alarm: bool
    simulation_id: str
    def __init__(self, steps: _Optional[_Iterable[_Union[StepReaction, _Mapping]]] = ..., policies: _Optional[_Iterable[str]] = ..., flags: _Optional[_Iterable[str]] = ..., users: _Optional[int] = ..., personas: _Optional[int] = ..., gap: _Optional[float] = ..., mean_gap: _Optional[float] = ..., alarm: _Optional[bool] = ..., simulation_id: _Optional[str] = ...) -> None: ...

class StepReaction(_message.Message):
    __slots__ = ("step", "rate", "reasoned", "fitted", "weight")
    STEP_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    REASONED_FIELD_NUMBER: _ClassVar[int]
    FITTED_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    step: str
    rate: float
    reasoned: float
    fitted: float
    weight: float
    def __init__(self, step: _Optional[str] = ..., rate: _Optional[float] = ..., reasoned: _Optional[float] = ..., fitted: _Optional[float] = ..., weight: _Optional[float] = ...) -> None: ...

class EvaluateAudienceRequest(_message.Message):
    __slots__ = ("tenant_id", "fit_id", "groups")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    FIT_ID_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    fit_id: str
    groups: _containers.RepeatedCompositeFieldContainer[MeasuredGroup]
    def __init__(self, tenant_id: _Optional[str] = ..., fit_id: _Optional[str] = ..., groups: _Optional[_Iterable[_Union[MeasuredGroup, _Mapping]]] = ...) -> None: ...

class MeasuredGroup(_message.Message):
    __slots__ = ("group", "rates", "users")
    class RatesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RATES_FIELD_NUMBER: _ClassVar[int]
    USERS_FIELD_NUMBER: _ClassVar[int]
    group: AudienceGroup
    rates: _containers.ScalarMap[str, float]
    users: int
    def __init__(self, group: _Optional[_Union[AudienceGroup, _Mapping]] = ..., rates: _Optional[_Mapping[str, float]] = ..., users: _Optional[int] = ...) -> None: ...

class EvaluateAudienceResponse(_message.Message):
    __slots__ = ("all", "by_stratum", "sign_accuracy")
    class ByStratumEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: AudienceAccuracy
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[AudienceAccuracy, _Mapping]] = ...) -> None: ...
    ALL_FIELD_NUMBER: _ClassVar[int]
    BY_STRATUM_FIELD_NUMBER: _ClassVar[int]
    SIGN_ACCURACY_FIELD_NUMBER: _ClassVar[int]
    all: AudienceAccuracy
    by_stratum: _containers.MessageMap[str, AudienceAccuracy]
    sign_accuracy: float
    def __init__(self, all: _Optional[_Union[AudienceAccuracy, _Mapping]] = ..., by_stratum: _Optional[_Mapping[str, AudienceAccuracy]] = ..., sign_accuracy: _Optional[float] = ...) -> None: ...

class AudienceAccuracy(_message.Message):
    __slots__ = ("gse", "mae", "groups")
    GSE_FIELD_NUMBER: _ClassVar[int]
    MAE_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    gse: float
    mae: float
    groups: int
    def __init__(self, gse: _Optional[float] = ..., mae: _Optional[float] = ..., groups: _Optional[int] = ...) -> None: ...

class CalibrateAudienceRequest(_message.Message):
    __slots__ = ("tenant_id", "fit_id", "shrinkage")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    FIT_ID_FIELD_NUMBER: _ClassVar[int]
    SHRINKAGE_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    fit_id: str
    shrinkage: float
    def __init__(self, tenant_id: _Optional[str] = ..., fit_id: _Optional[str] = ..., shrinkage: _Optional[float] = ...) -> None: ...
