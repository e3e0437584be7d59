from pathlib import Path
from typing import Any

import pytest

from benchmarks import recovery
from benchmarks.render import PAGES, WrongMark, render
from benchmarks.results import without_raw

MACHINE = {"cpu": "A CPU", "cores": 2, "memory_gib": 23.5, "libraries": {"hone-rl": "0.1", "torch": "2.13.0"}}
SOURCE = {"command": "python -m benchmarks.x", "machine": MACHINE, "date": "2026-11-21"}


def side(trainer: str, step_s: float, **more: Any) -> dict[str, Any]:
    return {"trainer": trainer, "layout": "1 x 1 threads", "step_s": step_s, "reward_first": 0.5, "reward_last": 0.95,
            "mean_tokens": 6.0, "max_tokens": 6.0, "idle_groups": 3.25, **more}


RESULTS: dict[str, dict[str, Any]] = {
    "grpo_step_short": {
        **SOURCE, "setting": "short", "best_trl": 1, "largest_curve_gap": 0.0304,
        "trl_with_vllm": {"command": "python -m trl --vllm", "error": "AttributeError: weight_loader"},
        "trl": [side("TRL", 0.4), side("TRL", 0.3, seconds_to_target=20.0)],
        "hone": [side("Hone", 0.2, seconds_to_target=9.96), side("Hone, no skipping", 0.25, seconds_to_target=None)],
    },
    "memory": {
        **SOURCE, "together_mib": 812.4,
        "processes": {"value-0": {"peak_mib": 60.0, "helpers": 0, "largest_helper_mib": 0.0},
                      "postgres": {"peak_mib": 90.0, "helpers": 7, "largest_helper_mib": 40.2}},
    },
    "generation": {**SOURCE, "settings": {"equal": {"share_of_bound": 0.601, "sides": [
        {"engine": "transformers", "layout": "1 x 2 threads", "tokens_per_s": 3000.0, "native_over_this": 1.2},
        {"engine": "native", "layout": "1 x 1 threads", "tokens_per_s": 3600.0, "native_over_this": 1.0}]}}},
    "ingest": {**SOURCE, "writers": 4, "groups_per_s": {"hone": 900.4, "copy": 3601.6},
               "hone_over_this": {"hone": 1.0, "copy": 0.25}},
    "vllm": {**SOURCE, "settings": {"short": {"native_over_vllm": {"float32": 3.25, "bfloat16": 2.5}, "sides": [
        {"engine": "vLLM", "dtype": "bfloat16", "layout": "2 x 1 threads", "tokens_per_s": 2554.4}]}}},
    "recovery": {**SOURCE, "backends": recovery.recoveries(
        'two\nseconds to the next steps on embedded: {"driver": {"count": 9, "median_s": 1.25, "longest_s": 3.5}}\n')},
    "footprint": {**SOURCE, "parameter_bytes": 400, "scales": {"short": {
        "mean_tokens": 5.96, "bytes_a_sample": {"tables": 700.4, "log": 2000.0, "parts": 90.0},
        "version_bytes": 404, "snapshot_bytes": 1200}}},
    "overhead": {**SOURCE, "scales": {"toy": {
        "wall": {"step_s": 0.2, "parts_s": {"generation": 0.06, "asking": 0.009}, "outside": 0.31},
        "cpu": {"step_s": 0.25, "by_process_s": {"driver-0": 0.02}, "arithmetic_s": {"generation": 0.06, "update": 0.1},
                "outside": 0.36}}}},
}


HELD: dict[str, Any] = {"says": "Hone, in tiles", "peak_mib": 575.5, "seconds": 18.34, "value_gap": 0.0}
RESULTS |= {
    "policy_losses": {**SOURCE, "settings": {
        "equal": {"kinds": {"gspo": {"hone_s": 0.000391, "times": 1.066, "value_gap": 1.1e-8, "gradient_gap": 2e-8}}},
        "variable": {"kinds": {
            "gspo": {"hone_s": 0.00045, "times": 2.4, "value_gap": 3.1e-8, "gradient_gap": 0.0}}}}},
    "step_parts": {**SOURCE, "presets": {
        "grpo": {"forwards_s": 0.0002, "step_weights_s": 0.03, "loss_s": 0.006, "model_s": 2.4, "share": 0.015},
        "dynamo": {"forwards_s": 0.9, "step_weights_s": 0.03, "loss_s": 0.03, "model_s": 2.4, "share": 0.025}}},
    "chunked_logprobs": {**SOURCE, "tokens": {
        "2048": {"hone": HELD, "trl_whole": {**HELD, "says": "TRL, whole", "peak_mib": 4700.2, "value_gap": 3.2e-6}},
        "8192": {"hone": HELD, "trl_whole": {"says": "TRL, whole", "limit_gib": 17.5}}}},
}


