"""The references of a run's rows are graded by its own graders before the run; what was not checked is said."""

import asyncio
from typing import Any, cast

import grpc
import pytest

from hone.api import reward_pb2_grpc, simulation_pb2_grpc
from hone.resolution import resolve
from hone.spec.settings import Addresses, Settings
from hone.stack import ports
from hone.store.objects import Objects
from services.gateway.admission import row_references
from services.gateway.admission.reference_findings import ENOUGH, ReferenceFindings
from services.gateway.middleware.tenancy import TenantSession
from services.reward.grading import Grading
from services.reward.ledger import Ledger
from services.reward.pool import Pool
from services.reward.service import Reward
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions
from tests.support.gateway.task_rows import Shelf

NUMERIC, MATH = {"type": "numeric"}, {"type": "math"}


@pytest.fixture(scope="module")
def nowhere() -> Settings:
    (port,) = ports.pick(1)
    return Settings(addresses=Addresses(reward=f"127.0.0.1:{port}", simulation=f"127.0.0.1:{port}"))


def found(shelf: Shelf, settings: Settings, within_s: float = 30, **changes: Any) -> list[ReferenceFindings]:
    spec = resolve({"name": "x", "model": {"base": "b"}, "steps": 4, "eval": None, "task": {"dataset": "rows"},
                    **changes})
    session = cast(TenantSession, shelf)
    shelf.tenant_id = "tenant"  # type: ignore[attr-defined]
    return asyncio.run(row_references.check(session, cast(Objects, shelf), settings, spec, within_s))


def rows(*answers: Any) -> list[dict[str, Any]]:
    return [{"prompt": "?", "answer": answer} for answer in answers]


def test_rows_whose_reference_is_not_right_are_named(nowhere: Settings) -> None:
    shelf = Shelf(rows=[{"prompt": ""}, *rows("1", "none", "#### 3", 4, "")])
    [one] = found(shelf, nowhere, grader=NUMERIC)
    assert (one.at, one.rows, one.checked, one.wrong, one.unchecked) == ("task", 5, 5, 2, "")
    assert [row.row for row in one.first] == [3, 6]
    assert one.event() == ("bad_references", f"dataset 'rows': 2 of 5 references are not right by their own grader "
                           f"numeric: {one.first[0]}; {one.first[1]}")
    assert one.problems() == []


def test_a_source_without_any_right_reference_is_a_problem_of_its_field(nowhere: Settings) -> None:
    [one] = found(Shelf(rows=rows("none", "nothing")), nowhere, grader=NUMERIC)
    first, *each = map(str, one.problems())
    assert first == ("task: found dataset 'rows', with 2 references and none that is right by its own grader numeric, "
                     "expected at least one row whose reference gets the score of a right answer")
    assert [text.split(":")[1].strip() for text in each] == ["found row 1", "found row 2"]


@pytest.mark.parametrize(("rows", "wrong", "refused"), [
    (10_000, ENOUGH, True), (10_000, ENOUGH - 1, False), (3, 3, True), (4, 3, False), (3, 0, False)])
def test_a_few_rows_of_many_refuse_no_run(rows: int, wrong: int, refused: bool) -> None:
    assert bool(ReferenceFindings("task", "x", "math", rows=rows, wrong=wrong).problems()) is refused
    assert not ReferenceFindings("task", "x", "math", rows=rows, wrong=wrong, right=1).problems()


def test_each_stage_and_the_evaluation_are_checked_with_their_own_graders(nowhere: Settings) -> None:
    shelf = Shelf(rows=rows("1"), words=rows("one"), held=rows("two"))
    stage = {"until": 2, "task": {"dataset": "words"}, "grader": NUMERIC}
    warm_up = {"until": 1, "algorithm": "sft", "task": {"dataset": "completions"}}
    several = found(shelf, nowhere, stages=[warm_up, stage], eval={"source": {"dataset": "held"}}, grader=NUMERIC)
    assert [(one.at, one.right, one.wrong) for one in several] == [
        ("stages[1].task", 0, 1), ("task", 1, 0), ("eval.source", 0, 1)]


def test_a_stop_text_inside_of_references_is_found(nowhere: Settings) -> None:
    [one] = found(Shelf(rows=rows("x = 5", "7")), nowhere, sampling={"stop": ["="]})
    assert (one.right, one.wrong) == (1, 1)
    assert "a stop text of the run cuts it short" in one.first[0].reason
    [kept] = found(Shelf(rows=rows("5=")), nowhere, sampling={"stop": ["="], "include_stop": True})
    assert (kept.right, kept.wrong) == (1, 0)


@pytest.mark.parametrize(("task", "grader"), [
    ({"environment": "sort_turns"}, None), ({"environment": "sqlite"}, None),
    ({"dataset": "rows"}, {"type": "character_share", "wanted": "1", "among": "12"})])
