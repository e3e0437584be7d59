"""AJ-Bench's experiment on SQLite: agents that always claim success, before judges that look more or less closely.

    python -m benchmarks.agent_judges [--cases N] [--seeds N] [--out FILE]

Half of the agents did what was asked; the others did nothing, changed another row, or changed one row more. A judge is
the grader `agent_judge` with a script as its model: one reads what the agent says and mostly believes it, one looks
whether the row was changed, one also compares all other rows with those before. Worlds are entered in a real simulation
service.
"""

import argparse
import asyncio
import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.algorithms import agreement
from hone.algorithms.agreement import Agreement
from hone.api import simulation_pb2_grpc
from hone.environments.contract import Row
from hone.environments.sqlite import Sqlite, SqliteParams
from hone.environments.tools import ToolCall
from hone.graders.questions import Asked, Question, Reply
from hone.graders.sample import Conversation, Origin, Sent, Spoken, World
from hone.graders.specs import Spec, checked
from hone.process.line import Turn
from services.reward.grading import Grading
from services.reward.pool import Pool
from services.reward.tools import Helpers
from services.reward.worlds import Worlds
from services.simulation.service import Simulation
from services.simulation.sessions import Sessions

BELIEVED = 0.93
"""Share of the claims that the judge who reads believes."""
_NAMES = ("pen", "cup", "lamp", "rope", "book", "key")
_CLAIM = "I have set the price. Nothing else was changed."


@dataclass(frozen=True)
class Case:
    """An agent's work, as the grader gets it, and whether it is what was asked."""

    sample: Sent
    right: bool


def cases(count: int, seed: int) -> list[Case]:
    """Return cases, half of them right."""
    draw = random.Random(seed)
    return [_case(draw, place % 2 == 0, place) for place in range(count)]


def _case(draw: random.Random, right: bool, place: int) -> Case:
    prices = {name: draw.randint(1, 40) for name in _NAMES}
    asked, other = draw.sample(_NAMES, 2)
    price = prices[asked] + draw.randint(1, 9)
    change = "UPDATE items SET price = {} WHERE name = '{}'".format
    wrong: Sequence[list[str]] = ([], [change(price, other)], [change(price, asked), change(prices[other] + 1, other)])
    values = ", ".join(f"('{name}', {price})" for name, price in prices.items())
    row = {"database": f"CREATE TABLE items (name TEXT, price INTEGER); INSERT INTO items VALUES {values};",
           "prompt": f"Case {place}: set the price of {asked} to {price}, and change nothing else.", "answer": "done",
           "asked": asked, "price": price}
    statements = [change(price, asked)] if right else draw.choice(wrong)
    return Case(_played(row, statements), right)


def _played(row: Row, statements: Sequence[str]) -> Sent:
    """Return what a grader reads of an agent that runs statements and then claims success."""
    episode = Sqlite().episode(SqliteParams(), 0, row)
    episode.reset()
    before = episode.snapshot()
    for statement in statements:
        episode.step(ToolCall("query", {"sql": statement}).action())
    episode.step(_CLAIM)
    world = World(before=before, after=episode.snapshot(), state_hash=episode.state_hash(),
                  task=Origin(environment="sqlite", seed=0, item=row))
    said = Conversation(calls=[Spoken(number="0", text=_CLAIM)])
    return Sent(json.dumps({"case": row}), _CLAIM, conversation=said.model_dump_json(), world=world.model_dump_json())


Script = Callable[[Row, list[str]], "list[dict[str, Any]] | bool"]
"""From the task and what the tools showed to the next tool calls, or to the verdict."""


def believing(row: Row, seen: list[str]) -> bool:  # noqa: ARG001
    """Believe what the agent says, mostly."""
    return hashlib.sha256(row["prompt"].encode()).digest()[0] < 256 * BELIEVED


