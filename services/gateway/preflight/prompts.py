"""The first prompts of a run and the lengths of many: tasks are drawn and begun by simulation, rendered as workers do.
"""

import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS
from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.client.preflight import Finding, Lengths, ShownCompletion, ShownPrompt
from hone.doctor.preflight import conclusions, lengths
from hone.doctor.preflight.lengths import Counted
from hone.environments.demonstrations import UnusableRow, trajectories
from hone.environments.messages import from_proto
from hone.environments.tasks import make, to_proto
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import first_prompt
from hone.resolution.stages import Stage
from hone.rpc.client import channel
from hone.spec.run import RunSpec
from hone.spec.settings import Settings
from hone.text import reasoning
from hone.text.model_text import ModelText
from hone.trajectory.records import Trajectory
from services.gateway.admission import text_files
from services.gateway.preflight.inputs import Model, NumberedRow, PickedRows

SHOWN = 3
DRAWN, ROWS, LONGEST = 64, 1024, 16
"""Tasks of an environment, spaced rows of a dataset, and its longest other rows, whose lengths are looked at."""
BUDGET_S = 15.0
"""Seconds after which no more tasks are begun; the lengths are those of the tasks until then."""
_AT_ONCE = 32


@dataclass(frozen=True)
class PromptTask:
    """A task before it is begun, by a name for people."""

    name: str
    task: trajectory_pb2.Task


@dataclass
class StageTexts:
    """The prompts and lengths of a stage, and what they mean."""

    prompts: list[ShownPrompt] = field(default_factory=list)
    lengths: list[Lengths] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


async def of_rollouts(settings: Settings, model: Model, stage: Stage, picked: PickedRows | None) -> StageTexts:
    """Look at the prompts of a stage that samples. `picked` are rows of its dataset; None: an environment makes tasks.

    Raises grpc.aio.AioRpcError where simulation does not answer.
    """
    spec = stage.spec
    async with channel(settings.addresses.simulation, settings.stack_token) as connection:
        stub = simulation_pb2_grpc.SimulationServiceStub(connection)
        spaced = await _drawn(stub, spec) if picked is None else _of_rows(spec, picked.spaced)
        found = [one async for one in _rendered(stub, model, spec, spaced)]
        longest = [one async for one in _rendered(stub, model, spec, _of_rows(spec, picked.longest))] if picked else []
    shown = [_shown(model, name, ids) for name, ids in found[:SHOWN]]
    counted = Counted("prompts", [len(ids) for _, ids in found], [len(ids) for _, ids in longest],
                      picked.total if picked else None)
    return _texts(shown, [counted], spec, model, settings, sampled=True)


def of_rows(settings: Settings, model: Model, stage: Stage, picked: PickedRows) -> StageTexts:
    """Look at the rows of a supervised stage: each answer as it would be trained."""
    columns = BUILDERS[presets.builder_of(stage.spec.algorithm)].columns
    made, unusable = dict[int, list[Trajectory]](), list[str]()
    for one in (*picked.spaced, *picked.longest):
        try:
            made[one.number] = trajectories(one.row, one.number, columns, model.tokenizer)
        except UnusableRow as error:
            unusable.append(f"row {one.number}: {error}")
    shown = [_with_completions(model, number, columns, rows) for number, rows in list(made.items())[:SHOWN]]
    spaced, longest = ([_longest_call(made[one.number]) for one in rows if one.number in made]
                       for rows in (picked.spaced, picked.longest))
    counted = Counted("rows with their answers", spaced, longest, picked.total)
    found = _texts(shown, [counted], stage.spec, model, settings, sampled=False)
    found.findings += conclusions.of_rows(unusable, len(made) + len(unusable))
    return found


def _longest_call(made: Sequence[Trajectory]) -> int:
    return max(len(call.prompt_ids) + len(call.completion_ids) for one in made for call in one.calls)


