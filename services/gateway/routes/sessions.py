"""/v1/sessions: play one task of an environment by hand, step by step."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator

from hone.api import simulation_pb2
from hone.client.play_resources import ClosedPlay, Play, PlayState, PlayStep, TaskSplit
from hone.environments.tools import ToolCall
from hone.spec.problems import Invalid, unstorable
from services.gateway.admission import judges
from services.gateway.admission.parameters import Config, Id, Store
from services.gateway.declarations import needs
from services.gateway.middleware.errors import TooMany
from services.gateway.middleware.tenancy import Caller, TenantSession
from services.gateway.play import sources
from services.gateway.play.sessions import PlaySessions

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])


class PlayVoice(BaseModel):
    """Who finds the words that an environment asks for: a user's, or those of noise that a model writes."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, min_length=1, max_length=300, description="Name of a model of yours.")
    endpoint: str | None = Field(None, min_length=1, max_length=300, description="Name of a judge with OpenAI's chat "
                                 "completions.")
    max_tokens: int = Field(512, ge=1, le=32_768, description="Most tokens of an answer.")
    temperature: float = Field(0.7, ge=0, le=2)

    @model_validator(mode="after")
    def _one(self) -> "PlayVoice":
        if (self.model is None) == (self.endpoint is None):
            raise ValueError("expected either model or endpoint")
        return self

    @property
    def field(self) -> str:
        """The field that names who answers."""
        return "voice.model" if self.model is not None else "voice.endpoint"

    @property
    def message(self) -> simulation_pb2.Voice:
        """The voice as the simulation service takes it, which knows both kinds of names."""
        return simulation_pb2.Voice(endpoint=self.model or self.endpoint or "", max_tokens=self.max_tokens,
                                    temperature=self.temperature)


class NewPlay(BaseModel):
    """A source of tasks as the task of a run's spec has it, and which of its tasks is played."""

    model_config = ConfigDict(extra="forbid")

    environment: str | None = Field(None, description="Name of an environment; null: the dataset's rows are questions.")
    params: dict[str, Any] = Field({}, description="Parameters of the environment.")
    dataset: str | None = Field(None, description="Name of an uploaded dataset; the task is a row of it.")
    row: int | None = Field(None, ge=1, lt=2**31, description="Number of the dataset's row, from 1; null: 1.")
    seed: int | None = Field(None, ge=0, lt=2**31, description="Without a dataset: the first task that a run with this "
                             "seed draws; null: 0.")
    split: TaskSplit = Field("train", description="Split of the task that a seed draws.")
    noise: dict[str, Any] | None = Field(None, description="Noise, as in a spec; `share` has no part in it.")
    voice: PlayVoice | None = Field(None, description="Needed where a user's first words are a model's.")

    @property
    def task(self) -> dict[str, Any]:
        """The source as the task of a spec."""
        return self.model_dump(include={"environment", "params", "dataset", "noise"}, exclude_none=True)


class PlayedCall(BaseModel):
    """The call of a tool."""

    model_config = ConfigDict(extra="forbid")

    tool: str = Field(max_length=300)
    arguments: dict[str, Any] = {}


class NewPlayStep(BaseModel):
    """One step: a text, which is said or is the action, or the call of a tool."""

    model_config = ConfigDict(extra="forbid")

    index: int = Field(ge=0, lt=2**31, description="`next_index` of the last answer. The same index returns the same "
                       "answer, and nothing is done twice.")
    text: str | None = Field(None, description="The text to say, or the action.")
    call: PlayedCall | None = None
    voice: PlayVoice | None = Field(None, description="Needed where a model speaks for the user, or writes noise.")

    @model_validator(mode="after")
    def _one(self) -> "NewPlayStep":
        if (self.text is None) == (self.call is None):
            raise ValueError("expected either text or call")
        return self

    @property
    def action(self) -> str:
        """The step as the environment takes it."""
        return self.text if self.text is not None else self._called.action()

    @property
    def _called(self) -> ToolCall:
        call = self.call or PlayedCall(tool="")
        return ToolCall(call.tool, call.arguments)


@router.post("", status_code=201, openapi_extra=needs("run", "sessions", {"environment": "sort_digits", "seed": 7}))
async def begin(wanted: NewPlay, caller: Caller, settings: Config, objects: Store) -> Play:
    """Begin one task, and return its first messages and tools. It is checked as the task of a run."""
    _expect_text(wanted)
    voice = await _voice(caller, wanted.voice)
    source = await sources.checked(caller, objects, settings, wanted.task, wanted.row, wanted.seed, wanted.split)
    return await PlaySessions(settings, caller).begin(source, voice)


@router.post("/{session_id}/steps", openapi_extra=needs("run", "sessions", {"index": 0, "text": "1 3 7"}))
async def step(session_id: Id, wanted: NewPlayStep, caller: Caller, settings: Config) -> PlayStep:
    """Take one step of a session, and return what the environment answers."""
    _expect_text(wanted)
    voice = await _voice(caller, wanted.voice)
    return await PlaySessions(settings, caller).step(session_id, wanted.index, wanted.action, voice)


@router.get("/{session_id}", openapi_extra=needs("run", "sessions"))
async def one_session(session_id: Id, caller: Caller, settings: Config) -> PlayState:
    """Return the present state of a session, with the environment's own score."""
    return await PlaySessions(settings, caller).state(session_id)


@router.delete("/{session_id}", openapi_extra=needs("run", "sessions"))
async def end(session_id: Id, caller: Caller, settings: Config) -> ClosedPlay:
    """Forget a session before its time."""
    return await PlaySessions(settings, caller).end(session_id)


def _expect_text(wanted: BaseModel) -> None:
    if problems := unstorable(wanted.model_dump(mode="json")):
        raise Invalid(problems)


async def _voice(session: TenantSession, voice: PlayVoice | None) -> simulation_pb2.Voice | None:
    """Return a voice that answers, as far as is known. Raises Invalid, and TooMany where a quota is used up."""
    if voice is None:
        return None
    limit = await session.reached_limit()
    if limit is not None:
        raise TooMany(f"No model is asked: {limit.reason}. Wait for {limit.until}.")
    async with session.transaction() as transaction:
        problem = await judges.problem(transaction, voice.field, voice.message.endpoint, "chat")
    if problem is not None:
        raise Invalid([problem])
    return voice.message
