"""Notes on a desk: its user wants the two drafts among four notes gone, and the desk that is left is graded.

Tasks are written ones: a desk, checks, and calls that solve it, as a model would write them.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.through_services.comparison import START, Comparison, Direction, Row, Spec
from benchmarks.through_services.curves import FIRST_PASS
from hone.environments.desk.episode import opening
from hone.environments.desk.people_tools import tools
from hone.environments.desk.store import DeskStore
from hone.environments.desk.written import FAMILY, WrittenTask, row_of, task_of
from hone.environments.tools import ToolCall, use
from hone.models import toy

NAMES = ("amy", "bob", "eve", "ida", "jon", "kim", "leo", "max")
KINDS = ("draft", "final")
TRAINED, HELD_OUT, STEPS, MAX_TOKENS = 512, 64, 48, 6
LISTS, DELETES = "list_notes:", "delete_note: N"
PARAMS: Mapping[str, Any] = {"tools": ["list_notes", "delete_note"], "turns": 6}
TASK = {"environment": "desk", "params": PARAMS, "dataset": "notes"}
OTHERS = {**TASK, "dataset": "other-notes"}
HARNESS: Mapping[str, Any] = {"name": "tool_loop", "params": {"syntax": "line", "describe": False}}
FULL_ALONE: Mapping[str, Any] = {
    "type": "multi", "name": "full", "graders": {"desk": {"type": "environment"}}, "calculate_output": "floor(desk)"}
"""1 for a full score, and 0 for any other."""
_FIXED: Mapping[str, Any] = {"owner": "me@desk.example", "now": "2026-01-12T08:00:00Z", "zone": "UTC"}
_ASKS = "Delete the drafts."


def written(chance: random.Random) -> WrittenTask:
    """Return a task: notes on two people, a draft and a final one on each, of which the drafts are to be deleted."""
    names, ids = chance.sample(NAMES, 2), chance.sample(range(1, 10), 4)
    titles = [f"{kind} {name}" for kind in KINDS for name in names]
    notes = {f"N{number}": title for number, title in zip(ids, titles, strict=True)}
    (first, second), kept = (sorted(key for key in notes if notes[key].startswith(kind)) for kind in KINDS)
    right, wrong = [[_delete(key) for key in keys] for keys in ((first, second), kept)]
    return WrittenTask.model_validate({
        **_FIXED, "instruction": _ASKS,
        "difficulties": ["entity alignment", "constraint"],
        "desk": {"notes": {key: {"title": title, "text": title} for key, title in notes.items()}},
        "checks": [
            _check("first", "core", [{"kind": "absent", "tool": "notes", "object": first}]),
            _check("second", "core", [{"kind": "absent", "tool": "notes", "object": second}]),
            _check("kept", "consistency", [{"kind": "unchanged", "tool": "notes", "object": key} for key in kept])],
        "allowed": [{"tool": "notes", "object": key} for key in (first, second)],
        "solution": right, "wrong_object": wrong,
        "near_misses": [{"calls": right[:1], "check": "second"}, {"calls": right[1:], "check": "first"},
                        {"calls": [*right, wrong[0]], "check": "kept"}]})


def rows(count: int, seed: int) -> Iterator[Row]:
    """Yield tasks as rows of a dataset."""
    for place in range(count):
        one = written(random.Random(f"notes {seed} {place}"))
        yield {"prompt": opening(task_of(one))[0]["content"], "family": FAMILY, "seed": place, "task": row_of(one)}


def demonstrations(count: int, careless: float, eager: float, seed: int = 0) -> Iterator[Row]:
    """Yield whole episodes of a teacher.

    It deletes another note in place of the share `careless` of the drafts, and one more in the share `eager` of the
    episodes.
    """
    for place in range(count):
        chance = random.Random(f"shown notes {seed} {place}")
        yield {"messages": list(_played(written(chance), chance, careless, eager))}


def _delete(key: str) -> dict[str, Any]:
    return {"tool": "delete_note", "arguments": {"note": key}}


def _check(name: str, kind: str, conditions: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": name, "description": f"Notes: {name}.", "kind": kind,
            "conditions": [{"kind": "every", "of": conditions}]}


def _played(one: WrittenTask, chance: random.Random, careless: float, eager: float) -> Iterator[dict[str, str]]:
    task = task_of(one)
    store = DeskStore(task.state, task.now, task.zone, task.owner)
    yield from opening(task)
    yield from _turn(store, LISTS, ToolCall("list_notes", {}))
    for call in one.solution:
        yield from _deleted(store, chance, call.arguments["note"], careless)
    if chance.random() < eager:
        yield from _deleted(store, chance, "", 1.0)
    yield {"role": "assistant", "content": "Done."}


def _deleted(store: DeskStore, chance: random.Random, wanted: str, careless: float) -> Iterator[dict[str, str]]:
    """Delete the note that is wanted, or another one that is still there."""
    there = sorted(store.objects("notes"))
    others = [key for key in there if key != wanted]
    key = wanted if wanted in there and chance.random() >= careless else chance.choice(others)
    yield from _turn(store, f"{DELETES}{key[1:]}", ToolCall("delete_note", {"note": key}))


def _turn(store: DeskStore, text: str, call: ToolCall) -> Iterator[dict[str, str]]:
    yield {"role": "assistant", "content": text}
    yield {"role": "tool", "content": use(tools(store), call) + "\n"}


def _symbols() -> list[str]:
    """Return what the desk and the teacher write, a token each text that recurs."""
    said = opening(task_of(written(random.Random(0))))[0]["content"]
    return [*toy.TEXT, said, LISTS, DELETES, "Done.", "deleted N", '[{"note":"N', '","title":"', '"},{"note":"N',
            '"}]\n', *(f"{kind} " for kind in KINDS), *NAMES]


POLICY: Mapping[str, Any] = {"hidden": 64, "ffn": 256, "vocab_size": 160, "symbols": _symbols()}
"""Sizes of the policy: a hundred thousand parameters."""


def _deletes(**method: Any) -> Spec:
    return {
        "model": {"base": "deleting"}, "task": TASK, "harness": HARNESS, "algorithm": {
            "preset": "grpo", "aggregation": {"name": "token-mean"},
            "regularizers": [{"name": "kl", "params": {"coefficient": 0.01}}]},
        "batch": {"prompts": 8, "samples": 8}, "steps": STEPS, "sampling": {"max_tokens": MAX_TOKENS},
        "optimizer": {"lr": 3e-4}, "snapshot_every": STEPS,
        "eval": {"prompts": HELD_OUT, "every": STEPS // 2, "samples": 2,
                 "sources": [{"name": "desk", **OTHERS, "grader": {"type": "environment"}}]}, **method}


DESK_NOTES = Comparison(
    "stage-claw.md", "An agent at a desk lists four notes and deletes the two that are drafts. The state that is left "
    "is graded. Does a policy learn from these grades, and does it learn more where a part of the work is worth a part "
    "than from full scores alone?",
    {"partial credit": _deletes(), "full score alone": _deletes(grader=FULL_ALONE)},
    (Direction("partial credit", START, "sampled"), Direction("full score alone", START, "sampled"),
     Direction("partial credit", "full score alone", FIRST_PASS)),
    figures=(FIRST_PASS,),
    remark="Tasks are written ones (`task` in a row), and the policy is offered two of the desk's tools. The start's "
    "likeliest answers score 0.83 already, and its samples are careless, as its "
    "teacher. Full scores alone taught more, on each of the three seeds. A reason that fits, and was not tested: 19 "
    "groups in 20 have a sample with a full score and one without, so that there is nothing that partial credit alone"
    " could show; and an answer that deletes a third note is worth half a point with partial credit, more than what "
    "one right note is. Where full scores are rare the comparison was not made. Steps and sizes were set before these"
    " runs, and not changed after them. Another task was tried before, in which the user names two notes of four: its"
    " start, which was shown the wrong note half of the time, had not learned in 400 steps to find them (sampled "
    "0.16), and it was given up before an arm had ended; this one was chosen because the toy learned its "
    "demonstrations.")