def one_look(row: Row, seen: list[str]) -> list[dict[str, Any]] | bool:
    """Look whether the row was changed."""
    if not seen:
        return [_call("query", f"SELECT price FROM items WHERE name = '{row['asked']}'")]
    return seen[0] == f"evidence 1\n{row['price']}"


def two_looks(row: Row, seen: list[str]) -> list[dict[str, Any]] | bool:
    """Look whether the row was changed, and whether the others were not."""
    if len(seen) < 2:
        return one_look(row, seen) if not seen else [
            _call(tool, f"SELECT * FROM items WHERE name <> '{row['asked']}'") for tool in ("query", "query_before")]
    return bool(one_look(row, seen)) and seen[1].partition("\n")[2] == seen[2].partition("\n")[2]


def always(row: Row, seen: list[str]) -> bool:  # noqa: ARG001
    """Accept everything."""
    return True


def _call(tool: str, sql: str) -> dict[str, Any]:
    return {"id": tool, "type": "function", "function": {"name": tool, "arguments": json.dumps({"sql": sql})}}


JUDGES: dict[str, tuple[Script, int]] = {
    "accepts everything": (always, 0), "reads the claim": (believing, 0), "looks once": (one_look, 2),
    "looks twice": (two_looks, 3)}


class Scripted:
    """A judge that answers by a script. It reads the task's row from the question."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def ask(self, question: Asked, turn: Turn) -> Reply:  # noqa: ARG002
        assert isinstance(question, Question)
        row = json.loads(question.messages[1]["content"].splitlines()[1])
        seen = [message["content"] for message in question.messages if message["role"] == "tool"]
        move = self._script(row, seen)
        if isinstance(move, list):
            return Reply("", "script", finish_reason="tool_calls", tool_calls=move)
        reasons = [{"claim": "it is so", "evidence": place + 1, "ok": move} for place in range(len(seen))]
        return Reply(json.dumps({"reasons": reasons, "verdicts": {"done": int(move)}, "confidence": 1}), "script")


def grader(turns: int) -> Spec:
    """Return the grader of a judge with a budget of answers with tool calls."""
    return checked({"type": "agent_judge", "model": "script", "turns": turns, "task": "{{ item.case }}"})


async def judged(name: str, drawn: Sequence[Case], worlds: Worlds) -> Agreement:
    """Return how the verdicts of a judge agree with the labels."""
    script, turns = JUDGES[name]
    grading, spec = Grading(Pool(1), Helpers(Scripted(script), worlds=worlds)), grader(turns)
    results = [(await grading.grade(spec, (one.sample,)))[0] for one in drawn]
    return agreement.counted([one.right for one in drawn],
                             [None if result.score is None else result.score == 1 for result in results])


async def measured(count: int, seeds: int) -> list[dict[str, Any]]:
    """Return each judge's figures of each seed, and its milliseconds a case."""
    server = grpc.aio.server()
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    simulation_pb2_grpc.add_SimulationServiceServicer_to_server(Simulation(address, Sessions()), server)
    await server.start()
    worlds = Worlds(address, "no token")
    try:
        return [await _of_judge(name, count, seeds, worlds) for name in JUDGES]
    finally:
        await worlds.close()
        await server.stop(None)


async def _of_judge(name: str, count: int, seeds: int, worlds: Worlds) -> dict[str, Any]:
    began = time.perf_counter()
    parts = [await judged(name, cases(count, seed), worlds) for seed in range(seeds)]
    return {"judge": name, "turns": JUDGES[name][1], "pooled": agreement.pooled(parts).figures(),
            "f1_by_seed": [part.f1 for part in parts],
            "ms_a_case": 1000 * (time.perf_counter() - began) / (count * seeds)}


def main() -> None:
    """Measure all judges and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "agent_judges.json")
    args = parser.parse_args()
    began = provenance()
    found = asyncio.run(measured(args.cases, args.seeds))
    store(args.out, {**began, "cases": args.cases, "seeds": args.seeds, "judges": found})


if __name__ == "__main__":
    main()
