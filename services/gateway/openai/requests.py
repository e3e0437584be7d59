"""The bodies of requests to models, field by field as OpenAI's clients send them."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from hone.client.routing_resources import PREFIX, RouteOptions

MOST_CHOICES, MOST_STOPS, MOST_TOP, MOST_EMBEDDED = 128, 4, 20, 1024
_Text = Annotated[str, StringConstraints(min_length=1)]


def _listed(given: Any) -> Any:
    """Return one stop text as a list of it."""
    return [given] if isinstance(given, str) else given


def _parts(given: Any) -> Any:
    """Return a text as its only part."""
    return [{"type": "text", "text": given}] if isinstance(given, str) else given


def _prompts(given: Any) -> list[str | list[int]]:
    """Return every prompt: a text, a list of texts, a list of ids, or a list of such lists. Raises ValueError."""
    one = isinstance(given, str) or (isinstance(given, list) and bool(given) and not isinstance(given[0], str | list))
    found = [given] if one else given
    if not isinstance(found, list) or not 1 <= len(found) <= MOST_CHOICES or not all(map(_is_prompt, found)):
        raise ValueError(f"expected a text, a list of ids of tokens, or 1 to {MOST_CHOICES} such prompts in a list")
    return found


def _is_prompt(given: Any) -> bool:
    return bool(given) and (isinstance(given, str) or (isinstance(given, list) and all(
        isinstance(id, int) and not isinstance(id, bool) and 0 <= id < 2**31 for id in given)))


_IDS: dict[str, Any] = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_Stops = Annotated[list[_Text], Field(max_length=MOST_STOPS), BeforeValidator(_listed), WithJsonSchema(
    {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "maxItems": MOST_STOPS}]})]
_SEVERAL: dict[str, Any] = {"type": "array", "minItems": 1, "maxItems": MOST_CHOICES}
_Prompts = Annotated[list[str | list[int]], PlainValidator(_prompts), WithJsonSchema(
    {"anyOf": [_TEXT, _IDS, {**_SEVERAL, "items": _TEXT}, {**_SEVERAL, "items": _IDS}]})]
_Name = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Part(_Body):
    type: str
    text: str | None = None
    refusal: str | None = None

    @model_validator(mode="after")
    def _is_text(self) -> Self:
        if self.type not in ("text", "refusal") or (self.text is None and self.refusal is None):
            raise ValueError(f"expected a part of type text: the model reads nothing else than text, not {self.type}")
        return self


_Content = Annotated[list[_Part], BeforeValidator(_parts), WithJsonSchema({"anyOf": [
    {"type": "string"}, {"type": "array", "items": {"type": "object", "required": ["type"], "properties": {
        "type": {"enum": ["text", "refusal"]}, "text": {"type": "string"}, "refusal": {"type": "string"}}}}]})]


class _CalledFunction(_Body):
    name: _Name
    arguments: str


class _Called(_Body):
    id: str
    type: Literal["function"] = "function"
    function: _CalledFunction


class AskedMessage(_Body):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: _Content | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Called] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.role == "tool" and self.tool_call_id is None:
            raise ValueError("expected a tool_call_id in a message of a tool")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("expected tool_calls in messages of the assistant alone")
        if self.content is None and not (self.tool_calls or self.refusal):
            raise ValueError("expected content, or tool_calls in a message of the assistant")
        return self


class _Function(_Body):
    name: _Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class AskedTool(_Body):
    """A function that the model may call."""

    type: Literal["function"]
    function: _Function


class _NamedFunction(_Body):
    name: _Name


class NamedTool(_Body):
    """The function that the model must call."""

    type: Literal["function"]
    function: _NamedFunction


class _Schema(_Body):
    name: _Name
    description: str | None = None
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    strict: bool | None = None


class ResponseFormat(_Body):
    """The form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None

    @model_validator(mode="after")
    def _with_its_schema(self) -> Self:
        if self.type == "json_schema" and (self.json_schema is None or self.json_schema.schema_ is None):
            raise ValueError("expected json_schema with a schema")
        return self


