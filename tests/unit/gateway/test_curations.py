"""The curation of stored samples: their turns, what is left out, and the page that draws a task's graph."""

from typing import Any

import pytest

from hone.algorithms.topocurate.curation import CurationParams
from hone.cli.curation import demonstrations
from hone.client.curation import Curation
from hone.trajectory import parts, stored_samples
from services.console.pages import curation as page
from services.gateway import curations
from tests.support.gateway.curations import Objects, row, sample

PATHS = (("ABC", 1.0), ("ABFHC", 1.0), ("ABF", 0.0), ("ABF", 0.0), ("ADC", 1.0), ("AB", None))
"""The worked example of topocurate.md, and a sample without a score."""


def made(**changes: Any) -> Curation:
    samples = [sample(index, *one) for index, one in enumerate(PATHS)]
    answers = [sample(index, "", float(index), "answers") for index in range(2)]
    rows = [row(place, one) for place, one in enumerate([*samples, *answers])] + [row(0, samples[0], "gone")]
    objects: Any = Objects(part=parts.encode([*samples, *answers]))
    tasks, complete = curations.make(objects, rows, {"answers": "1+1="}, {"": 1.0}, CurationParams(smoothing=0))
    assert complete
    return Curation.model_validate({"run_id": "run_a", "first_step": 3, "last_step": 3, "truncated": False,
                                    "tasks": tasks, **changes})


def test_stored_samples_have_the_metrics_of_the_worked_example() -> None:
    answers, task = made().tasks
    assert (task.task_hash, task.rollouts, task.pass_rate, task.few) == ("task", 5, 0.6, False)
    assert (task.error_branches, task.heterogeneity) == pytest.approx((1 / 6, 0.8))
    assert [one.weight and round(one.weight, 4) for one in task.trajectories] == [0.3333, 0.3333, None, None, 0.6667]
    assert [one.selected for one in task.trajectories] == [True, False, False, False, True]
    assert task.trajectories[0].path == [-1, 0, 1, 2, -2]
    wrong = next(node for node in task.nodes if not node.ok)
    assert (wrong.tool, wrong.example, wrong.rollouts, wrong.successes) == ("F", '{"of": "F"}', 3, 1)
    assert (answers.few, answers.score, answers.pass_rate) == (True, 1.0, 0.5)
    assert task.probability + answers.probability == pytest.approx(1)


def test_selected_answers_become_rows_of_a_dataset() -> None:
    assert demonstrations(made(), lambda _: []) == [{"prompt": "1+1=", "completion": "answer 1"}]


def test_a_selected_trajectory_of_several_turns_becomes_a_row_with_its_calls() -> None:
    found = made()
    task = found.tasks[1].model_copy(update={"prompt": "find C"})
    call = {"role": "policy", "number": "0", "prompt_ids": [1], "completion_ids": [2], "text": "C",
            "train_mask": [True]}
    rows = demonstrations(found.model_copy(update={"tasks": [task]}), lambda one: [call] if one.index else [])
    assert rows == [{"prompt": "find C", "completion": "C", "recorded_calls": [
        {"kept": 0, "prompt_ids": [1], "completion_ids": [2], "text": "C"}]}]


def test_too_many_bytes_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_samples, "MOST_BYTES", 1)
    one = sample(0, "AB", 1.0)
    objects: Any = Objects(part=parts.encode([one]))
    assert curations.make(objects, [row(0, one)], {}, {"": 1.0}, CurationParams()) == ([], False)


def test_the_page_draws_each_node_and_way_and_says_them_in_words() -> None:
    shown = str(page.page("run_a", made(truncated=True), "task"))
    assert shown.count("<g>") == 8
    assert shown.count('class="way') == 10
    assert shown.count("way lost") == 1
    assert shown.count("node wrong") == 1
    assert "Older groups were left out." in shown
    assert 'href="/runs/run_a/curation?task=task" aria-current="true"' in shown
    assert "8 kinds of turns, 10 ways between them" in shown
    assert "F {&#34;of&#34;: &#34;F&#34;}, an error: 3 rollouts, 1 succeeded" in shown
    first = str(page.page("run_a", made()))
    assert "too few rollouts" in first
    assert "1+1=" in first
    assert "No samples yet" in str(page.page("run_a", made(tasks=[])))
