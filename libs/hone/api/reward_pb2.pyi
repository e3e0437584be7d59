from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GradeStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRADE_STATUS_UNSPECIFIED: _ClassVar[GradeStatus]
    GRADE_STATUS_OK: _ClassVar[GradeStatus]
    GRADE_STATUS_NO_ANSWER: _ClassVar[GradeStatus]
    GRADE_STATUS_TIMEOUT_CANDIDATE: _ClassVar[GradeStatus]
    GRADE_STATUS_INFRA_ERROR: _ClassVar[GradeStatus]
    GRADE_STATUS_JUDGE_ERROR: _ClassVar[GradeStatus]
    GRADE_STATUS_TIMEOUT_GRADER: _ClassVar[GradeStatus]
    GRADE_STATUS_INVALID_SPEC: _ClassVar[GradeStatus]

class Standing(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STANDING_UNSPECIFIED: _ClassVar[Standing]
    STANDING_RIGHT: _ClassVar[Standing]
    STANDING_WRONG: _ClassVar[Standing]
    STANDING_UNKNOWN: _ClassVar[Standing]
GRADE_STATUS_UNSPECIFIED: GradeStatus
GRADE_STATUS_OK: GradeStatus
GRADE_STATUS_NO_ANSWER: GradeStatus
GRADE_STATUS_TIMEOUT_CANDIDATE: GradeStatus
GRADE_STATUS_INFRA_ERROR: GradeStatus
GRADE_STATUS_JUDGE_ERROR: GradeStatus
GRADE_STATUS_TIMEOUT_GRADER: GradeStatus
GRADE_STATUS_INVALID_SPEC: GradeStatus
STANDING_UNSPECIFIED: Standing
STANDING_RIGHT: Standing
STANDING_WRONG: Standing
STANDING_UNKNOWN: Standing

class GradeRequest(_message.Message):
    __slots__ = ("tenant_id", "run_id", "grader_json", "items", "again")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    GRADER_JSON_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    run_id: str
    grader_json: str
    items: _containers.RepeatedCompositeFieldContainer[GradeItem]
    again: bool
    def __init__(self, tenant_id: _Optional[str] = ..., run_id: _Optional[str] = ..., grader_json: _Optional[str] = ..., items: _Optional[_Iterable[_Union[GradeItem, _Mapping]]] = ..., again: _Optional[bool] = ...) -> None: ...

class GradeItem(_message.Message):
    __slots__ = ("group_id", "index", "item_json", "output_text", "truncated", "conversation_json", "world_json")
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TEXT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_JSON_FIELD_NUMBER: _ClassVar[int]
    WORLD_JSON_FIELD_NUMBER: _ClassVar[int]
    group_id: int
    index: int
    item_json: str
    output_text: str
    truncated: bool
    conversation_json: str
    world_json: str
    def __init__(self, group_id: _Optional[int] = ..., index: _Optional[int] = ..., item_json: _Optional[str] = ..., output_text: _Optional[str] = ..., truncated: _Optional[bool] = ..., conversation_json: _Optional[str] = ..., world_json: _Optional[str] = ...) -> None: ...

class GradeResponse(_message.Message):
    __slots__ = ("grades",)
    GRADES_FIELD_NUMBER: _ClassVar[int]
    grades: _containers.RepeatedCompositeFieldContainer[Grade]
    def __init__(self, grades: _Optional[_Iterable[_Union[Grade, _Mapping]]] = ...) -> None: ...

class GradeStreamRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: GradeRequest
    def __init__(self, request: _Optional[_Union[GradeRequest, _Mapping]] = ...) -> None: ...

class GradeStreamResponse(_message.Message):
    __slots__ = ("places", "grades")
    PLACES_FIELD_NUMBER: _ClassVar[int]
    GRADES_FIELD_NUMBER: _ClassVar[int]
    places: _containers.RepeatedScalarFieldContainer[int]
    grades: _containers.RepeatedCompositeFieldContainer[Grade]
    def __init__(self, places: _Optional[_Iterable[int]] = ..., grades: _Optional[_Iterable[_Union[Grade, _Mapping]]] = ...) -> None: ...

class Grade(_message.Message):
    __slots__ = ("grade_id", "status", "score", "components", "reasons", "extracted", "decided_by", "cost_ms", "turns", "steps", "error", "tokens", "evidence_json")
    class ComponentsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class TokensEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    GRADE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    COST_MS_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_JSON_FIELD_NUMBER: _ClassVar[int]
    grade_id: int
    status: GradeStatus
    score: float
    components: _containers.ScalarMap[str, float]
    reasons: _containers.RepeatedScalarFieldContainer[str]
    extracted: str
    decided_by: str
    cost_ms: float
    turns: _containers.RepeatedCompositeFieldContainer[TurnScores]
    steps: _containers.RepeatedCompositeFieldContainer[StepScore]
    error: str
    tokens: _containers.ScalarMap[str, int]
    evidence_json: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, grade_id: _Optional[int] = ..., status: _Optional[_Union[GradeStatus, str]] = ..., score: _Optional[float] = ..., components: _Optional[_Mapping[str, float]] = ..., reasons: _Optional[_Iterable[str]] = ..., extracted: _Optional[str] = ..., decided_by: _Optional[str] = ..., cost_ms: _Optional[float] = ..., turns: _Optional[_Iterable[_Union[TurnScores, _Mapping]]] = ..., steps: _Optional[_Iterable[_Union[StepScore, _Mapping]]] = ..., error: _Optional[str] = ..., tokens: _Optional[_Mapping[str, int]] = ..., evidence_json: _Optional[_Iterable[str]] = ...) -> None: ...

