"""The report of a preflight: its parts are made beside each other, and a part that fails is a finding."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import grpc

from hone.algorithms import presets
from hone.algorithms.slots import method
from hone.client.preflight import Finding, GradedReferences, PreflightReport, WrongReference
from hone.doctor.findings import error, ok, warning
from hone.doctor.preflight import conclusions, costs, signal
from hone.resolution import sources
from hone.resolution.stages import Stage, stages
from hone.rpc import errors
from hone.spec.files import as_json
from hone.spec.problems import Invalid
from hone.spec.run import RunSpec
from hone.spec.settings import Settings
from hone.store.objects import Objects
from services.gateway.admission import references, row_references, task_rows, text_files
from services.gateway.admission.reference_findings import ReferenceFindings
from services.gateway.admission.references import References
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.preflight import inputs, prompts, samples
from services.gateway.preflight.inputs import Model, NoInput, PickedRows
from services.gateway.preflight.samples import BaseSamples, SampleRequest

SPARE_S = 10.0
"""Seconds that a part may take beyond the time for the samples, which end by themselves."""

REFERENCES_S = 20.0
"""Longest time for the grading of references."""

_log = logging.getLogger(__name__)


@dataclass
class Part:
    """A part of the report: some of its fields, and what they mean."""

    fields: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


async def make(
    session: TenantSession, objects: Objects, settings: Settings, spec: RunSpec, asked: SampleRequest,
) -> PreflightReport:
    """Return the forecast for a run of the spec. Raises nothing for a wrong spec: that is a finding."""
    made = _Report(session, objects, settings, spec, asked)
    found = await made.parts()
    findings = [finding for part in found for finding in part.findings]
    fields = {name: value for part in found for name, value in part.fields.items()}
    return PreflightReport(ok=all(one.level != "error" for one in findings), findings=_ranked(findings),
                           spec=as_json(spec), **fields)


def _ranked(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with errors first and what is well last, each level in the order of the report."""
    return sorted(dict.fromkeys(findings), key=lambda one: ("error", "warning", "ok").index(one.level))