def _texts(
    shown: list[ShownPrompt], counted: Sequence[Counted], spec: RunSpec, model: Model, settings: Settings,
    sampled: bool,
) -> StageTexts:
    limits = lengths.limits(spec, model.base.max_positions, settings.engine.max_tokens, sampled)
    found = [lengths.distribution(one, limits) for one in counted if one.spaced]
    findings = [finding for one in found for finding in lengths.conclusions(one, sampled)]
    return StageTexts(shown, found, [*conclusions.of_prompts(shown, spec), *findings])


def _shown(model: Model, name: str, ids: list[int]) -> ShownPrompt:
    tokens = model.tokens(ids)
    return ShownPrompt(task=name, tokens=tokens, reasoning=reasoning.opened("".join(tokens.texts)))


def _with_completions(model: Model, number: int, columns: Sequence[str], made: Sequence[Trajectory]) -> ShownPrompt:
    completions = [ShownCompletion(column=column, tokens=model.tokens(call.completion_ids), trained=call.train_mask)
                   for column, one in zip(columns, made, strict=True) for call in one.calls]
    prompt = _shown(model, f"row {number}", made[0].calls[0].prompt_ids)
    return prompt.model_copy(update={"completions": completions})


def _of_rows(spec: RunSpec, rows: Sequence[NumberedRow]) -> list[PromptTask]:
    kind, params = spec.task.kind, spec.task.params
    return [PromptTask(f"row {one.number}", to_proto(make(kind, params, 0, one.row))) for one in rows]


async def _drawn(stub: "simulation_pb2_grpc.SimulationServiceAsyncStub", spec: RunSpec) -> list[PromptTask]:
    request = simulation_pb2.DrawTasksRequest(
        environment=spec.task.environment or "", params_json=json.dumps(spec.task.params),
        split=simulation_pb2.SPLIT_TRAIN, seed=spec.seed, first=0, count=DRAWN)
    drawn = await stub.DrawTasks(request, timeout=BUDGET_S)
    return [PromptTask(f"task {place}", task) for place, task in enumerate(drawn.tasks, 1)]


async def _rendered(
    stub: "simulation_pb2_grpc.SimulationServiceAsyncStub", model: Model, spec: RunSpec, tasks: Sequence[PromptTask],
) -> AsyncIterator[tuple[str, list[int]]]:
    """Yield the name and the prompt of each task, until the budget of time is used up."""
    until = time.monotonic() + BUDGET_S
    for first in range(0, len(tasks), _AT_ONCE):
        if time.monotonic() > until:
            return
        some = tasks[first:first + _AT_ONCE]
        begun = await stub.Reset(simulation_pb2.ResetRequest(tasks=[one.task for one in some]), timeout=BUDGET_S)
        await stub.Close(simulation_pb2.CloseRequest(
            session_ids=[session.session_id for session in begun.sessions]), timeout=BUDGET_S)
        seen = [session.observation for session in begun.sessions]
        for one, ids in zip(some, await text_files.in_thread(_prompts, model.tokenizer, spec, seen), strict=True):
            yield one.name, ids


def _prompts(
    tokenizer: ModelText, spec: RunSpec, seen: Sequence[simulation_pb2.Observation],
) -> list[list[int]]:
    """Return the first prompts of the policy, as its harness shows them."""
    named = spec.harness
    harness = HARNESSES[named.name if named else "chat"]
    params = harness.params.model_validate(named.params if named else {})
    found = []
    for one in seen:
        tools = json.loads(one.tools_json or "[]")
        messages, shown = first_prompt(harness, params, from_proto(one.messages), tools)
        found.append(tokenizer.prompt_ids(messages, shown))
    return found


def named(texts: StageTexts, stage: Stage) -> StageTexts:
    """Return the texts of a stage with its name in them, for a run that has several stages."""
    return replace(
        texts, prompts=[one.model_copy(update={"task": f"{stage.name}: {one.task}"}) for one in texts.prompts],
        lengths=[one.model_copy(update={"name": f"{stage.name}: {one.name}"}) for one in texts.lengths],
        findings=[one.model_copy(update={"check": f"{stage.name}: {one.check}"}) for one in texts.findings])
