"""The part of the Simulation service that serves simulators of users. It needs the database; environments do not."""

import json
from typing import Any

from hone.api import simulation_pb2
from hone.audiences.behaviour import KEYS
from hone.audiences.reasoning import ReasonerSpec
from hone.audiences.training import MOST_OPEN, FitParams, expect_writer
from hone.judges.asking import AskedJudges
from hone.rpc.errors import InvalidField, OverBudget
from hone.rpc.tenancy import calling
from hone.store.database import Row
from services.simulation.audiences import requests
from services.simulation.audiences.answers import AudienceAnswers
from services.simulation.audiences.requests import fields_named
from services.simulation.audiences.rows import AudienceRows


class Audiences:
    """Makes and asks simulators of users."""

    def __init__(self, rows: AudienceRows, judges: AskedJudges) -> None:
        self.judges, self._rows, self._answers = judges, rows, AudienceAnswers(rows, judges)

    async def fit(self, request: simulation_pb2.FitAudienceRequest, context: Any) -> simulation_pb2.AudienceFit:
        """Ask for a fit, which is made beside other work. Raises InvalidField."""
        params = requests.model(request.params_json, "params_json", FitParams)
        reasoner = None
        if request.reasoner_json:
            reasoner = requests.model(request.reasoner_json, "reasoner_json", ReasonerSpec)
        with fields_named():
            expect_writer(params, reasoner)
        manifest = await self._rows.dataset(request.tenant_id, request.dataset)
        if manifest is None:
            raise InvalidField("dataset", request.dataset, "an uploaded dataset")
        lacking = [key for key in KEYS if manifest["columns"].get(key, 0) < manifest["rows"]]
        if lacking:
            raise InvalidField("dataset", f"{request.dataset}, with rows without {', '.join(lacking)}",
                               f"rows with {', '.join(KEYS)}")
        if await self._rows.open_fits(request.tenant_id) >= MOST_OPEN:
            raise OverBudget(f"the tenant has {MOST_OPEN} fits of audiences that have not ended, and may have no more")
        who = calling(context)
        made = await self._rows.add(
            request.tenant_id, who.key_id if who else request.key_id, request.dataset, params, reasoner)
        return await self.read(simulation_pb2.ReadAudienceFitRequest(tenant_id=request.tenant_id, fit_id=made))

    async def read(self, request: simulation_pb2.ReadAudienceFitRequest) -> simulation_pb2.AudienceFit:
        """Return how far a fit is. Raises NotFound."""
        return _message(await self._rows.one(request.tenant_id, request.fit_id))

    async def simulate(
        self, request: simulation_pb2.SimulateAudienceRequest) -> simulation_pb2.SimulateAudienceResponse:
        """Return how a group reacts."""
        return await self._answers.simulate(request)

    async def evaluate(
        self, request: simulation_pb2.EvaluateAudienceRequest) -> simulation_pb2.EvaluateAudienceResponse:
        """Return how far a fit is from measured groups."""
        return await self._answers.evaluate(request)

    async def calibrate(self, request: simulation_pb2.CalibrateAudienceRequest) -> simulation_pb2.AudienceFit:
        """Weigh both branches anew."""
        return _message(await self._answers.calibrate(request))


def _message(row: Row) -> simulation_pb2.AudienceFit:
    return simulation_pb2.AudienceFit(fit_id=row["id"], state=row["state"], reason=row["reason"] or "",
                                      report_json=json.dumps(row["report"]))
