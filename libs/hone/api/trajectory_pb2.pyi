from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINISH_REASON_UNSPECIFIED: _ClassVar[FinishReason]
    FINISH_REASON_STOP: _ClassVar[FinishReason]
    FINISH_REASON_LENGTH: _ClassVar[FinishReason]
    FINISH_REASON_ABORT: _ClassVar[FinishReason]
FINISH_REASON_UNSPECIFIED: FinishReason
FINISH_REASON_STOP: FinishReason
FINISH_REASON_LENGTH: FinishReason
FINISH_REASON_ABORT: FinishReason

class Task(_message.Message):
    __slots__ = ("environment", "params_json", "seed", "item_json", "content_hash", "noise_json")
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    ITEM_JSON_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    NOISE_JSON_FIELD_NUMBER: _ClassVar[int]
    environment: str
    params_json: str
    seed: int
    item_json: str
    content_hash: str
    noise_json: str
    def __init__(self, environment: _Optional[str] = ..., params_json: _Optional[str] = ..., seed: _Optional[int] = ..., item_json: _Optional[str] = ..., content_hash: _Optional[str] = ..., noise_json: _Optional[str] = ...) -> None: ...

class Sampling(_message.Message):
    __slots__ = ("max_tokens", "temperature", "top_p", "top_k", "stop", "stop_ids", "include_stop", "presence_penalty", "frequency_penalty", "logit_bias", "top_logprobs")
    class LogitBiasEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: float
        def __init__(self, key: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    STOP_IDS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_STOP_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_PENALTY_FIELD_NUMBER: _ClassVar[int]
    FREQUENCY_PENALTY_FIELD_NUMBER: _ClassVar[int]
    LOGIT_BIAS_FIELD_NUMBER: _ClassVar[int]
    TOP_LOGPROBS_FIELD_NUMBER: _ClassVar[int]
    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    stop: _containers.RepeatedScalarFieldContainer[str]
    stop_ids: _containers.RepeatedScalarFieldContainer[int]
    include_stop: bool
    presence_penalty: float
    frequency_penalty: float
    logit_bias: _containers.ScalarMap[int, float]
    top_logprobs: int
    def __init__(self, max_tokens: _Optional[int] = ..., temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., stop: _Optional[_Iterable[str]] = ..., stop_ids: _Optional[_Iterable[int]] = ..., include_stop: _Optional[bool] = ..., presence_penalty: _Optional[float] = ..., frequency_penalty: _Optional[float] = ..., logit_bias: _Optional[_Mapping[int, float]] = ..., top_logprobs: _Optional[int] = ...) -> None: ...

class LikeliestIds(_message.Message):
    __slots__ = ("ids", "logp")
    IDS_FIELD_NUMBER: _ClassVar[int]
    LOGP_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    logp: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, ids: _Optional[_Iterable[int]] = ..., logp: _Optional[_Iterable[float]] = ...) -> None: ...

class NoiseKey(_message.Message):
    __slots__ = ("seed", "request", "call")
    SEED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    seed: int
    request: str
    call: int
    def __init__(self, seed: _Optional[int] = ..., request: _Optional[str] = ..., call: _Optional[int] = ...) -> None: ...

class VersionSpan(_message.Message):
    __slots__ = ("version_id", "tokens")
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    version_id: str
    tokens: int
    def __init__(self, version_id: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class Completion(_message.Message):
    __slots__ = ("index", "ids", "logp_sample", "finish_reason", "versions", "likeliest")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LOGP_SAMPLE_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    LIKELIEST_FIELD_NUMBER: _ClassVar[int]
    index: int
    ids: _containers.RepeatedScalarFieldContainer[int]
    logp_sample: _containers.RepeatedScalarFieldContainer[float]
    finish_reason: FinishReason
    versions: _containers.RepeatedCompositeFieldContainer[VersionSpan]
    likeliest: _containers.RepeatedCompositeFieldContainer[LikeliestIds]
    def __init__(self, index: _Optional[int] = ..., ids: _Optional[_Iterable[int]] = ..., logp_sample: _Optional[_Iterable[float]] = ..., finish_reason: _Optional[_Union[FinishReason, str]] = ..., versions: _Optional[_Iterable[_Union[VersionSpan, _Mapping]]] = ..., likeliest: _Optional[_Iterable[_Union[LikeliestIds, _Mapping]]] = ...) -> None: ...