def marked(name: str, body: str = "stale\n") -> str:
    return f"before\n<!-- bench:{name} -->\n{body}<!-- /bench:{name} -->\nafter\n"


@pytest.mark.parametrize(("name", "lines"), [
    ("grpo_step", [
        "| short | TRL | 1 x 1 threads | 0.300 | 1.00 | 0.500, 0.950 | 20.0 | 6.0 (6) | 3.2 |",
        "| short | Hone | 1 x 1 threads | 0.200 | 1.50 | 0.500, 0.950 | 10.0 | 6.0 (6) | 3.2 |",
        "Largest difference between the reward curves, means over 10 steps: short 0.030.",
        "vLLM mode did not run at short: `python -m trl --vllm` ended with `AttributeError: weight_loader`.",
        "| short | Hone, no skipping | 1 x 1 threads | 0.250 | 1.20 | 0.500, 0.950 | – | 6.0 (6) | 3.2 |",
    ]),
    ("footprint", ["| 6.0 | 700 | 2000 | 90 | 4.04 | 12.00 |"]),
    ("memory", ["| postgres | 90 | 7 | 40 |\n| value-0 | 60 | – | – |\n| all, shared pages once | 812 |  |  |"]),
    ("generation", ["| equal | transformers | 1 x 2 threads | 3000 | 1.20 |  |",
                    "| equal | native | 1 x 1 threads | 3600 | 1.00 | 60.1 % |"]),
    ("overhead", [
        "| generation | 60 ms (30.0 %) |", "| asking | 9.0 ms (4.5 %) |", "| **outside arithmetic** | **31.0 %** |",
        "| of it arithmetic | 160 ms |", "| driver-0 | 20 ms (8.0 %) |", "| **outside arithmetic** | **36.0 %** |",
    ]),
    ("ingest", ["| 4 x hone | 900 | 1.00 |\n| 4 x copy | 3602 | 0.25 |"]),
    ("vllm", ["| short | vLLM | bfloat16 | 2 x 1 threads | 2554 |", "| short | 3.25 | 2.50 |"]),
    ("policy_losses", ["| gspo | 0.39 | 1.07 | 0.45 | 2.40 | 3e-08 | 2e-08 |"]),
    ("step_parts", ["| grpo | 30 ms | 6.0 ms | 2400 ms | 1.5 % | – |",
                    "| dynamo | 30 ms | 30 ms | 2400 ms | 2.5 % | 900 ms |"]),
    ("chunked_logprobs", ["| Hone, in tiles | 576 | 18.3 | 576 | 18.3 |",
                          "| TRL, whole | 4700 | 18.3 | more than 17920 | – |",
                          "from the first, relative: 3e-06 of values, 0e+00 of gradients."]),
    ("recovery", ["| driver | embedded | 9 | 1.2 | 3.5 |"]),
])
def test_a_block_holds_what_the_results_say(name: str, lines: list[str]) -> None:
    text = render(marked(name), RESULTS)
    for line in lines:
        assert line in text
    assert "stale" not in text
    assert "`python -m benchmarks.x`, 2026-11-21: 2 cores of A CPU, 23.5 GiB; torch 2.13.0." in text


def test_nothing_outside_of_the_marks_changes_and_rendering_twice_changes_nothing() -> None:
    text = "# Title\n" + marked("memory") + "middle\n" + marked("generation")
    once = render(text, RESULTS)
    assert once.startswith("# Title\nbefore\n<!-- bench:memory -->\n")
    assert "<!-- /bench:memory -->\nafter\nmiddle\nbefore\n" in once
    assert render(once, RESULTS) == once


def test_a_table_without_results_says_how_to_measure_it() -> None:
    assert "Not measured yet: `python -m benchmarks.overhead`" in render(marked("overhead"), {})


@pytest.mark.parametrize("text", [
    marked("speed"),
    "<!-- bench:memory -->\nno end",
    "<!-- bench:memory -->\n<!-- /bench:generation -->",
])
def test_a_mark_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(WrongMark):
        render(text, RESULTS)


def test_a_kill_suite_that_tells_nothing_is_no_result() -> None:
    with pytest.raises(recovery.NothingMeasured):
        recovery.recoveries("1 passed in 200 s")


def test_what_is_printed_leaves_raw_values_out() -> None:
    assert without_raw({"a": 1, "raw": 2, "b": {"raw": [1], "c": [3]}}) == {"a": 1, "b": {"c": [3]}}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_pages_have_marks_that_render(page: Path) -> None:
    assert "<!-- bench:" in render(page.read_text(), RESULTS)
