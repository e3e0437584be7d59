from hone.api import trajectory_pb2 as _trajectory_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class KvOnUpdate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KV_ON_UPDATE_UNSPECIFIED: _ClassVar[KvOnUpdate]
    KV_ON_UPDATE_KEEP: _ClassVar[KvOnUpdate]
    KV_ON_UPDATE_RECOMPUTE: _ClassVar[KvOnUpdate]
KV_ON_UPDATE_UNSPECIFIED: KvOnUpdate
KV_ON_UPDATE_KEEP: KvOnUpdate
KV_ON_UPDATE_RECOMPUTE: KvOnUpdate

class GenerateRequest(_message.Message):
    __slots__ = ("request_id", "model_id", "version_id", "prompt_ids", "n", "sampling", "noise", "kv_on_update", "min_version", "first", "grammar")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    PROMPT_IDS_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    NOISE_FIELD_NUMBER: _ClassVar[int]
    KV_ON_UPDATE_FIELD_NUMBER: _ClassVar[int]
    MIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    GRAMMAR_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    model_id: str
    version_id: str
    prompt_ids: _containers.RepeatedScalarFieldContainer[int]
    n: int
    sampling: _trajectory_pb2.Sampling
    noise: _trajectory_pb2.NoiseKey
    kv_on_update: KvOnUpdate
    min_version: int
    first: int
    grammar: str
    def __init__(self, request_id: _Optional[str] = ..., model_id: _Optional[str] = ..., version_id: _Optional[str] = ..., prompt_ids: _Optional[_Iterable[int]] = ..., n: _Optional[int] = ..., sampling: _Optional[_Union[_trajectory_pb2.Sampling, _Mapping]] = ..., noise: _Optional[_Union[_trajectory_pb2.NoiseKey, _Mapping]] = ..., kv_on_update: _Optional[_Union[KvOnUpdate, str]] = ..., min_version: _Optional[int] = ..., first: _Optional[int] = ..., grammar: _Optional[str] = ...) -> None: ...

class GenerateResponse(_message.Message):
    __slots__ = ("request_id", "completions")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    COMPLETIONS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    completions: _containers.RepeatedCompositeFieldContainer[_trajectory_pb2.Completion]
    def __init__(self, request_id: _Optional[str] = ..., completions: _Optional[_Iterable[_Union[_trajectory_pb2.Completion, _Mapping]]] = ...) -> None: ...

class GenerateStreamRequest(_message.Message):
    __slots__ = ("request",)
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    request: GenerateRequest
    def __init__(self, request: _Optional[_Union[GenerateRequest, _Mapping]] = ...) -> None: ...

class GenerateStreamResponse(_message.Message):
    __slots__ = ("delta",)
    DELTA_FIELD_NUMBER: _ClassVar[int]
    delta: _trajectory_pb2.Completion
    def __init__(self, delta: _Optional[_Union[_trajectory_pb2.Completion, _Mapping]] = ...) -> None: ...

class GenerateBatchRequest(_message.Message):
    __slots__ = ("requests",)
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    requests: _containers.RepeatedCompositeFieldContainer[GenerateRequest]
    def __init__(self, requests: _Optional[_Iterable[_Union[GenerateRequest, _Mapping]]] = ...) -> None: ...

class GenerateBatchResponse(_message.Message):
    __slots__ = ("responses",)
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    responses: _containers.RepeatedCompositeFieldContainer[GenerateResponse]
    def __init__(self, responses: _Optional[_Iterable[_Union[GenerateResponse, _Mapping]]] = ...) -> None: ...

class ScoreRequest(_message.Message):
    __slots__ = ("model_id", "version_id", "items", "temperature", "top_k")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    version_id: str
    items: _containers.RepeatedCompositeFieldContainer[ScoreItem]
    temperature: float
    top_k: int
    def __init__(self, model_id: _Optional[str] = ..., version_id: _Optional[str] = ..., items: _Optional[_Iterable[_Union[ScoreItem, _Mapping]]] = ..., temperature: _Optional[float] = ..., top_k: _Optional[int] = ...) -> None: ...

