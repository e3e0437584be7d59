"""Chains over tables (v-tabler1.md): how both grammars are read, what the grader gives, and the seeded questions."""

from typing import Any

import pytest

from hone.environments.table_questions import TableQuestions, TableQuestionsParams, question
from hone.graders import specs
from hone.graders.contract import Scored, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Sample
from hone.graders.table_chain import read

ITEM: dict[str, Any] = {"table": [["city", "tea"], ["Rome", "12"], ["Oslo", 7]], "answer": "19"}
LOOKUP, SUM, END = "lookup 1,1=12 -> 12", "sum 1,1=12; 2,1=7 -> 19", "conclude -> 19"
JSON_SUM = '{"op": "sum", "cells": [[1, 1, "12"], [2, 1, 7]], "result": 19}'
PARTS = ("accuracy", "format", "process")


def graded(output, truncated=False, **params):
    grader = specs.checked({"type": "table_steps", "syntax": "line", **params})
    return judged_together(grader, [Sample(ITEM, output, truncated)])[0]


@pytest.mark.parametrize(("output", "reward", "parts", "steps"), [
    (f"{LOOKUP}\n{SUM}\n{END}\nanswer: 19", 1.0, (1, 1, 1), [1, 1, 1]),
    (f"{SUM}\nanswer: 20", 0.075, (0, 1, 0.75), [0.75]),
    (f"sum 1,1=12; 2,1=8 -> 19\n{END}\nanswer: 19", 0.75, (1, 1, 0.75), [0.5, 1]),
    (f"sum 1,1=12; 9,1=7 -> 19\n{END}\nanswer: 19", 0.5, (1, 1, 0.5), [0, 1]),
    ("answer: 19", 0.0, (1, 0, 0), []),  # a guess
    (f"{SUM}\nso it is 19\nanswer: 19", 0.9, (1, 0, 1), [1]),
    (f"{SUM}\nanswer: 1\nanswer: 19", 0.9, (1, 0, 1), [1]),
])
def test_the_process_gates_what_is_right_and_well_formed(output, reward, parts, steps):
    found = graded(output)
    assert (found.score, [step.value for step in found.steps]) == (pytest.approx(reward), steps)
    assert found.components == pytest.approx(dict(zip(PARTS, parts, strict=True)))


def test_steps_are_scored_where_they_stand_also_inside_of_reasoning():
    output = f"<think>Both.\n  {JSON_SUM}\n</think>\n<answer> 19 </answer>"
    found, start = graded(output, syntax="json"), output.index("{")
    assert (found.score, found.steps) == (1.0, (Scored("", start, start + len(JSON_SUM), "step", 1.0),))
    assert graded(f"<think>{JSON_SUM}", syntax="json").status is Status.NO_ANSWER


def test_a_chain_that_is_cut_off_has_no_format_and_keeps_the_steps_that_were_read():
    found = graded(f"{SUM}\nlookup 1,", truncated=True, gate={"mode": "additive"})
    assert (found.score, found.status, found.components["format"]) == (pytest.approx(0.75), Status.OK, 0.0)
    assert graded(f"{SUM}\nanswer: 19", truncated=True).score == pytest.approx(0.9)
    assert graded("").status is Status.NO_ANSWER


@pytest.mark.parametrize("line", [
    '{"op": "sum"}', "{", '{"op": 1, "cells": [], "result": "1"}', '{"op": "sum", "cells": [[1, 1]], "result": "1"}',
    '{"op": "sum", "cells": [[true, 1, "1"]], "result": "1"}', '{"op": "sum", "cells": 3, "result": "1"}',
    '{"op": "sum", "cells": [[1, 1, null]], "result": "1"}', '{"op": ' + "[" * 100_000])
def test_what_is_no_step_breaks_the_format_and_nothing_else(line):
    chain = read(f"{JSON_SUM}\n{line}\n<answer>19</answer>", "json")
    assert (len(chain.steps), chain.answer, chain.formed) == (1, "19", False)


def test_a_flood_of_steps_is_read_up_to_a_bound():
    chain = read("\n".join([SUM] * 10_000) + "\nanswer: 19", "line")
    assert (len(chain.steps), chain.formed) == (64, False)
    assert not read("sum " + "; ".join(["1,1=1"] * 65) + " -> 65\nanswer: 65", "line").steps


def test_a_row_without_a_table_and_a_threshold():
    grader = specs.checked({"type": "table_steps", "table": "rows"})
    found = judged_together(grader, [Sample(ITEM, "x")])[0]
    assert (found.status, found.reasons) == (Status.INVALID_SPEC, ("item.rows: found None, expected rows of cells",))
    assert graded(f"{SUM}\nanswer: 20", gate={"mode": "threshold"}).score == pytest.approx(0.1)


def test_a_grader_around_it_gives_steps_and_parts_too():
    grader = specs.checked({"type": "weighted", "parts": {"table": {"grader": {"type": "table_steps"}}}})
    assert grader.step_scores == {"step"}
    assert grader.components == {"table", *(f"table.{name}" for name in PARTS)}


@pytest.mark.parametrize("syntax", ["json", "line"])
def test_every_question_is_answered_by_a_chain_that_passes_every_check(syntax):
    params, world = TableQuestionsParams(rows=5, columns=2, syntax=syntax), TableQuestions()
    asked = set()
    for seed in range(60):
        task, seen = question(params, seed), world.episode(params, seed, None).reset()
        asked.add(task.ask)
        cells = [(row, task.column, task.cells[row][task.column]) for row in task.rows]
        step = (f"{task.ask} {'; '.join(f'{r},{c}={v}' for r, c, v in cells)} -> {task.answer}" if syntax == "line"
                else str({"op": task.ask, "cells": [[*cell] for cell in cells], "result": task.answer})
                .replace("'", '"'))
        answer = f"answer: {task.answer}" if syntax == "line" else f"<answer>{task.answer}</answer>"
        found = judged_together(specs.checked(seen.grader), [Sample(seen.item, f"{step}\n{answer}")])[0]
        assert (found.score, seen.item["prompt"]) == (1.0, seen.messages[0]["content"]), step
    assert asked == {"lookup", "sum", "diff", "compare", "argmax", "argmin"}
    assert world.messages(params, 3, None) == world.messages(params, 3, None) != world.messages(params, 4, None)
