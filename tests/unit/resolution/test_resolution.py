"""A spec is resolved with every default, or refused with every problem at once."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.algorithms.presets import PRESETS, unmet
from hone.environments.hashing import canonical
from hone.resolution import batches, resolve
from hone.spec.files import as_json, parse, read
from hone.spec.problems import Invalid, Problem
from hone.spec.run import RunSpec

BASE: dict[str, Any] = {"name": "sort", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "sort_digits"}}
SFT = {**BASE, "algorithm": "sft", "task": {"dataset": "rows"}}

PARTS = {"grader": {"type": "weighted", "parts": {"right": {"grader": {"type": "exact"}}}}}
TEACHER = {"roles": {"teacher": {"model": "large"}}}
LIKELIEST = {"roles": {"teacher": {"model": "large", "top_k": 8}}}
HINT = {"contexts": {"privileged": [{"text": "It is {{ item.answer }}."}, {"text": "one", "match": "s1"}]}}
GRADED = {"task": {"environment": "sort_turns", "params": {"rules": {"length": 0.5, "right": 1.0}}}}
MARKS = {"name": "schema", "start": "<schema>", "end": "</schema>"}
LOOKS = {"name": "explore", "start": "<look>", "end": "</look>"}
NAMED: dict[str, Any] = {
    "harness": {"name": "chat", "params": {"spans": [MARKS, LOOKS]}}, "grader": {"type": "weighted", "parts": {
        part: {"grader": {"type": "exact"}} for part in ("exec", "fmt", "schema")}}}
OTHERS: dict[str, dict[str, Any]] = {
    "opd": TEACHER, "aopd": LIKELIEST, "scope": TEACHER, "sdar": HINT, "rlsd": HINT, "hian": GRADED, "duca": GRADED,
    "skill1": {"harness": {"name": "library"}, "grader": {"type": "skill_credit", "grader": {"type": "exact"}}},
    "selskill": {"task": {"environment": "skill_points"}, "harness": {"name": "skills"}, "grader": {
        "type": "skill_use"}}, "trust_sql": NAMED, "heavyskill": {"harness": {"name": "heavy"}}}
FROM_ROWS = {"sft", "dpo", "internalization"}
GOOD = [
    BASE, SFT, *({**BASE, **PARTS, **OTHERS.get(name, {}), "algorithm": name}
                 for name in PRESETS if name not in FROM_ROWS and unmet(name) is None),
    *({**SFT, "algorithm": name} for name in sorted(FROM_ROWS)), {**BASE, "algorithm": "ppo", "critic": {"clip": 0.25}},
    {**BASE, "algorithm": "aopd", "contexts": {**HINT["contexts"], "top_k": 4}},
    {**BASE, "batch": {"prompts": 8, "minibatches": 8, "epochs": 4}}, {**BASE, "algorithm": "opd", **HINT},
    {**BASE, "batch": {"schedule": {"name": "late_switch", "params": {"small": 2, "fraction": 0.5}, "budget": 8}}},
    {**BASE, "task": {"dataset": "r"}, "algorithm": "sdar", "contexts": {"privileged": [{"text": "{{ item.any }}"}]}},
    {**BASE, "algorithm": {"preset": "grpo", "loss": {"name": "clip_higher"}, "regularizers": []}},
    {**BASE, "optimizer": {"lr": 1, "schedule": "linear"}}, {**SFT, "eval": {"source": {"environment": "sort_digits"}}},
    {**BASE, "task": {"environment": "reasoning_gym", "params": {"task": "leg_counting"}}}, {**BASE, "eval": None},
    {**BASE, "task": {"environment": "reasoning_gym", "params": {"task": "word_ladder"}}},
    {**BASE, "algorithm": "rloo", "batch": {"samples": 1}}, {**BASE, "algorithm": "dynamo", "batch": {"samples": 2}},
    {**BASE, **GRADED, "algorithm": {"advantage": {"name": "hian", "params": {
        "per_rule": True, "rule_weights": {"right": 2.0}}}}},
    {**BASE, **GRADED, "algorithm": {"modulation": {"name": "step_credit", "params": {"c": 0.5}}}},
    {**BASE, "grader": {"type": "table_steps"}, "algorithm": {
        "modulation": {"name": "step_credit", "params": {"c": 0.5}}}},
    {**BASE, "grader": {"type": "numeric", "rel_tolerance": 1}, "task": {"dataset": "rows"}},
    {**BASE, **NAMED, "harness": {"name": "tool_loop", "params": {"spans": [{**MARKS, "name": "tables"}, {
        "name": "query", "start": "SELECT", "end": "\n", "weight": 2}]}},
     "algorithm": {"preset": "trust_sql", "advantage": {"name": "dual_track", "params": {"span": "tables"}}}},
]


@pytest.mark.parametrize("raw", GOOD, ids=range(len(GOOD)))
def test_resolving_twice_changes_nothing(raw: dict[str, Any]) -> None:
    once = resolve(raw)
    assert resolve(as_json(once)) == once
    assert RunSpec.model_validate(as_json(once)) == once
    assert all(getattr(once.algorithm, slot) is not None for slot in ("builder", "advantage", "loss", "regularizers"))


def test_defaults_are_written_out() -> None:
    spec = as_json(resolve(BASE))
    assert spec["task"]["params"] == {"digits": 6}
    assert spec["algorithm"]["advantage"] == {
        "name": "grpo", "params": {"std_ddof": 1, "eps": 1e-6, "single_sample": "zero"}}
    assert spec["eval"]["prompts"] == 256


def test_a_critic_is_written_out_where_values_are_read() -> None:
    assert resolve(BASE).critic is None
    assert as_json(resolve({**BASE, "algorithm": "ppo"}))["critic"]["clip"] == 0.5
    assert as_json(resolve({**BASE, "algorithm": "ppo", "critic": {"optimizer": {"lr": 0.5}}}))["critic"] == {
        "optimizer": as_json(resolve({**BASE, "optimizer": {"lr": 0.5}}))["optimizer"], "clip": 0.5}


def test_a_schedule_of_sizes_is_written_out_with_its_largest() -> None:
    schedule = {"name": "late_switch", "params": {"small": 2, "fraction": 0.5}, "budget": 8}
    spec = resolve({**BASE, "batch": {"schedule": schedule}})
    assert list(batches.sizes(spec)) == [2, 2, 4]
    assert (spec.batch.prompts, spec.batch.schedule and spec.batch.schedule.params) == (
        4, {"small": 2, "large": None, "fraction": 0.5})


def test_a_supervised_run_samples_and_evaluates_nothing_unless_it_says_so() -> None:
    spec = resolve(SFT)
    assert (spec.eval, spec.batch.samples) == (None, 1)
    assert resolve({**SFT, "eval": {"every": 5, "source": {"environment": "sort_digits"}}}).eval is not None


BAD: list[tuple[dict[str, Any], list[tuple[str, str, str]]]] = [
    ({**BASE, "stepz": 1}, [("stepz", "unknown key with value 1", "did you mean steps?")]),
    ({**BASE, "batch": {"sampels": 2}}, [("batch.sampels", "unknown key with value 2", "did you mean samples?")]),
    ({**BASE, "eval": {"source": {"envronment": "x"}}},
     [("eval.source.envronment", 'unknown key with value "x"', "did you mean environment?")]),
    ({**BASE, "steps": "3"}, [("steps", '"3"', "a valid integer")]),
    ({**BASE, "steps": True}, [("steps", "true", "a valid integer")]),
    ({**BASE, "steps": 2.0}, [("steps", "2.0", "a valid integer")]),
    ({**BASE, "name": 7}, [("name", "7", "a valid string")]),
    ({"steps": 3}, [("name", "nothing", "a value"), ("model", "nothing", "a value"), ("task", "nothing", "a value")]),
    ({**BASE, "task": {}}, [("task", "{}", "environment, dataset, or both")]),
    ({**BASE, "task": {"environment": "sort_digits", "dataset": "rows"}},
     [("task.dataset", '"rows"', "none: environment sort_digits makes its own tasks")]),
    ({**BASE, "task": {"environment": "sort"}}, [("task.environment", '"sort"', "sort_digits")]),
    ({**BASE, "task": {"environment": "dataset"}}, [("task.environment", '"dataset"', "task.dataset")]),
    ({**BASE, "task": {"environment": "sort_digits", "params": {"digits": "6", "digts": 1}}},
     [("task.params.digits", '"6"', "a valid integer"),
      ("task.params.digts", "unknown key with value 1", "did you mean digits?")]),
    ({**BASE, "task": {"environment": "reasoning_gym", "params": {"task": "legs"}}},
     [("task.params.task", '"legs"', "reasoning-gym")]),
    ({**BASE, "algorithm": "grop"}, [("algorithm.preset", '"grop"', "did you mean grpo?")]),
    ({**BASE, "algorithm": {"loss": {"name": "ppoclip"}, "advantage": {"name": "none?"}}},
     [("algorithm.advantage.name", '"none?"', "one of"),
      ("algorithm.loss.name", '"ppoclip"', "did you mean ppo_clip?")]),
    ({**BASE, "algorithm": {"loss": {"name": "ppo_clip", "params": {"low": "a", "hihg": 1}}}},
     [("algorithm.loss.params.low", '"a"', "a valid number"),
      ("algorithm.loss.params.hihg", "unknown key with value 1", "did you mean high?")]),
    ({**BASE, "algorithm": {"regularizers": [{"name": "kl"}, {"name": "nothing"}]}},
     [("algorithm.regularizers[1].name", '"nothing"', "one of")]),
    ({**BASE, "optimizer": {"schedule": "linaer"}}, [("optimizer.schedule", '"linaer"', "did you mean linear?")]),
    ({**BASE, "optimizer": {"schedule": "linear", "schedule_params": {"no": 1.5}}},
     [("optimizer.schedule_params.no", "unknown key with value 1.5", "one of")]),
    ({**BASE, "batch": {"samples": 1}}, [("batch.samples", "1", "at least 2, because advantage grpo")]),
    ({**BASE, "algorithm": {"preset": "rloo", "filter": {"name": "dynamic_sampling"}}, "batch": {"samples": 1}},
     [("algorithm.filter", "dynamic_sampling with batch.samples 1", "one sample never varies")]),
    ({**BASE, "algorithm": "gdpo"}, [("grader", "nothing", "of type weighted")]),
    ({**BASE, "algorithm": "rdpo", "grader": {"type": "exact"}},
     [("grader", '{"type": "exact"}', "of type weighted")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "grader": {"type": "weighted", "parts": {
        "exec": {"grader": {"type": "exact"}}, "form": {"grader": {"type": "exact"}}}}},
     [("grader.parts", "exec, form", "components named exec, fmt, schema among them, because advantage dual_track")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "grader": {"type": "weighted", "parts": {}}},
     [("grader.parts", "{}", "at least 1")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "harness": None},
     [("harness.params.spans", "nothing", f"a span named {name}, because advantage dual_track reads it")
      for name in ("schema", "explore")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "harness": {"name": "chat", "params": {"spans": [
        LOOKS, {**MARKS, "name": "tables"}, {**MARKS, "name": "query"}]}}},
     [("harness.params.spans", "explore, query, tables", "a span named schema")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "harness": {"name": "chat", "params": {"spans": [
        {"name": "Schema", "start": "", "end": 1, "weight": -1, "role": "policy"}, {"name": "schema"}]}}},
     [("harness.params.spans[0].name", '"Schema"', "text that matches"),
      ("harness.params.spans[0].start", '""', "at least 1 character"),
      ("harness.params.spans[0].end", "1", "a valid string"),
      ("harness.params.spans[0].weight", "-1", "greater than or equal to 0"),
      ("harness.params.spans[0].role", 'unknown key with value "policy"', "one of end, name, parses, start, weight"),
      ("harness.params.spans[1].start", "nothing", "a value"), ("harness.params.spans[1].end", "nothing", "a value")]),
    ({**BASE, "algorithm": "hian"},
     [("task.environment", '"sort_digits"', "an environment that grades turns, because advantage hian reads the "
       "scores")]),
    ({**BASE, "algorithm": "hian", "task": {"dataset": "rows"}}, [("task.environment", '"dataset"', "grades turns")]),
    ({**BASE, "algorithm": "hian", "task": {"environment": "sort_turns"}},
     [("task.params.rules", "nothing", "a rule that grades turns, because advantage hian")]),
    ({**BASE, "algorithm": {"modulation": {"name": "step_credit", "params": {"c": 0.5}}}},
     [("task.environment", '"sort_digits"', "an environment that grades turns, or a grader of steps, because "
       "modulation step_c")]),
    ({**BASE, **GRADED, "algorithm": {"advantage": {"name": "hian", "params": {
        "per_rule": True, "rule_weights": {"right": 2.0, "identity": 1.0}}}}},
     [("algorithm.advantage.params.rule_weights.identity", "1.0", "rules that grade turns here: length, right")]),
    ({**BASE, "algorithm": "hian", "task": {"environment": "sort_turns", "params": {"rules": {"rigth": 1}}}},
     [("task.params.rules.rigth.[key]", '"rigth"', "'right'")]),
    ({**BASE, "algorithm": "gigpo", "batch": {"samples": 1}}, [("batch.samples", "1", "at least 2")]),
    ({**BASE, "algorithm": "aopd"}, [("roles.teacher", "nothing", "because advantage aopd reads")]),
    ({**BASE, "algorithm": {"loss": {"name": "teacher_kl"}}},
     [("roles.teacher", "nothing", "because loss teacher_kl reads")]),
    ({**BASE, "algorithm": "sdar"}, [("roles.teacher", "nothing", "or contexts.privileged, because regularizer sdar")]),
    ({**BASE, "algorithm": "rlsd", **TEACHER, **HINT},
     [("contexts.privileged", "texts: 2, as well as roles.teacher", "only roles.teacher or")]),
    ({**BASE, "algorithm": "aopd", **TEACHER},
     [("roles.teacher.top_k", "0", "at least 1, because regularizer local_divergence")]),
    ({**BASE, "algorithm": "aopd", **HINT}, [("contexts.top_k", "0", "at least 1, because regularizer local")]),
    ({**BASE, "algorithm": "opd", **LIKELIEST}, [("roles.teacher.top_k", "8", "0, because no method")]),
    ({**BASE, **TEACHER}, [("roles.teacher", "large", "none, because no method")]),
    ({**SFT, **TEACHER}, [("roles.teacher", "large", "none, because no method")]),
    ({**BASE, **HINT}, [("contexts.privileged", "texts: 2", "none, because no method")]),
    ({**BASE, "contexts": {"top_k": 2}}, [("contexts.top_k", "2", "0, because no method")]),
    ({**BASE, "algorithm": "opd", **TEACHER, "sampling": {"temperature": 0.6}},
     [("sampling.temperature", "0.6", "1, because a teacher")]),
    ({**BASE, **HINT, "algorithm": {"regularizers": [{"name": "sdar", "params": {"coefficient": 0.0}}]}},
     [("contexts.privileged", "texts: 2", "none, because no method")]),
    ({**BASE, "critic": {}}, [("critic", "a critic", "none, because no method of the run reads values")]),
    ({**BASE, "batch": {"prompts": 4, "minibatches": 5}}, [("batch.minibatches", "5", "at most 4")]),
    ({**SFT, "batch": {"minibatches": 2, "epochs": 3}},
     [("batch.minibatches", "2", "1, because the run is"), ("batch.epochs", "3", "1, because the run is supervised")]),
    ({**BASE, "algorithm": "sdar", "contexts": {"privileged": [
        {"text": "{{ answer }}"}, {"text": "a"}, {"text": "{{ sample.output_text }} {{ item.anser }}"}]}},
     [("contexts.privileged[0].text", '"{{ answer }}"', "variables under item"),
      ("contexts.privileged[2].text", '"sample.output_text"', "variables under item: the text"),
      ("contexts.privileged[2].text", '"item.anser"', "did you mean item.answer?")]),
    ({**BASE, "contexts": {"privileged": [{"text": ""}, {"text": "a", "match": "", "like": 1}]}},
     [("contexts.privileged[0].text", '""', "at least 1 character"),
      ("contexts.privileged[1].match", '""', "at least 1 character"),
      ("contexts.privileged[1].like", "unknown key with value 1", "one of at, match, text")]),
    ({**BASE, "algorithm": "memocr"}, [("algorithm.advantage", '"memocr"', "needs: a harness whose calls are of")]),
    ({**BASE, "harness": {"name": "folding", "params": {"penalties": {"loop": 0.9}}}},
     [("harness.params.penalties", '{"loop": 0.9}', "penalties with a sum below success, 1")]),
    ({**BASE, "algorithm": "sft"}, [("task.dataset", "nothing", "supervised")]),
    ({**BASE, "algorithm": "dpo"}, [("task.dataset", "nothing", "supervised")]),
    ({**BASE, "batch": {"schedule": {"name": "late", "budget": 8}}},
     [("batch.schedule.name", '"late"', "one of constant, fsl, late_switch, stages")]),
    ({**BASE, "batch": {"schedule": {"name": "late_switch", "params": {"small": 0}, "budget": 8}}},
     [("batch.schedule.params.small", "0", "greater than or equal to 1")]),
    ({**BASE, "batch": {"schedule": {"name": "constant", "params": {"rows": 4}, "budget": 18}}},
     [("steps", "3", "5, the batches that batch.schedule makes of 18 groups")]),
    ({**BASE, "batch": {"samples": 4}, "algorithm": {"preset": "grpo", "allocation": {
        "name": "dynamo", "params": {"n_min": 8, "n_max": 24}}}},
     [("batch.samples", "4", "between 8 and 24, the rollouts that allocation dynamo may give a prompt")]),
    ({**BASE, "batch": {"samples": 16}, "algorithm": {"preset": "dynamo", "allocation": {
        "name": "dynamo", "params": {"n_min": 1, "n_max": 64}}}},
     [("algorithm.allocation.params.n_min", "1", "at least 8, half of batch.samples")]),
    ({**BASE, "batch": {"samples": 2}, "algorithm": {"preset": "dynamo", "allocation": {
        "name": "dynamo", "params": {"n_min": 1}}}},
     [("algorithm.allocation.params.n_min", "1", "at least 2, half of batch.samples")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "batch": {"samples": 1}},
     [("batch.samples", "1", "at least 2, because advantage dual_track compares")]),
    ({**BASE, **LIKELIEST, "batch": {"samples": 1}, "algorithm": {
        "preset": "aopd", "advantage": {"name": "aopd", "params": {"mix_outcome": True}}}},
     [("batch.samples", "1", "at least 2, because advantage aopd compares")]),
    ({**BASE, **LIKELIEST, "algorithm": "aopd", "max_staleness": 3},
     [("max_staleness", "3", "at most 2, because advantage aopd imitates the teacher")]),
    ({**BASE, "batch": {"samples": 1}, "algorithm": {"preset": "rloo", "reward": {"name": "overlong"}}},
     [("algorithm.reward", '"overlong"', "none, because advantage rloo compares a single sample")]),
    ({**BASE, **NAMED, "algorithm": {"preset": "trust_sql", "advantage": {
        "name": "dual_track", "params": {"explore": "look"}}}},
     [("harness.params.spans", "explore, schema", "a span named look, because advantage dual_track reads it")]),
    ({**BASE, **NAMED, "algorithm": "trust_sql", "grader": {"type": "weighted", "parts": {
        **NAMED["grader"]["parts"], "exec": {"grader": {"type": "verdict"}}}}},
     [("grader.parts.exec.grader.type", '"verdict"', "a grader with scores from 0 to 1")]),
    ({**SFT, "algorithm": "dpo", "batch": {"epochs": 2}}, [("batch.epochs", "2", "1, because the run is supervised")]),
    ({**SFT, "algorithm": {"preset": "dpo", "correction": {"name": "tis"}}},
     [("algorithm.correction", '"tis"', "'none', because builder 'pairs' has no rollouts")]),
    ({**BASE, "algorithm": {"preset": "grpo", "advantage": {"name": "dpo"}}},
     [("algorithm.advantage", '"dpo"', "builder 'pairs' with it")]),
    ({**SFT, "batch": {"samples": 8}}, [("batch.samples", "8", "1, because the run is supervised")]),
    ({**SFT, "eval": {}}, [("eval.source", "nothing", "or eval: null")]),
    ({**SFT, "grader": {"type": "exact"}}, [("grader", '{"type": "exact"}', "evaluates nothing")]),
    ({**SFT, **TEACHER, "algorithm": {"preset": "sft", "regularizers": [{"name": "sdar"}]}},
     [("algorithm.regularizers", '"sdar"', "no rollouts to be judged")]),
    ({**SFT, "algorithm": {"preset": "sft", "advantage": {"name": "grpo"}}},
     [("algorithm.advantage", '"grpo"', "'none', because")]),
    ({**BASE, "grader": {"kind": "exact"}}, [("grader.type", "nothing", "one of agent_judge, character_share")]),
    ({**BASE, "model": {"base": "b", "lora": {"rank": 4}}},
     [("model", '{"base": "b", "lora": {"rank": 4}}', "kind: lora")]),
    ({**BASE, "model": {"base": "b", "kind": "lora", "lora": {"rank": 0}}}, [("model.lora.rank", "0", "equal to 1")]),
    ({**BASE, "model": {"base": "b", "kind": "lora", "lora": {"targets": ["q"]}}},
     [("model.lora.targets[0]", '"q"', "'q_proj'")]),
    ({**BASE, "harness": {"name": "chatt"}}, [("harness.name", '"chatt"', "did you mean chat?")]),
    ({**BASE, "harness": {"name": "tool_loop", "params": {"syntax": "xml"}}},
     [("harness.params.syntax", '"xml"', "'tagged' or 'line'")]),
    ({**BASE, "harness": {"name": "chat", "params": {"max_turns": 0}}},
     [("harness.params.max_turns", "0", "greater than or equal to 1")]),
    ({**BASE, "grader": {"type": "exakt"}}, [("grader.type", '"exakt"', "did you mean exact?")]),
    ({**BASE, "grader": {"type": "exact", "stripp": 1}},
     [("grader.stripp", "unknown key with value 1", "did you mean strip?")]),
    ({**BASE, "grader": {"type": "numeric", "reference": "{{ answer }}", "abs_tolerance": -1}},
     [("grader.reference", '"{{ answer }}"', "variables under item"), ("grader.abs_tolerance", "-1", "or equal to 0")]),
    ({**BASE, "task": {"dataset": "rows", "params": {"grader": {"type": "math", "boxed": "maybe"}}},
      "eval": {"source": {"dataset": "held", "params": {"grader": {"type": "string_check"}}}}},
     [("task.params.grader.boxed", '"maybe"', "'required' or 'optional'"),
      *((f"eval.source.params.grader.{key}", "nothing", "a value") for key in ("operation", "input", "reference"))]),
    ({**BASE, "task": {"dataset": "rows", "params": {"grader": "exact"}}},
     [("task.params.grader", '"exact"', "an object")]),
    ({**BASE, "name": "a\0"}, [("name", '"a\\u0000"', "text without NUL")]),
    ({**BASE, "name": "\ud800"}, [("name", '"\\ud800"', "lone surrogates")]),
    ({**BASE, "deadline_s": float("inf")}, [("deadline_s", "inf", "a finite number")]),
    ({**BASE, "grader": {"\ud800": float("inf")}},
     [("grader.\\ud800", '"\\ud800"', "lone surrogates"), ("grader.\\ud800", "inf", "a finite number")]),
    ({**BASE, "max_staleness": 65}, [("max_staleness", "65", "less than or equal to 64")]),
]


@pytest.mark.parametrize(("raw", "expected"), BAD, ids=range(len(BAD)))
def test_every_problem_names_field_found_and_expected(
    raw: dict[str, Any], expected: list[tuple[str, str, str]],
) -> None:
    with pytest.raises(Invalid) as refused:
        resolve(raw)
    problems = refused.value.problems
    assert [(problem.field, problem.found) for problem in problems] == [(field, found) for field, found, _ in expected]
    for problem, (_, _, words) in zip(problems, expected, strict=True):
        assert words in problem.expected


def test_problems_of_different_kinds_come_together() -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, "task": {"environment": "x"}, "algorithm": "y", "optimizer": {"schedule": "z"}})
    assert [problem.field for problem in refused.value.problems] == [
        "algorithm.preset", "optimizer.schedule", "task.environment"]


TOGETHER: list[tuple[dict[str, Any], list[str]]] = [
    ({"stepz": 1, "steps": "x", "algorithm": "grpoo", "optimizer": {"schedule": "z", "lr": -1}, "task": {
        "environment": "sort_digitz", "paramz": {}}},
     ["task.paramz", "optimizer.lr", "steps", "stepz", "algorithm.preset", "optimizer.schedule", "task.environment"]),
    ({"model": {}, "batch": {"prompts": "two", "samples": 1}, "grader": {"type": "exakt"}},
     ["model.base", "batch.prompts", "grader.type", "batch.samples"]),
    ({"sampling": {"stop": [""], "temperature": 0.0}, "batch": {"samples": 1}},
     ["sampling.temperature", "sampling.stop[0]", "batch.samples"]),
    ({"name": "a\0", "seed": -1, "batch": {"samples": 1}}, ["name", "seed", "batch.samples"]),
    ({"seed": "x", "stages": [{"until": 2, "algorithm": "grpoo"}]}, ["seed", "stages[0].algorithm.preset"]),
    ({"algorithm": {"losss": {}}, "roles": {"teacher": {"model": "m"}}}, ["algorithm.losss"]),
    ({"algorithm": 5, "batch": {"samples": 1}}, ["algorithm"]),
    ({"task": {"dataset": 5}, "algorithm": "sft"}, ["task.dataset"]),
    ({"stages": [{"name": "x"}], "roles": {"teacher": {"model": "m"}}}, ["stages[0].until"]),
]


@pytest.mark.parametrize(("changes", "fields"), TOGETHER, ids=range(len(TOGETHER)))
def test_problems_of_shape_names_and_combinations_come_at_once(changes: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **changes})
    assert sorted({problem.field for problem in refused.value.problems}) == sorted(fields)


YAML = [
    (b"a: 2e-4\nb: 1E5\nc: -1.5e3\nd: .5e1", {"a": 2e-4, "b": 1e5, "c": -1500.0, "d": 5.0}),
    (b'{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
]


@pytest.mark.parametrize(("text", "value"), YAML)
def test_files_are_read_as_json_and_yaml(text: bytes, value: dict[str, Any]) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(("text", "words"), [
    (b"a: 1\na: 2", "the key a twice"), (b"1: 2", "the key 1, not a text"), (b"[1]", "found [1]"),
    (b"", "found nothing"), (b"a: [", "expected YAML or JSON"), (b"\xff\xfe\xff", "expected YAML or JSON"),
    (b"!!python/object:os.system {}", "expected YAML or JSON"), (b"{" * 2000, "expected YAML or JSON")])
def test_what_is_no_object_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(Invalid, match=r"^spec: found") as refused:
        parse(text)
    assert words in str(refused.value)


def test_an_absent_file_is_a_problem_like_any(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"absent\.yaml: found No such file"):
        read(tmp_path / "absent.yaml")


@pytest.mark.parametrize(("changes", "field", "expected"), [
    ({"steps": 3_000_000_000}, "steps", "less than or equal to 2147483647"),
    ({"deadline_s": 1e12}, "deadline_s", "less than or equal to 100000000"),
    ({"max_staleness": 1, "group_deadline_s": 1e13}, "group_deadline_s", "less than or equal to 100000000"),
    ({"batch": {"prompts": 10**9}}, "batch.prompts", "less than or equal to 65536"),
    ({"batch": {"samples": 10**9}}, "batch.samples", "less than or equal to 4096"),
    ({"sampling": {"top_k": 2**31}}, "sampling.top_k", "less than or equal to 2147483647"),
    ({"sampling": {"stop": ["x"] * 65}}, "sampling.stop", "at most 64 values"),
])
def test_no_number_is_larger_than_rows_and_messages_hold(changes: dict[str, Any], field: str, expected: str) -> None:
    (problem,) = _problems({**BASE, **changes}) or []
    assert problem.field == field
    assert expected in problem.expected


def test_endless_nesting_is_refused() -> None:
    nested: Any = 1
    for _ in range(600):
        nested = [nested]
    (problem,) = _problems({**BASE, "grader": {"type": "exact", "x": nested}}) or []
    assert problem.found == "values nested more than 50 deep"


TEXT = st.text("abc\0\ud800é", max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8)


@given(st.dictionaries(st.sampled_from([*RunSpec.model_fields, "other"]), JSON, max_size=5))
def test_whatever_is_written_is_resolved_or_refused(changes: dict[str, Any]) -> None:
    problems = _problems({**BASE, **changes})
    assert problems != []
    assert all(str(problem).encode() for problem in problems or [])


def _problems(raw: dict[str, Any]) -> list[Problem] | None:
    try:
        json.dumps(as_json(resolve(raw)))
    except Invalid as refused:
        return refused.problems
    return None


def test_canonical_json_is_equal_for_equal_values() -> None:
    assert canonical({"b": 1, "a": [1.5, None]}) == canonical({"a": [1.5, None], "b": 1}) == '{"a":[1.5,null],"b":1}'
