"""Ten thousand graders made of right ones by changes at random: each is refused by a field's name, or gives a grade."""

import copy
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hone.graders.catalogue import GRADERS
from hone.graders.contract import Result, Status
from hone.graders.judgement import grades
from hone.graders.questions import JudgeFailed, Rating, Reply
from hone.graders.sample import Conversation, Sample, Spoken, Taken, World
from hone.graders.specs import checked
from hone.sandbox.program import Ended, Ran
from hone.spec.problems import Invalid
from tests.unit.graders.judging import Judged

COUNT = 10_000
_DEFECT = re.compile(r"\w+(Error|Exception): ")
EXACT, ASKED = {"type": "exact"}, [{"role": "user", "content": "{{ item.q }} {{ sample.output_text }}"}]
CHECK = {"type": "string_check", "name": "c", "operation": "eq", "input": "{{ sample.output_text }}",
         "reference": "{{ item.answer }}"}
FIELDS: dict[str, dict[str, Any]] = {
    "numeric": {"abs_tolerance": 0.1}, "math": {}, "exact": {"strip": True}, "reasoning_gym": {}, "environment": {},
    "string_check": CHECK, "character_share": {"wanted": "02468"}, "slowed": {"grader": EXACT, "seconds": 0.0},
    "text_similarity": {"name": "t", "evaluation_metric": "rouge_l", "input": "{{ sample.output_text }}",
                        "reference": "{{ item.answer }}"},
    "verdict": {"verdict": "boxed", "cap": 0.5}, "concise": {"grader": EXACT, "weight": 0.2, "right": 1.0},
    "weighted": {"parts": {"right": {"grader": EXACT, "weight": 0.9}, "check": {"grader": CHECK}}},
    "multi": {"name": "m", "graders": {"a": EXACT, "b": CHECK}, "calculate_output": "(a + b) / 2 ^ min(a, 1)"},
    "structured": {"format": "json", "json_schema": {"type": "object"}, "reference": "{{ item.answer }}"},
    "tool_call": {"reference": "{{ item.answer }}", "ordered": True}, "instructions": {"mode": "loose"},
    "short_answer": {"reference": "{{ item.answer }}", "float_round": "2"},
    "each_call": {"grader": EXACT, "kinds": None, "join": "mean"},
    "state": {"expected": {"answer": "{{ item.answer }}"}, "unchanged": ["table"]},
    "tables": {"expected": "{{ item.tables }}", "path": "tables", "tables": {"items": {"key": "id"}}},
    "skill_credit": {"grader": EXACT, "penalty": 0.1}, "skill_use": {}, "map_use": {},
    "summed": {"grader": EXACT, "weight": 2.0}, "sql_phases": {"proposal": "exact"},
    "table_steps": {"reference": "{{ item.answer }}", "table": "table", "syntax": "line", "gate": {"mode": "gate"}},
    "python": {"name": "p", "source": "def grade(sample, item):\n    return 1.0"},
    "code": {"tests": "{{ item.tests }}", "function": "f"},
    "sql": {"database": "{{ item.database }}", "gold": "{{ item.gold }}"},
    "score_model": {"name": "s", "model": "judge", "input": ASKED, "range": [0, 1]},
    "label_model": {"name": "l", "model": "judge", "input": ASKED, "labels": ["a", "b"], "passing_labels": ["a"]},
    "hybrid_equivalence": {"model": "judge", "question": "{{ item.q }}", "reference": "{{ item.answer }}"},
    "process_critic": {"model": "judge", "task": "{{ item.q }}", "grader": EXACT},
    "rubric": {"model": "judge", "task": "{{ item.q }}", "criteria": [{"name": "right", "text": "It is."}]},
    "pairwise": {"model": "judge", "task": "{{ item.q }}"},
    "agent_judge": {"model": "judge", "task": "{{ item.q }}", "turns": 2},
    "deviation": {"model": "judge", "grader": EXACT},
    "verify_server": {"server": "gym", "range": [0, 1]},
    "reward_model": {"model": "rater", "input": [*ASKED, {"role": "assistant", "content": "{{ sample.output_text }}"}]},
}
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2, 0.5, -0.5, 1e308, 10**400, "", " ", "a", "{{ item.answer }}", "{{ item.q", "{{ sample.x }}",
    "a / 0", "log(0 - 1)", "exp(exp(9))", "((((", "\ud800", "\0", "é" * 300, [], {}, [[]], {"": ""}, ["a", "a"], EXACT)
TEXTS = ("", "4", "4.0", "four", r"\boxed{4}", r"\boxed{", "Solution:", "<think>4", "<think>x</think>4",
         '{"answer": 4}', "[1, 2", "NaN", "Infinity", "-0", "1e999", "Yes", "lookup 1,1=4 -> 4\nanswer: 4", "SELECT 1",
         "def f():\n    return 4", "ẞ\u200bßẞ", '{"tool": "query", "arguments": {}}', "4\n" * 200, "🙂" * 50)
