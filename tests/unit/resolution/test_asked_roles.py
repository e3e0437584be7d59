"""A spec names a model for a role only where an environment of the run asks that role."""

from typing import Any

import pytest

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.sort_digits import SortDigits
from hone.resolution import resolve
from hone.resolution.stages import stages
from hone.spec.files import as_json
from hone.spec.problems import Invalid
from hone.spec.roles import AskedSpec, RolesSpec, TeacherSpec


class Shop(SortDigits):
    """Tasks whose episodes may ask, also under names that mean something else in a run."""

    asked_roles = frozenset({"user", "expert", "policy", "teacher"})


class Shelf(Shop):
    """The same of a dataset's rows."""

    columns: frozenset[str] | None = frozenset()


PLAIN, SHOP = {"environment": "sort_digits"}, {"environment": "shop"}
USER: dict[str, Any] = {"roles": {"asked": {"user": {"model": "large"}}}}
BASE: dict[str, Any] = {"name": "sell", "model": {"base": "toy"}, "steps": 9, "task": SHOP}
SFT: dict[str, Any] = {**BASE, "algorithm": "sft", "task": {"dataset": "shown"}, "eval": {"source": PLAIN}}


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())
    monkeypatch.setitem(ENVIRONMENTS, "shelf", Shelf())


@pytest.mark.parametrize("raw", [
    {**BASE, **USER}, {**BASE, **USER, "task": PLAIN, "eval": {"source": SHOP}},
    {**SFT, **USER, "eval": {"source": SHOP}}, {**BASE, **USER, "task": PLAIN, "stages": [{"until": 2, "task": SHOP}]},
    {**BASE, **USER, "stages": [{"until": 9, "task": PLAIN}]},
])
def test_a_role_that_some_environment_of_the_run_asks_has_a_model(raw: dict[str, Any]) -> None:
    spec = resolve(raw)
    assert as_json(spec)["roles"] == {"teacher": None, "asked": {"user": {"model": "large"}}}
    assert resolve(as_json(spec)) == spec


def test_without_one_the_policy_answers() -> None:
    assert as_json(resolve(BASE))["roles"] == {"teacher": None, "asked": {}}


NOBODY = "none, because the run's environments ask nobody"
SOMEBODY = "a role that the run's environments ask: one of expert, user"


@pytest.mark.parametrize(("raw", "role", "expected"), [
    ({**BASE, "task": PLAIN}, "user", NOBODY), (BASE, "usr", f"{SOMEBODY} (did you mean user?)"),
    (BASE, "policy", SOMEBODY), (BASE, "teacher", SOMEBODY), (SFT, "user", NOBODY),
    ({**SFT, "task": {"environment": "shelf", "dataset": "shown"}}, "user", NOBODY),
    ({**BASE, "task": PLAIN, "stages": [{"until": 2, "task": PLAIN}]}, "user", NOBODY),
    ({**BASE, "task": PLAIN, "stages": [{"until": 2, "task": SHOP}]}, "judge", SOMEBODY),
])
def test_a_role_that_nobody_asks_has_none(raw: dict[str, Any], role: str, expected: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**raw, "roles": {"asked": {role: {"model": "large"}}}})
    [problem] = refused.value.problems
    assert (problem.field, problem.found, problem.expected) == (f"roles.asked.{role}", '"large"', expected)


def test_an_environment_that_is_not_there_is_the_only_problem() -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **USER, "task": {"environment": "shpo"}})
    assert [problem.field for problem in refused.value.problems] == ["task.environment"]


@pytest.mark.parametrize(("asked", "field"), [({"user": {}}, "user"), ({"user": {"modle": "a"}}, "user.modle")])
def test_what_is_no_model_is_refused_by_its_place(asked: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, "roles": {"asked": asked}})
    assert f"roles.asked.{field}" in [problem.field for problem in refused.value.problems]


def test_a_stage_has_models_for_the_roles_that_it_asks_alone() -> None:
    spec = resolve({**BASE, "stages": [{"until": 2, "task": PLAIN}], **USER})
    plain, rest = (stage.spec.roles.asked for stage in stages(spec))
    assert (plain, rest) == ({}, {"user": AskedSpec(model="large")})


def test_every_model_beside_the_policy_is_known_by_its_role() -> None:
    roles = RolesSpec(teacher=TeacherSpec(model="large"), asked={"user": AskedSpec(model="small")})
    assert roles.models == {"teacher": "large", "user": "small"}
    assert RolesSpec().models == {}
