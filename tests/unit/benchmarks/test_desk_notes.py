"""Notes on a desk: tasks pass the gates of written ones, and demonstrations are what the desk says to their turns."""

import random
from statistics import fmean

from benchmarks.through_services import desk_notes
from benchmarks.through_services.desk_notes import HARNESS, PARAMS, TASK, demonstrations, rows, written
from hone.environments.desk.environment import Desk, DeskParams
from hone.environments.desk.written import WrittenTask
from hone.environments.desk.written_gates import written_gates
from hone.environments.tasks import make
from hone.harnesses.tool_loop import ToolLoopParams, actions
from hone.models import toy
from hone.text.tokenizer import Tokenizer

LINE = ToolLoopParams(**HARNESS["params"])


def test_tasks_pass_the_gates_and_differ() -> None:
    found = list(rows(60, 1))
    for row in found[:8]:
        gates = written_gates(WrittenTask.model_validate(row["task"]))
        assert [one for one in gates if not one.passed] == []
    hashes = {make("desk", dict(PARAMS), 0, row).content_hash for row in (*found, *rows(60, 2))}
    assert len(hashes) == 120


def test_a_demonstration_is_what_the_desk_says_to_its_turns() -> None:
    scores = {share: fmean(_score(row, place) for place, row in enumerate(demonstrations(30, *share)))
              for share in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.3, 0.25))}
    assert (scores[0.0, 0.0], scores[0.0, 1.0]) == (1.0, 0.5)
    assert scores[1.0, 0.0] < scores[0.3, 0.25] < 0.8


def _score(row: dict[str, object], place: int) -> float:
    task = written(random.Random(f"shown notes 0 {place}"))
    world = Desk().episode(DeskParams.model_validate(PARAMS), 0, {"task": task.model_dump(mode="json")})
    seen = world.reset()
    messages = list(seen.messages)
    shown = row["messages"]
    assert isinstance(shown, list)
    for turn in [one for one in shown if one["role"] == "assistant"]:
        [action] = actions(LINE, turn["content"], seen.tools or [])
        messages += [turn, *world.step(action).observation.messages]
    assert messages == shown
    return float(world.verify() or 0)


def test_an_episode_is_fifty_tokens() -> None:
    files = toy.files(**desk_notes.POLICY)
    tokenizer = Tokenizer({name: data for name, data in files.items() if name.endswith(".json")})
    [row] = demonstrations(1, careless=0.0, eager=0.0)
    tokens = [len(tokenizer.encode(message["content"])) for message in row["messages"]]
    assert (sum(tokens) < 50, max(tokens[1::2])) == (True, 2)
    assert TASK["params"] == PARAMS
