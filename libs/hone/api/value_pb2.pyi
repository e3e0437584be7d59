from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AllocateRolloutsRequest(_message.Message):
    __slots__ = ("run_id", "method", "params_json", "task_hashes", "budget", "before_step", "since_step", "lowest", "highest", "predictions")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    TASK_HASHES_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    BEFORE_STEP_FIELD_NUMBER: _ClassVar[int]
    SINCE_STEP_FIELD_NUMBER: _ClassVar[int]
    LOWEST_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    method: str
    params_json: str
    task_hashes: _containers.RepeatedScalarFieldContainer[str]
    budget: int
    before_step: int
    since_step: int
    lowest: float
    highest: float
    predictions: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, run_id: _Optional[str] = ..., method: _Optional[str] = ..., params_json: _Optional[str] = ..., task_hashes: _Optional[_Iterable[str]] = ..., budget: _Optional[int] = ..., before_step: _Optional[int] = ..., since_step: _Optional[int] = ..., lowest: _Optional[float] = ..., highest: _Optional[float] = ..., predictions: _Optional[_Iterable[float]] = ...) -> None: ...

class AllocateRolloutsResponse(_message.Message):
    __slots__ = ("rollouts", "chances", "metrics", "unreliable")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    ROLLOUTS_FIELD_NUMBER: _ClassVar[int]
    CHANCES_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    UNRELIABLE_FIELD_NUMBER: _ClassVar[int]
    rollouts: _containers.RepeatedScalarFieldContainer[int]
    chances: _containers.RepeatedScalarFieldContainer[float]
    metrics: _containers.ScalarMap[str, float]
    unreliable: str
    def __init__(self, rollouts: _Optional[_Iterable[int]] = ..., chances: _Optional[_Iterable[float]] = ..., metrics: _Optional[_Mapping[str, float]] = ..., unreliable: _Optional[str] = ...) -> None: ...

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

class PredictRequest(_message.Message):
    __slots__ = ("run_id", "since_step", "before_step", "version_id", "prompts", "lowest", "highest")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_STEP_FIELD_NUMBER: _ClassVar[int]
    BEFORE_STEP_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    LOWEST_FIELD_NUMBER: _ClassVar[int]
    HIGHEST_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    since_step: int
    before_step: int
    version_id: str
    prompts: _containers.RepeatedCompositeFieldContainer[Prompt]
    lowest: float
    highest: float
    def __init__(self, run_id: _Optional[str] = ..., since_step: _Optional[int] = ..., before_step: _Optional[int] = ..., version_id: _Optional[str] = ..., prompts: _Optional[_Iterable[_Union[Prompt, _Mapping]]] = ..., lowest: _Optional[float] = ..., highest: _Optional[float] = ...) -> None: ...

class Prompt(_message.Message):
    __slots__ = ("task_hash", "text")
    TASK_HASH_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    task_hash: str
    text: str
    def __init__(self, task_hash: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class PredictResponse(_message.Message):
    __slots__ = ("predictions", "reliable", "reason", "head_version", "context_digest", "context_rows")
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    RELIABLE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    HEAD_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ROWS_FIELD_NUMBER: _ClassVar[int]
    predictions: _containers.RepeatedCompositeFieldContainer[Prediction]
    reliable: bool
    reason: str
    head_version: str
    context_digest: str
    context_rows: int
    def __init__(self, predictions: _Optional[_Iterable[_Union[Prediction, _Mapping]]] = ..., reliable: _Optional[bool] = ..., reason: _Optional[str] = ..., head_version: _Optional[str] = ..., context_digest: _Optional[str] = ..., context_rows: _Optional[int] = ...) -> None: ...

class Prediction(_message.Message):
    __slots__ = ("p", "logit")
    P_FIELD_NUMBER: _ClassVar[int]
    LOGIT_FIELD_NUMBER: _ClassVar[int]
    p: float
    logit: float
    def __init__(self, p: _Optional[float] = ..., logit: _Optional[float] = ...) -> None: ...

class NearestRequest(_message.Message):
    __slots__ = ("run_id", "text", "most", "purpose", "version_id", "step")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    VERSION_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    text: str
    most: int
    purpose: str
    version_id: str
    step: int
    def __init__(self, run_id: _Optional[str] = ..., text: _Optional[str] = ..., most: _Optional[int] = ..., purpose: _Optional[str] = ..., version_id: _Optional[str] = ..., step: _Optional[int] = ...) -> None: ...

class NearestResponse(_message.Message):
    __slots__ = ("neighbours", "compared", "left_out")
    NEIGHBOURS_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    neighbours: _containers.RepeatedCompositeFieldContainer[Neighbour]
    compared: int
    left_out: int
    def __init__(self, neighbours: _Optional[_Iterable[_Union[Neighbour, _Mapping]]] = ..., compared: _Optional[int] = ..., left_out: _Optional[int] = ...) -> None: ...

class Neighbour(_message.Message):
    __slots__ = ("task_hash", "cosine")
    TASK_HASH_FIELD_NUMBER: _ClassVar[int]
    COSINE_FIELD_NUMBER: _ClassVar[int]
    task_hash: str
    cosine: float
    def __init__(self, task_hash: _Optional[str] = ..., cosine: _Optional[float] = ...) -> None: ...

class EmbedRequest(_message.Message):
    __slots__ = ("texts", "model")
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    texts: _containers.RepeatedScalarFieldContainer[str]
    model: str
    def __init__(self, texts: _Optional[_Iterable[str]] = ..., model: _Optional[str] = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("model", "embeddings", "tokens")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    model: str
    embeddings: _containers.RepeatedCompositeFieldContainer[Embedding]
    tokens: int
    def __init__(self, model: _Optional[str] = ..., embeddings: _Optional[_Iterable[_Union[Embedding, _Mapping]]] = ..., tokens: _Optional[int] = ...) -> None: ...

class Embedding(_message.Message):
    __slots__ = ("values", "tokens")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    tokens: int
    def __init__(self, values: _Optional[_Iterable[float]] = ..., tokens: _Optional[int] = ...) -> None: ...

class RouteRequest(_message.Message):
    __slots__ = ("tenant_id", "prompt", "candidates", "weight", "target", "max_cost", "exploration", "decision_id")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    MAX_COST_FIELD_NUMBER: _ClassVar[int]
    EXPLORATION_FIELD_NUMBER: _ClassVar[int]
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    prompt: str
    candidates: _containers.RepeatedCompositeFieldContainer[RouteCandidate]
    weight: float
    target: float
    max_cost: float
    exploration: float
    decision_id: str
    def __init__(self, tenant_id: _Optional[str] = ..., prompt: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[RouteCandidate, _Mapping]]] = ..., weight: _Optional[float] = ..., target: _Optional[float] = ..., max_cost: _Optional[float] = ..., exploration: _Optional[float] = ..., decision_id: _Optional[str] = ...) -> None: ...