class ReverifyRequest(_message.Message):
    __slots__ = ("tenant_id", "run_id", "grader_json", "purpose", "limit", "after")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    GRADER_JSON_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    run_id: str
    grader_json: str
    purpose: str
    limit: int
    after: int
    def __init__(self, tenant_id: _Optional[str] = ..., run_id: _Optional[str] = ..., grader_json: _Optional[str] = ..., purpose: _Optional[str] = ..., limit: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...

class ReverifyResponse(_message.Message):
    __slots__ = ("grader_hash", "samples", "next")
    GRADER_HASH_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    grader_hash: str
    samples: _containers.RepeatedCompositeFieldContainer[Reverified]
    next: int
    def __init__(self, grader_hash: _Optional[str] = ..., samples: _Optional[_Iterable[_Union[Reverified, _Mapping]]] = ..., next: _Optional[int] = ...) -> None: ...

class Reverified(_message.Message):
    __slots__ = ("group_id", "index", "first_status", "first_score", "grade")
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    FIRST_STATUS_FIELD_NUMBER: _ClassVar[int]
    FIRST_SCORE_FIELD_NUMBER: _ClassVar[int]
    GRADE_FIELD_NUMBER: _ClassVar[int]
    group_id: int
    index: int
    first_status: GradeStatus
    first_score: float
    grade: Grade
    def __init__(self, group_id: _Optional[int] = ..., index: _Optional[int] = ..., first_status: _Optional[_Union[GradeStatus, str]] = ..., first_score: _Optional[float] = ..., grade: _Optional[_Union[Grade, _Mapping]] = ...) -> None: ...

class TurnScores(_message.Message):
    __slots__ = ("call", "scores")
    class ScoresEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    CALL_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    call: str
    scores: _containers.ScalarMap[str, float]
    def __init__(self, call: _Optional[str] = ..., scores: _Optional[_Mapping[str, float]] = ...) -> None: ...

class StepScore(_message.Message):
    __slots__ = ("call", "start", "end", "name", "value")
    CALL_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    call: str
    start: int
    end: int
    name: str
    value: float
    def __init__(self, call: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class RunGraderRequest(_message.Message):
    __slots__ = ("grader_json", "item_json", "output_text", "conversation_json")
    GRADER_JSON_FIELD_NUMBER: _ClassVar[int]
    ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TEXT_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_JSON_FIELD_NUMBER: _ClassVar[int]
    grader_json: str
    item_json: str
    output_text: str
    conversation_json: str
    def __init__(self, grader_json: _Optional[str] = ..., item_json: _Optional[str] = ..., output_text: _Optional[str] = ..., conversation_json: _Optional[str] = ...) -> None: ...

class RunGraderResponse(_message.Message):
    __slots__ = ("grade",)
    GRADE_FIELD_NUMBER: _ClassVar[int]
    grade: Grade
    def __init__(self, grade: _Optional[_Union[Grade, _Mapping]] = ...) -> None: ...

class CheckReferencesRequest(_message.Message):
    __slots__ = ("tenant_id", "grader_json", "items_json", "stop", "include_stop")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    GRADER_JSON_FIELD_NUMBER: _ClassVar[int]
    ITEMS_JSON_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_STOP_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    grader_json: str
    items_json: _containers.RepeatedScalarFieldContainer[str]
    stop: _containers.RepeatedScalarFieldContainer[str]
    include_stop: bool
    def __init__(self, tenant_id: _Optional[str] = ..., grader_json: _Optional[str] = ..., items_json: _Optional[_Iterable[str]] = ..., stop: _Optional[_Iterable[str]] = ..., include_stop: _Optional[bool] = ...) -> None: ...

class CheckReferencesResponse(_message.Message):
    __slots__ = ("places", "findings")
    PLACES_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    places: _containers.RepeatedScalarFieldContainer[int]
    findings: _containers.RepeatedCompositeFieldContainer[ReferenceFinding]
    def __init__(self, places: _Optional[_Iterable[int]] = ..., findings: _Optional[_Iterable[_Union[ReferenceFinding, _Mapping]]] = ...) -> None: ...

class ReferenceFinding(_message.Message):
    __slots__ = ("standing", "reason", "output")
    STANDING_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    standing: Standing
    reason: str
    output: str
    def __init__(self, standing: _Optional[_Union[Standing, str]] = ..., reason: _Optional[str] = ..., output: _Optional[str] = ...) -> None: ...