def test_a_grader_without_references_is_said_and_makes_no_event(
        nowhere: Settings, task: dict[str, Any], grader: dict[str, Any] | None) -> None:
    [one] = found(Shelf(rows=rows("1")), nowhere, task=task, grader=grader)
    assert (one.checkable, one.checked, one.event(), one.problems()) == (False, 0, None, [])
    assert "has no reference" in one.unchecked


def test_tasks_that_this_process_makes_are_checked(nowhere: Settings) -> None:
    [one] = found(Shelf(), nowhere, task={"environment": "sort_digits"})
    assert (one.right, one.wrong, one.rows) == (row_references.DRAWN, 0, row_references.DRAWN)


def test_a_service_that_is_away_leaves_rows_unchecked(nowhere: Settings) -> None:
    [math] = found(Shelf(rows=rows("1", "2")), nowhere, grader=MATH, within_s=2)
    task = {"environment": "reasoning_gym", "params": {"task": "chain_sum"}}
    [drawn] = found(Shelf(), nowhere, task=task, within_s=2)
    assert (math.checked, math.problems(), math.checkable) == (0, [], True)
    for one, service in ((math, "reward"), (drawn, "simulation")):
        kind, message = one.event() or ("", "")
        assert kind == "references_unchecked"
        assert f"the {service} service" in message
    assert "2 of 2 references were not checked" in (math.event() or "")[1]


def test_no_time_leaves_rows_unchecked(nowhere: Settings) -> None:
    [one] = found(Shelf(rows=rows("1", "2")), nowhere, within_s=0)
    assert (one.checked, one.unchecked) == (0, "the time for checks was over")


class Services:
    """A reward and a simulation service in one server."""

    def __init__(self) -> None:
        (port,) = ports.pick(1)
        self.address = f"127.0.0.1:{port}"

    def found(self, shelf: Shelf, **changes: Any) -> list[ReferenceFindings]:
        settings = Settings(addresses=Addresses(reward=self.address, simulation=self.address))
        spec = resolve({"name": "x", "model": {"base": "b"}, "steps": 4, "eval": None, **changes})
        return asyncio.run(self._served(shelf, settings, spec))

    async def _served(self, shelf: Shelf, settings: Settings, spec: Any) -> list[ReferenceFindings]:
        shelf.tenant_id = "tenant"  # type: ignore[attr-defined]
        server, pool = grpc.aio.server(), Pool(1)
        reward = Reward(Grading(pool), cast(Ledger, None), cast(Any, None), cast(Any, None), 64)
        reward_pb2_grpc.add_RewardServiceServicer_to_server(reward, server)
        simulation_pb2_grpc.add_SimulationServiceServicer_to_server(Simulation(self.address, Sessions()), server)
        server.add_insecure_port(self.address)
        await server.start()
        try:
            return await row_references.check(
                cast(TenantSession, shelf), cast(Objects, shelf), settings, spec, within_s=60)
        finally:
            await server.stop(None)
            await pool.close()


@pytest.fixture(scope="module")
def services() -> Services:
    return Services()


def test_a_symbolic_grader_checks_a_sample_of_the_rows(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_references, "SENT", 4)
    shelf = Shelf(rows=rows("1/2", r"\frac{", "3", "4", "5", "6"))
    [one] = services.found(shelf, task={"dataset": "rows"}, grader=MATH)
    assert (one.rows, one.checked) == (6, 4)
    assert one.unchecked == "4 rows, drawn at random, are checked"
    monkeypatch.setattr(row_references, "SENT", 512)
    [one] = services.found(shelf, task={"dataset": "rows"}, grader=MATH)
    assert (one.rows, one.right, one.wrong, one.unchecked, one.first[0].row) == (6, 5, 1, "", 2)


def test_tasks_of_another_package_are_drawn_and_graded_elsewhere(services: Services) -> None:
    task = {"environment": "reasoning_gym", "params": {"task": "chain_sum"}}
    [one] = services.found(Shelf(), task=task, grader={"type": "reasoning_gym", "answer_tag": "required"})
    assert (one.right, one.wrong, one.rows) == (row_references.DRAWN, 0, row_references.DRAWN)


def test_items_that_an_environment_makes_of_rows_are_checked(services: Services) -> None:
    row = {"prompt": "how many?", "database": "CREATE TABLE t (a);", "answer": "none"}
    [one] = services.found(Shelf(rows=[row, {**row, "answer": "7"}]),
                           task={"environment": "sqlite", "dataset": "rows"}, grader=NUMERIC)
    assert (one.right, one.wrong, one.first[0].row) == (1, 1, 1)
