"""Three sources together and one after the other: the specs, and the page that is made of their matrices."""

from benchmarks.through_services import transfer
from hone.resolution import resolve, sources
from hone.resolution.stages import stages
from services.gateway import matrices

ORDERED = {arm: resolve({**spec, "name": arm, "model": {"base": "b"}}) for arm, spec in transfer.arms().items()}


def test_arms_have_equal_steps_and_are_evaluated_on_every_source() -> None:
    assert {spec.steps for spec in ORDERED.values()} == {transfer.STEPS}
    for spec in ORDERED.values():
        assert [one.name for one in sources.held_out(spec)] == ["four", "five", "even"]
    assert [stage.name for stage in stages(ORDERED["even, five, four"])] == ["even", "five", "four"]
    assert len(stages(ORDERED["joint"])) == 1


def test_the_page_shows_each_arm_with_what_its_stages_trained() -> None:
    arms = {}
    for arm, spec in ORDERED.items():
        rows = [{"step": step, "source": name, "tasks": ["a", "b"], "scores": [0.25, 0.25 + step / 90]}
                for step in matrices.steps(spec) for name in ("four", "five", "even")]
        found = matrices.make("run_1", spec, "sampled", rows)
        arms[arm] = {"spec": {}, "raw": [{"seed": 0, "matrix": found.model_dump(mode="json")}]}
    kept = {"date": "2026-01-01", "command": "python -m x", "machine": {"cores": 2, "cpu": "a CPU"}, "arms": arms}
    page = transfer.page(kept)
    assert "| joint | 0.500 (0.500 to 0.500) |" in page
    assert "| four | 0.333* | 0.333 | 0.333 | (+0.083 +0.000…+0.167) |" in page
    assert "Backward transfer (+0.125 +0.000…+0.250)" in page
    assert "## even, five, four" in page