SAID = (*TEXTS, '{"result": 1}', '{"result": 1e999}', '{"result": "a"}', '{"accuracy": true}', '{"scores": [0.5]}',
        '{"reasons": {"right": ""}, "verdicts": {"right": "yes"}}', '{"score_1": 5, "score_2": 1, "ranking": 1}',
        '{"reward": 0.5}', '{"reward": NaN}')
ITEMS: tuple[dict[str, Any], ...] = (
    {"q": "two and two?", "answer": "4", "verified": 1.0, "tests": '[{"input": [], "output": 4}]', "table": [["4"]],
     "database": "CREATE TABLE t (a); INSERT INTO t VALUES (1);", "gold": "SELECT a FROM t", "tables": "{}"},
    {"q": "", "answer": ""}, {"answer": 4, "q": None, "verified": math.inf}, {})


def changed(value: Any, draw: random.Random) -> Any:
    """Return JSON with one of its parts dropped, doubled, or replaced by something odd."""
    value = copy.deepcopy(value)
    parts = [(inside, key) for inside in _containers(value)
             for key in (list(inside) if isinstance(inside, dict) else range(len(inside)))]
    inside, key = draw.choice(parts)
    if draw.random() < 0.15 and isinstance(inside, dict) and key != "type":
        del inside[key]
    elif draw.random() < 0.1 and isinstance(inside, dict):
        inside[f"{key}2"] = inside[key]
    elif key != "type":
        inside[key] = copy.deepcopy(draw.choice(ODD))
    return value


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list) and value:
        yield value
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _containers(inside)


class Odd(Judged):
    """Tools whose judges and programs say anything."""

    def __init__(self, spec: Any, draw: random.Random) -> None:
        super().__init__(spec, lambda _: "")
        self._draw = draw

    async def asked(self, questions: Sequence[Any]) -> list[Reply | JudgeFailed]:
        return [Reply(self._draw.choice(("0.5", "NaN", "-1e400") if isinstance(one, Rating) else SAID), "judge-1")
                for one in questions]

    async def ran(self, programs: Sequence[Any]) -> list[Ran]:
        return [Ran(self._draw.choice(list(Ended)), "odd", stdout=self._draw.choice((b"", b"4\n", b"\xff")))
                for _ in programs]


def sample(draw: random.Random) -> Sample:
    text = draw.choice(TEXTS)
    world = World(before={"table": 1, "tables": {}}, after={"table": 1, "answer": draw.choice(TEXTS), "tables": {}})
    return Sample(copy.deepcopy(draw.choice(ITEMS)), text, draw.random() < 0.1, Conversation(
        calls=[Spoken(number="0", text=text)], steps=[Taken(call="0", action=text, said=[])]), world)


def _finite(result: Result) -> bool:
    values = [*result.components.values(), *(step.value for step in result.steps),
              *(value for turn in result.turns.values() for value in turn.values())]
    return all(map(math.isfinite, [*values, *([] if result.score is None else [result.score])]))


def wrong(result: Result) -> str:
    """Return what is wrong with a grade; an empty text if nothing is."""
    about_the_policy = result.status in (Status.OK, Status.NO_ANSWER, Status.TIMEOUT_CANDIDATE)
    if (result.score is not None) != about_the_policy:
        return "a score that its status does not allow, or none"
    if not _finite(result):
        return "a score that is not finite"
    return str(result.reasons) if _DEFECT.match(next(iter(result.reasons), "")) else ""


async def test_ten_thousand_changed_graders_are_refused_by_a_field_or_grade() -> None:
    """A score is there if, and only if, the status is about the policy. It is finite. No grader fails by a defect."""
    assert FIELDS.keys() == GRADERS.keys()
    found, defects, kinds = Counter[str](), dict[str, Any](), list(FIELDS)
    for place in range(COUNT):
        draw, kind = random.Random(place), kinds[place % len(kinds)]
        given: Any = {"type": kind, **FIELDS[kind]}
        for _ in range(draw.choice((0, 1, 1, 2))):
            given = changed(given, draw)
        try:
            spec = checked(given)
        except Invalid as error:
            found["refused"] += 1
            if not all(problem.field for problem in error.problems):
                defects[f"{kind}: refused without a field"] = given
            continue
        for result in await grades(spec, [sample(draw) for _ in range(2)], Odd(spec, draw)):
            found[result.status] += 1
            if problem := wrong(result):
                defects[f"{kind}: {problem}"] = given
    assert not defects
    assert min(found["refused"], found[Status.OK], found[Status.NO_ANSWER]) > COUNT / 20, found
