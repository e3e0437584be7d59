"""Makes simulators of users: claims a fit, has it computed by a process of its own, asks the reasoner, calibrates."""

import asyncio
import hashlib
import json
import logging
import math
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from hone.audiences import stored
from hone.audiences.columns import Floats
from hone.audiences.reasoning import MOST_DROPPED, Reasoner, ask, expect_formulas
from hone.audiences.simulator import Simulator
from hone.audiences.training import CalibrationGroup, calibrate
from hone.environments import row_json
from hone.graders.questions import JudgeFailed
from hone.judges.asking import AskedJudges
from hone.process import ending
from hone.process.line import StillWaiting
from hone.rpc.errors import NotReady
from hone.spec.problems import Invalid, Problem
from hone.store import objects as stores
from hone.store.objects import ObjectMissing, Objects, StoreAway
from services.simulation.audiences import figures
from services.simulation.audiences.figures import MeasuredMerchant
from services.simulation.audiences.reasoners import reasoner, turn_of
from services.simulation.audiences.rows import LEASE_S, AudienceRows, ClaimedFit, GroupRecord

_AT_ONCE = 4
_LOOK_S, _MOST_ATTEMPTS, _AGAIN_S = 1.0, 4, 10.0
_FILE, _MOST_BYTES = "rows.jsonl", 2**26
_log = logging.getLogger(__name__)


class AudienceFits:
    """Takes fits that are due. A few are in work at a time, as a reasoner may be slow, and one of them computes."""

    def __init__(self, rows: AudienceRows, judges: AskedJudges, objects_url: str) -> None:
        self._rows, self._judges, self._objects_url = rows, judges, objects_url
        self._working = set[asyncio.Task[None]]()
        self._computing = asyncio.Lock()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work until the context ends; then others may take what is not done."""
        taking = asyncio.create_task(self._take_forever())
        try:
            yield
        finally:
            await ending.cancelled([taking, *self._working])
            with suppress(NotReady):
                await self._rows.release()

    async def _take_forever(self) -> None:
        with suppress(NotReady):
            await self._rows.release()  # of an earlier process of this name
        while True:
            try:
                if len(self._working) < _AT_ONCE and (fit := await self._rows.claim()) is not None:
                    task = asyncio.create_task(self._work(fit))
                    self._working.add(task)
                    task.add_done_callback(self._working.discard)
                    continue
            except NotReady as away:
                _log.warning("no fits of audiences are taken: %s", away)
            except Exception:  # of one row: those that are due after it are taken at the next looks
                _log.exception("a fit of an audience cannot be taken")
            await asyncio.sleep(_LOOK_S)

    async def _work(self, fit: ClaimedFit) -> None:
        """Make a fit, or say why it has to be made later. While the database is away its lease ends by itself."""
        making = asyncio.create_task(self._made(fit))
        holding = asyncio.create_task(self._hold(fit, making))
        try:
            await asyncio.wait([making])
        finally:
            await ending.cancelled([making, holding])
        try:
            await self._settle(fit, None if making.cancelled() else making.exception())
        except NotReady as away:
            _log.warning("the fit %s is taken again: %s", fit.id, away)

    async def _settle(self, fit: ClaimedFit, error: BaseException | None) -> None:
        """Say what becomes of a fit whose work ended with an error. Raises NotReady."""
        match error:
            case Invalid() as unfit:
                await self._rows.fail(fit, str(unfit))
            case NotReady() as away:
                raise away
            case JudgeFailed() | StillWaiting() | StoreAway() | ChildProcessError() as away:
                await self._later(fit, str(away))
            case BaseException():
                _log.error("the fit %s fails", fit.id, exc_info=error)
                await self._later(fit, f"{type(error).__name__}: {error}")

    async def _hold(self, fit: ClaimedFit, making: "asyncio.Task[None]") -> None:
        """Keep the lease of a fit, and give the work up where it was lost."""
        while True:
            await asyncio.sleep(LEASE_S / 4)
            with suppress(NotReady):
                if not await self._rows.keep(fit):
                    making.cancel()

    async def _later(self, fit: ClaimedFit, reason: str) -> None:
        if fit.attempts >= _MOST_ATTEMPTS:
            await self._rows.fail(fit, reason)
        else:
            await self._rows.again(fit, _AGAIN_S * fit.attempts, reason)

    async def _made(self, fit: ClaimedFit) -> None:
        manifest = await self._rows.dataset(fit.tenant_id, fit.dataset)
        if manifest is None:
            raise Invalid([Problem("dataset", repr(fit.dataset), "an uploaded dataset (`hone data list`)")])
        content = await asyncio.to_thread(_content, stores.connect(self._objects_url), manifest)
        async with self._computing:
            found = await _computed(fit.params.model_dump_json().encode() + b"\n" + content)
        simulator = stored.of_json(found["simulator"])
        if fit.reasoner and fit.reasoner.formulas is not None:
            expect_formulas(fit.reasoner.formulas, simulator.steps, simulator.columns.numbers)
        measured = [await self._merchant(fit, simulator, one) for one in found["groups"]]
        fusion = calibrate([one.group for one in measured if one.group is not None], fit.params.shrinkage)
        report = figures.report(found, simulator, measured, fusion, fit.params.shrinkage)
        await self._rows.done(fit, report, found["simulator"], stored.fusion_as_json(fusion) if fusion else None,
                              simulator.policies.policies)

    async def _merchant(
        self, fit: ClaimedFit, simulator: Simulator, group: Mapping[str, Any],
    ) -> MeasuredMerchant:
        """Return and store a merchant's rates and what is said of them."""
        drawn = np.random.default_rng([fit.params.seed, 6]).permutation(len(group["rows"]))[:fit.params.personas]
        rows = [group["rows"][place] for place in drawn.tolist()] if fit.reasoner else []
        record = GroupRecord(
            "calibration", {"merchant_id": group["merchant"]}, group["stratum"], len(group["rows"]),
            [group["users"][place] for place in drawn.tolist()] if fit.reasoner else [], None, None, group["fitted"],
            None, group["rates"])
        raw = reasoned = None
        if fit.reasoner is not None:
            q = await self._q(fit, record, reasoner(
                self._judges, fit.reasoner, turn_of(fit.id, fit.tenant_id, fit.key_id)), simulator, rows)
            anchored, read = np.full(q.shape, math.nan), ~np.isnan(q).any(1)
            anchored[read] = simulator.anchored(simulator.columns.encode(rows)[read], q[read])
            if 1.0 - read.mean() <= MOST_DROPPED:
                raw, reasoned = q[read].mean(0), anchored[read].mean(0)
            record = replace(record, q=listed(q), anchored=listed(anchored),
                             reasoned=None if reasoned is None else reasoned.tolist())
        await self._rows.keep_group(fit.id, fit.tenant_id, record)
        rates, fitted = np.array(group["rates"]), np.array(group["fitted"])
        return MeasuredMerchant(
            rates, record.users, fitted, np.array(group["plain"]), raw, None if reasoned is None else CalibrationGroup(
                group["merchant"], record.stratum, rates, reasoned, fitted, record.users))

    async def _q(
        self, fit: ClaimedFit, record: GroupRecord, answering: Reasoner, simulator: Simulator, rows: list[Any],
    ) -> Floats:
        """Return what the reasoner says of rows; what it said in an earlier attempt at the fit is not asked again."""
        known = await self._rows.known(fit.id, record.asked)
        if known is not None and known["personas"] == list(record.personas):
            return of_listed(known["q"], len(simulator.steps))
        return await ask(answering, simulator.questions(rows))