class StreamOptions(_Body):
    """Fields of a stream besides its pieces."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class _Asked(_Body):
    """Fields of both kinds of requests."""

    refused: ClassVar[dict[str, str]] = {}

    model: str
    n: int | None = Field(None, ge=1, le=MOST_CHOICES)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=0, description="Not OpenAI's: keep the k likeliest tokens; 0 keeps all.")
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    logit_bias: dict[str, float] | None = None
    seed: int | None = Field(None, ge=-2**63, lt=2**63)
    stop: _Stops | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    metadata: dict[str, str] | None = Field(None, max_length=16)
    return_token_ids: bool | None = Field(None, description="Not OpenAI's: answer with the ids of prompt and choices.")
    service_tier: Any = Field(None, description="Ignored.")
    store: Any = Field(None, description="Ignored.")

    @model_validator(mode="before")
    @classmethod
    def _without_refused(cls, given: Any) -> Any:
        for name, expected in cls.refused.items() if isinstance(given, dict) else ():
            if given.get(name) is not None:
                raise ValueError(f"expected no field {name}: {expected}")
        return {name: value for name, value in given.items() if value is not None or name not in cls.refused} if (
            isinstance(given, dict)) else given

    @field_validator("logit_bias")
    @classmethod
    def _ids_and_biases(cls, given: dict[str, float] | None) -> dict[str, float] | None:
        for id, bias in (given or {}).items():
            if not id.isdecimal() or len(id) > 9 or not -100 <= bias <= 100:
                raise ValueError("expected ids of tokens with numbers from -100 to 100")
        return given

    @property
    def stops(self) -> list[str]:
        """The stop texts."""
        return self.stop or []

    @property
    def choices(self) -> int:
        """The number of answers to a prompt."""
        return self.n or 1


class ChatRequest(_Asked):
    """The body of POST /v1/chat/completions."""

    refused: ClassVar[dict[str, str]] = {
        "audio": "answers are text", "web_search_options": "no model here searches the web",
        "functions": "tools are their new name", "function_call": "tool_choice is its new name",
        "moderation": "nothing is moderated here"}

    messages: Annotated[list[AskedMessage], Field(min_length=1)]
    max_completion_tokens: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MOST_TOP)
    tools: list[AskedTool] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    route: RouteOptions | None = Field(None, description="Changes for this request, where the model is a route.")
    verbosity: Any = Field(None, description="Ignored.")
    prediction: Any = Field(None, description="Ignored.")
    modalities: Any = Field(None, description="Ignored.")
    safety_identifier: Any = Field(None, description="Ignored.")
    prompt_cache_key: Any = Field(None, description="Ignored.")
    prompt_cache_retention: Any = Field(None, description="Ignored.")
    prompt_cache_options: Any = Field(None, description="Ignored.")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.route is not None and not self.model.startswith(PREFIX):
            raise ValueError(f"expected route only with a model that is a route, {PREFIX}NAME")
        if self.top_logprobs and not self.logprobs:
            raise ValueError("expected logprobs: true where top_logprobs is given")
        named = self.tool_choice.function.name if isinstance(self.tool_choice, NamedTool) else None
        known = {tool.function.name for tool in self.tools or ()}
        if len(known) < len(self.tools or ()):
            raise ValueError("expected tools with different names")
        if self.tool_choice not in (None, "none", "auto") and (not known or named not in known | {None}):
            raise ValueError(f"expected a tool_choice among the tools: {', '.join(sorted(known)) or 'there are none'}")
        return self

    @property
    def most_tokens(self) -> int | None:
        """Largest number of tokens of an answer; None: what the model's positions leave."""
        return self.max_completion_tokens or self.max_tokens


class CompletionRequest(_Asked):
    """The body of POST /v1/completions."""

    refused: ClassVar[dict[str, str]] = {"suffix": "no model here fills in text between two texts"}

    prompt: _Prompts
    max_tokens: int | None = Field(None, ge=0)
    best_of: int | None = Field(None, ge=1, le=MOST_CHOICES)
    echo: bool | None = None
    logprobs: int | None = Field(None, ge=0, le=MOST_TOP)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.best_of is not None and self.best_of < self.choices:
            raise ValueError(f"expected best_of of at least n, {self.choices}")
        if self.best_of is not None and self.best_of > self.choices and self.stream:
            raise ValueError("expected best_of of n with stream: the best are known at the end")
        if self.max_tokens == 0 and not self.echo:
            raise ValueError("expected max_tokens of at least 1, or echo: true")
        return self

    @property
    def sampled(self) -> int:
        """The number of samples of a prompt."""
        return self.best_of or self.choices


class PoolingRequest(_Body):
    """The body of POST /v1/pooling, with the fields of vLLM's that a rating needs."""

    model: str
    messages: Annotated[list[AskedMessage], Field(min_length=2)]
    truncate_prompt_tokens: int | None = Field(
        None, ge=-1, description="Most tokens of the text, which loses its beginning; -1 or null: the model's "
        "positions.")
    task: Literal["classify"] | None = Field(None, description="A single number for the whole text.")
    activation: Literal[False] | None = Field(None, description="A rating is the head's own number.")
    use_activation: Literal[False] | None = Field(None, description="The same.")
    user: str | None = None

    @model_validator(mode="after")
    def _ends_with_an_answer(self) -> Self:
        if self.messages[-1].role != "assistant":
            raise ValueError("expected the assistant's message last, the answer to rate")
        return self


class EmbeddingRequest(_Body):
    """The body of POST /v1/embeddings."""

    model: str
    input: Annotated[list[_Text], Field(min_length=1, max_length=MOST_EMBEDDED), BeforeValidator(_listed),
                     WithJsonSchema({"anyOf": [_TEXT, {**_SEVERAL, "items": _TEXT, "maxItems": MOST_EMBEDDED}]})]
    encoding_format: Literal["float", "base64"] | None = None
    user: str | None = None
