"""The methods in the slots of a run."""

from hone.algorithms.slots import SLOTS
from hone.client.catalog import SlotFilling, slot_fillings
from tests.unit.client.specs import resolved


def test_every_slot_of_a_resolved_run_is_filled() -> None:
    found = slot_fillings(resolved(preset="dapo"))
    assert set(found) == set(SLOTS) - {"batch_size"}
    [loss] = found["loss"]
    assert (loss.name, loss.params) == ("clip_higher", {"low": 0.2, "high": 0.28})
    assert loss.source.endswith("clip-higher, arXiv 2503.14476 (DAPO).")
    assert found["regularizers"] == []


def test_changing_batch_sizes_are_a_slot_of_their_own() -> None:
    schedule = {"name": "late_switch", "params": {"small": 2, "fraction": 0.5}, "budget": 8}
    [found] = slot_fillings({**resolved(), "batch": {"schedule": schedule}})["batch_size"]
    assert (found.name, found.params["small"]) == ("late_switch", 2)


def test_what_stands_in_its_slots_own_module_has_no_source() -> None:
    found = slot_fillings(resolved(preset="dr_grpo"))
    assert [found[slot][0].source for slot in ("modulation", "aggregation", "allocation")] == ["", "", ""]


def test_reconstructions_are_known() -> None:
    def marked(preset: str) -> bool:
        return slot_fillings(resolved(preset=preset))["advantage"][0].reconstruction

    assert (marked("rdpo"), marked("grpo")) == (True, False)


def test_a_method_of_another_release_keeps_its_name() -> None:
    spec = {"algorithm": {"preset": "later", "loss": {"name": "later", "params": {"x": 1}}, "reward": None}}
    assert slot_fillings(spec) == {"loss": [SlotFilling("later", {"x": 1})]}


def test_a_spec_without_an_algorithm_has_no_slots() -> None:
    assert slot_fillings({}) == {}