def listed(values: Floats) -> list[list[float] | None]:
    """Return the rows of an array [S, K] as JSON, None for one with NaN."""
    return [None if math.isnan(sum(row)) else row for row in values.tolist()]


def of_listed(rows: list[list[float] | None], steps: int) -> Floats:
    """Return the array [S, K] of what `listed` made."""
    return np.array([[math.nan] * steps if row is None else row for row in rows], np.float64)


def _content(objects: Objects, manifest: Mapping[str, Any]) -> bytes:
    """Return the rows of a dataset. Raises Invalid where they are too many, gone or changed, and StoreAway."""
    entry = manifest["files"][_FILE]
    if entry["bytes"] > _MOST_BYTES:
        raise Invalid([Problem("dataset", f"{entry['bytes']} bytes", f"at most {_MOST_BYTES}")])
    try:
        content = b"".join(objects.read(entry["key"]))
    except ObjectMissing:
        raise Invalid([Problem("dataset", "one whose rows were removed", "a stored dataset")]) from None
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise Invalid([Problem("dataset", "rows that differ from their manifest", "the rows that were uploaded")])
    return b"\n".join(json.dumps(_numbers(json.loads(line))).encode() for line in content.splitlines() if line.strip())


def _numbers(value: Any) -> Any:
    """Return a row with numbers where a dataset keeps the text of one, such as 1e-7."""
    if isinstance(value, dict):
        return {name: _numbers(inner) for name, inner in value.items()}
    number = row_json.number(value) if isinstance(value, str) else None
    return value if number is None else number


async def _computed(content: bytes) -> dict[str, Any]:
    """Return what a process of its own makes of rows. Raises Invalid, and ChildProcessError where it ends badly."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hone.audiences.job", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)
    try:
        said, complaint = await process.communicate(content)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        _log.error("a fit ended with %s: %s", process.returncode, complaint.decode(errors="replace")[-2000:])
        raise ChildProcessError(f"the fit's process ended with {process.returncode}; the service's log tells more")
    found: dict[str, Any] = json.loads(said)
    if "problems" in found:
        raise Invalid([Problem(**one) for one in found["problems"]])
    return found
