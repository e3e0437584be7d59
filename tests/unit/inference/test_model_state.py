"""The state of a model: its transitions, its next version, and the callers who hold a newer version back."""

import math
import time

import pytest

from hone.rpc.errors import Refused, Unusable
from services.inference.model_state import TRANSITIONS, LoadedModel, ModelState, Refusal
from services.inference.takeover import ProbeRefused
from services.inference.versions import VersionRow


def row(number: int, newest: bool = False, live: bool = True) -> VersionRow:
    return VersionRow("model", f"v{number}", number, live, False, newest, {})


def by_id(*rows: VersionRow) -> dict[str, VersionRow]:
    return {each.id: each for each in rows}


def refusal(version: VersionRow, error: Exception | None = None, retry_s: float = 60.0) -> Refusal:
    return Refusal.of(version.id, error or ValueError("an object is missing"), retry_s)


def serving(version: VersionRow) -> LoadedModel:
    model = LoadedModel("model")
    model.begin(version)
    model.serve(version)
    return model


def test_each_state_can_be_reached_and_left() -> None:
    assert set(TRANSITIONS) == set(ModelState)
    assert set().union(*TRANSITIONS.values()) == set(ModelState)
    assert all(after for after in TRANSITIONS.values())


def test_a_version_is_loaded_and_served_and_a_newer_one_refused() -> None:
    model, first, second = LoadedModel("model"), row(0), row(1)
    assert model.state is ModelState.EMPTY
    model.begin(first)
    assert (model.state, model.served) == (ModelState.LOADING, None)
    model.serve(first)
    assert (model.state, model.served) == (ModelState.SERVING, first)
    model.begin(second)
    assert (model.state, model.served) == (ModelState.LOADING, first)
    model.refuse(second, refusal(second))
    assert (model.state, model.served) == (ModelState.REFUSED, first)
    assert model.serves("v0", 0)
    assert not model.serves("v1", 0)


def test_a_load_that_is_given_up_leads_back_to_the_state_before() -> None:
    model = LoadedModel("model")
    model.begin(row(0))
    model.give_up(row(0))
    assert model.state is ModelState.EMPTY
    model = serving(row(0))
    model.begin(row(1))
    model.give_up(row(1))
    assert model.state is ModelState.SERVING


def test_a_load_that_is_given_up_after_a_refusal_leads_back_to_it() -> None:
    model = serving(row(0))
    model.begin(row(1))
    model.refuse(row(1), refusal(row(1)))
    model.begin(row(2))
    model.give_up(row(2))
    assert model.state is ModelState.REFUSED


def test_a_transition_outside_the_table_is_a_defect() -> None:
    model = serving(row(0))
    model._loading.append(row(1))
    model.state = ModelState.EMPTY
    model._loading.clear()
    with pytest.raises(RuntimeError, match="from empty to serving"):
        model._enter(ModelState.SERVING)


def test_a_verdict_counts_although_a_newer_version_was_offered_meanwhile() -> None:
    model, first, second = serving(row(0)), row(1), row(2, newest=True)
    model.begin(first)
    model.begin(second)
    model.serve(first)
    assert (model.state, model.served, model.newest) == (ModelState.LOADING, first, second)
    model.refuse(second, refusal(second, ProbeRefused("wrong")))
    assert (model.state, model.served, model.newest) == (ModelState.REFUSED, first, first)
    assert model.refuses(second)


def test_an_offer_that_a_newer_one_replaced_is_forgotten() -> None:
    model, first, second, third = serving(row(0)), row(1), row(2), row(3)
    for each in (first, second, third):
        model.begin(each)
    assert model.newest == third
    model.give_up(first)
    model.serve(second)
    assert (model.state, model.served, model.newest) == (ModelState.LOADING, second, third)


def test_the_next_version_is_the_oldest_newer_one_that_a_caller_insists_on_or_else_the_newest() -> None:
    model, rows = serving(row(1)), by_id(row(0), row(1), row(2), row(3, newest=True))
    assert model.newer(rows) == row(3, newest=True)
    model.want("v2")
    model.want("v0")  # older than the served one
    assert model.newer(rows) == row(2)
    model.let_go("v2")
    assert model.newer(rows) == row(3, newest=True)
    assert serving(row(3)).newer(rows) is None


def test_an_abandoned_version_gives_way_to_any_live_one() -> None:
    assert serving(row(4)).newer(by_id(row(4, live=False), row(3, newest=True))) == row(3, newest=True)


def test_a_caller_who_insists_on_the_present_version_holds_newer_ones_back() -> None:
    model, rows = serving(row(1)), by_id(row(1), row(2, newest=True))
    model.want("")
    assert not model.is_held(rows)
    model.want("v1")
    assert model.is_held(rows)
    model.hold_back(True)
    assert model.let_go("v1")
    assert not model.is_held(rows)
    assert not serving(row(1)).is_held(rows)


def test_a_refused_version_is_tried_again_later_or_never(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = serving(row(0)), by_id(row(0), row(1, newest=True))
    version, now = rows["v1"], time.monotonic()
    model.begin(version)
    model.refuse(version, refusal(version, retry_s=5.0))
    assert model.newer(rows) is None
    model.check_servable(version, rows)  # another try may help
    monkeypatch.setattr("services.inference.model_state.time.monotonic", lambda: now + 6.0)
    assert model.newer(rows) == version
    model.begin(version)
    model.refuse(version, refusal(version, ProbeRefused("wrong")))
    assert model.refusal is not None
    assert model.refusal.retry_at == math.inf
    with pytest.raises(Unusable, match=r"v1 \(number 1\) is unusable: ProbeRefused: wrong"):
        model.check_servable(version, rows)


def test_a_version_that_will_never_be_served_is_refused_with_its_reason() -> None:
    model, rows = serving(row(2)), by_id(row(1), row(2), row(3, live=False))
    with pytest.raises(Refused, match=r"v1 \(number 1\) is older than v2"):
        model.check_servable(rows["v1"], rows)
    with pytest.raises(Refused, match=r"v3 \(number 3\) is abandoned"):
        model.check_servable(rows["v3"], rows)


def test_a_model_is_unused_when_nobody_wants_it_and_no_version_is_on_its_way() -> None:
    model = LoadedModel("model")
    assert model.is_unused
    model.want("v0")
    assert not model.is_unused
    model.begin(row(0))
    model.let_go("v0")
    assert not model.is_unused
    model.serve(row(0))
    assert model.is_unused