class RouteCandidate(_message.Message):
    __slots__ = ("model", "subject_id", "cost")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_ID_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    model: str
    subject_id: str
    cost: float
    def __init__(self, model: _Optional[str] = ..., subject_id: _Optional[str] = ..., cost: _Optional[float] = ...) -> None: ...

class RouteResponse(_message.Message):
    __slots__ = ("chosen", "scores", "reason", "explored", "propensity", "head_version")
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPLORED_FIELD_NUMBER: _ClassVar[int]
    PROPENSITY_FIELD_NUMBER: _ClassVar[int]
    HEAD_VERSION_FIELD_NUMBER: _ClassVar[int]
    chosen: int
    scores: _containers.RepeatedCompositeFieldContainer[RouteScore]
    reason: str
    explored: bool
    propensity: float
    head_version: str
    def __init__(self, chosen: _Optional[int] = ..., scores: _Optional[_Iterable[_Union[RouteScore, _Mapping]]] = ..., reason: _Optional[str] = ..., explored: _Optional[bool] = ..., propensity: _Optional[float] = ..., head_version: _Optional[str] = ...) -> None: ...

class RouteScore(_message.Message):
    __slots__ = ("p", "score", "rows", "doubt")
    P_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DOUBT_FIELD_NUMBER: _ClassVar[int]
    p: float
    score: float
    rows: int
    doubt: str
    def __init__(self, p: _Optional[float] = ..., score: _Optional[float] = ..., rows: _Optional[int] = ..., doubt: _Optional[str] = ...) -> None: ...

class RouteOutcomesRequest(_message.Message):
    __slots__ = ("tenant_id", "candidates")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    candidates: _containers.RepeatedCompositeFieldContainer[RouteCandidate]
    def __init__(self, tenant_id: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[RouteCandidate, _Mapping]]] = ...) -> None: ...

class RouteOutcomesResponse(_message.Message):
    __slots__ = ("prompts", "rows", "head_version")
    PROMPTS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    HEAD_VERSION_FIELD_NUMBER: _ClassVar[int]
    prompts: _containers.RepeatedCompositeFieldContainer[RoutedPrompt]
    rows: _containers.RepeatedScalarFieldContainer[int]
    head_version: str
    def __init__(self, prompts: _Optional[_Iterable[_Union[RoutedPrompt, _Mapping]]] = ..., rows: _Optional[_Iterable[int]] = ..., head_version: _Optional[str] = ...) -> None: ...

class RoutedPrompt(_message.Message):
    __slots__ = ("text", "outcomes", "predictions")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    text: str
    outcomes: _containers.RepeatedScalarFieldContainer[float]
    predictions: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, text: _Optional[str] = ..., outcomes: _Optional[_Iterable[float]] = ..., predictions: _Optional[_Iterable[float]] = ...) -> None: ...