class _Report:
    """A report in the making."""

    def __init__(
        self, session: TenantSession, objects: Objects, settings: Settings, spec: RunSpec, asked: SampleRequest,
    ) -> None:
        self._session, self._objects, self._settings = session, objects, settings
        self._spec, self._asked, self._stages = spec, asked, stages(spec)

    async def parts(self) -> list[Part]:
        """Return every part. Those that need the base or a valid spec are left out without it."""
        named: list[References] = []
        model: list[Model] = []
        first = [await self._tried("spec", lambda: self._names(named)),
                 await self._tried("model", lambda: self._base(model))]
        if not model:
            return first
        later = [self._tried("references", self._references), self._tried("prompts", lambda: self._texts(model[0]))]
        if named and self._sampled:
            later.append(self._tried("samples", lambda: self._samples(model[0], named[0], self._sampled[0])))
        return [*first, *await asyncio.gather(*later)]

    @property
    def _sampled(self) -> list[Stage]:
        """The stages that sample."""
        return [stage for stage in self._stages if not presets.supervised(stage.spec.algorithm)]

    async def _tried(self, check: str, work: Callable[[], Awaitable[Part]]) -> Part:
        """Return a part, or the finding that it could not be made, with the reason."""
        try:
            async with asyncio.timeout(self._asked.deadline_s + SPARE_S):
                return await work()
        except Invalid as wrong:
            return Part({}, [error(one.field, f"found {one.found}", f"expected {one.expected}")
                             for one in wrong.problems])
        except TimeoutError:
            reason = f"not done within {self._asked.deadline_s + SPARE_S:.0f} s"
        except grpc.aio.AioRpcError as away:
            reason = f"a service does not answer: {away.code().name}: {errors.reason(away)}"
        except (NoInput, ValueError, LookupError) as problem:
            reason = str(problem)
        except Exception as unexpected:  # a fault of one part must not hide the others
            _log.exception("the part %s of a preflight failed", check)
            reason = f"an unexpected {type(unexpected).__name__}, which the gateway's log describes"
        return Part({}, [error(check, f"could not be looked at: {reason}", "mend that, then look again: `hone health` "
                               "tells which services answer")])

    async def _names(self, named: list[References]) -> Part:
        """Check everything that the spec names."""
        lacks = await references.lacks(self._session, self._spec)
        rows = await task_rows.check(self._session, self._objects, self._spec, lacks)
        async with self._session.transaction() as transaction:
            named.append(await references.resolve(transaction, self._settings, self._spec, rows))
        bad = [warning("rows", message, "mend these rows and upload the dataset again, if they are meant to be tasks")
               for message in named[0].bad_rows]
        return Part({}, [ok("spec", "its models, datasets and methods exist and fit together"),
                         *(ok("rows", one) for one in named[0].split), *bad])

    async def _base(self, model: list[Model]) -> Part:
        """Read the base: ends, vocabulary, memory."""
        found = await inputs.model(self._session, self._objects, self._spec)
        if found is None:
            return Part()  # the spec's problems name it
        model.append(found)
        memory = list(costs.memory(self._spec, found.architecture, self._settings))
        vocabulary = conclusions.of_vocabulary(found.architecture.vocab_size, found.tokenizer.highest[0] + 1)
        return Part({"ends": found.ends(), "memory": memory}, [*conclusions.of_ends(found.ends()), *vocabulary])

    async def _references(self) -> Part:
        """Grade the references of each source of tasks by their own grader."""
        within_s = min(REFERENCES_S, self._asked.deadline_s)
        found = [_graded(one) for one in await row_references.check(
            self._session, self._objects, self._settings, self._spec, within_s)]
        return Part({"references": found}, [finding for one in found for finding in conclusions.of_references(one)])

    async def _texts(self, model: Model) -> Part:
        """Look at the prompts and rows of each stage that has others than the stage before."""
        found = Part({"prompts": [], "lengths": []})
        parts = list(_by_source(self._stages))
        for stage in _different(parts):
            supervised = presets.supervised(stage.spec.algorithm)
            picked = await self._rows(stage.spec, model)
            if supervised and picked is not None:
                texts = await text_files.in_thread(prompts.of_rows, self._settings, model, stage, picked)
            else:
                texts = await prompts.of_rollouts(self._settings, model, stage, picked)
            texts = prompts.named(texts, stage) if len(parts) > 1 else texts
            found.fields["prompts"] += texts.prompts
            found.fields["lengths"] += texts.lengths
            found.findings += texts.findings
        return found

    async def _rows(self, spec: RunSpec, model: Model) -> PickedRows | None:
        """Return rows of a stage's dataset; None if an environment makes its tasks."""
        if spec.task.dataset is None:
            return None
        most = prompts.ROWS if spec.task.environment is None else prompts.DRAWN
        return await inputs.rows(self._session, self._objects, spec.task, model, most, prompts.LONGEST)

    async def _samples(self, model: Model, named: References, stage: Stage) -> Part:
        """Have the base answer the first tasks of the first stage that samples."""
        taken = await samples.take(self._session, self._objects, model, self._spec, named, self._asked)
        chance = signal.expected(taken.scores, stage.spec.batch.samples)
        relative = method(presets.resolve(stage.spec.algorithm), "advantage").needs_peers
        findings = [*_unfinished(taken, self._asked), *conclusions.of_samples(taken.samples, stage.spec),
                    *(signal.conclusions(chance, relative) if chance else [])]
        return Part({"run_id": taken.run_id, "samples": list(taken.samples), "signal": chance,
                     "times": list(costs.time(stage.spec, taken.measured))}, findings)


def _graded(found: ReferenceFindings) -> GradedReferences:
    wrong = [WrongReference(row=one.row, output=one.output, reason=one.reason) for one in found.first]
    return GradedReferences(source=found.source, grader=found.grader, rows=found.rows, graded=found.checked,
                            right=found.right, wrong=wrong, unchecked=found.unchecked)


def _unfinished(taken: BaseSamples, asked: SampleRequest) -> list[Finding]:
    wanted = asked.tasks * asked.samples
    if not taken.problem and len(taken.samples) == wanted:
        return []
    reason = taken.problem or "tasks were refused"
    message = f"{len(taken.samples)} of {wanted} samples of the base were made: {reason}"
    mend = "see `hone health`; give a preflight more time where the base is large or answers are long"
    return [(warning if taken.samples else error)("samples", message, mend)]


def _by_source(found: Sequence[Stage]) -> Iterator[Stage]:
    """Yield each stage, and one that trains on several sources once for each of them, with its name."""
    for stage in found:
        for one in sources.of(stage.spec):
            yield replace(stage, spec=one.spec, name=f"{stage.name}, {one.name}" if one.name else stage.name)


def _different(found: Sequence[Stage]) -> list[Stage]:
    """Return the stages whose texts differ from those of every stage before."""
    kept: dict[tuple[str, ...], Stage] = {}
    for stage in found:
        spec = stage.spec
        columns = presets.builder_of(spec.algorithm) if presets.supervised(spec.algorithm) else ""
        kept.setdefault((spec.task.model_dump_json(), columns, str(spec.harness), str(spec.sampling.max_tokens)), stage)
    return list(kept.values())