class ScoreItem(_message.Message):
    __slots__ = ("context_ids", "ids")
    CONTEXT_IDS_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    context_ids: _containers.RepeatedScalarFieldContainer[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, context_ids: _Optional[_Iterable[int]] = ..., ids: _Optional[_Iterable[int]] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ("version_id", "items")
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    version_id: str
    items: _containers.RepeatedCompositeFieldContainer[ScoredItem]
    def __init__(self, version_id: _Optional[str] = ..., items: _Optional[_Iterable[_Union[ScoredItem, _Mapping]]] = ...) -> None: ...

class ScoredItem(_message.Message):
    __slots__ = ("logp", "entropy", "top_ids", "top_logp")
    LOGP_FIELD_NUMBER: _ClassVar[int]
    ENTROPY_FIELD_NUMBER: _ClassVar[int]
    TOP_IDS_FIELD_NUMBER: _ClassVar[int]
    TOP_LOGP_FIELD_NUMBER: _ClassVar[int]
    logp: _containers.RepeatedScalarFieldContainer[float]
    entropy: _containers.RepeatedScalarFieldContainer[float]
    top_ids: _containers.RepeatedScalarFieldContainer[int]
    top_logp: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, logp: _Optional[_Iterable[float]] = ..., entropy: _Optional[_Iterable[float]] = ..., top_ids: _Optional[_Iterable[int]] = ..., top_logp: _Optional[_Iterable[float]] = ...) -> None: ...

class RateRequest(_message.Message):
    __slots__ = ("model_id", "version_id", "items")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    version_id: str
    items: _containers.RepeatedCompositeFieldContainer[RateItem]
    def __init__(self, model_id: _Optional[str] = ..., version_id: _Optional[str] = ..., items: _Optional[_Iterable[_Union[RateItem, _Mapping]]] = ...) -> None: ...

class RateItem(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, ids: _Optional[_Iterable[int]] = ...) -> None: ...

class RateResponse(_message.Message):
    __slots__ = ("version_id", "ratings")
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    RATINGS_FIELD_NUMBER: _ClassVar[int]
    version_id: str
    ratings: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, version_id: _Optional[str] = ..., ratings: _Optional[_Iterable[float]] = ...) -> None: ...

class ListVersionsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListVersionsResponse(_message.Message):
    __slots__ = ("engine_id", "models")
    ENGINE_ID_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    engine_id: str
    models: _containers.RepeatedCompositeFieldContainer[LoadedModel]
    def __init__(self, engine_id: _Optional[str] = ..., models: _Optional[_Iterable[_Union[LoadedModel, _Mapping]]] = ...) -> None: ...

class LoadedModel(_message.Message):
    __slots__ = ("model_id", "version_id", "refused_reason", "running_sequences", "waiting_sequences", "generated_tokens", "generated_samples", "computed_s")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    REFUSED_REASON_FIELD_NUMBER: _ClassVar[int]
    RUNNING_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    WAITING_SEQUENCES_FIELD_NUMBER: _ClassVar[int]
    GENERATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    GENERATED_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    COMPUTED_S_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    version_id: str
    refused_reason: str
    running_sequences: int
    waiting_sequences: int
    generated_tokens: int
    generated_samples: int
    computed_s: float
    def __init__(self, model_id: _Optional[str] = ..., version_id: _Optional[str] = ..., refused_reason: _Optional[str] = ..., running_sequences: _Optional[int] = ..., waiting_sequences: _Optional[int] = ..., generated_tokens: _Optional[int] = ..., generated_samples: _Optional[int] = ..., computed_s: _Optional[float] = ...) -> None: ...

class LoadVersionRequest(_message.Message):
    __slots__ = ("model_id", "version_id")
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    version_id: str
    def __init__(self, model_id: _Optional[str] = ..., version_id: _Optional[str] = ...) -> None: ...

class LoadVersionResponse(_message.Message):
    __slots__ = ("version_id",)
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    version_id: str
    def __init__(self, version_id: _Optional[str] = ...) -> None: ...

class PauseRequest(_message.Message):
    __slots__ = ("model_id",)
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    def __init__(self, model_id: _Optional[str] = ...) -> None: ...

class PauseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResumeRequest(_message.Message):
    __slots__ = ("model_id",)
    MODEL_ID_FIELD_NUMBER: _ClassVar[int]
    model_id: str
    def __init__(self, model_id: _Optional[str] = ...) -> None: ...

class ResumeResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AbortRequest(_message.Message):
    __slots__ = ("request_id",)
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    def __init__(self, request_id: _Optional[str] = ...) -> None: ...

class AbortResponse(_message.Message):
    __slots__ = ("aborted",)
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    aborted: int
    def __init__(self, aborted: _Optional[int] = ...) -> None: ...
