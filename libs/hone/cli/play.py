"""`hone play`: one task of an environment, step by step, in the terminal or from a file of lines."""

import json as jsonlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from hone.cli import connection
from hone.cli.chat import lines
from hone.cli.output import cell, note, say
from hone.cli.play_lines import COMMANDS, PlayLine, read
from hone.client import Client
from hone.client.errors import Conflict, Refused
from hone.client.play_resources import Play, PlayStep, Seen, TaskSplit
from hone.spec.problems import Invalid, Problem, found

_NO_SCORE = "no score of its own: the grader of a run decides"


def play(
    environment: Annotated[str | None, typer.Argument(
        help="Name of an environment (`hone environments`); left out, the rows of --dataset are questions.")] = None,
    params: Annotated[str, typer.Option("--with", help="Parameters of the environment, a JSON object.")] = "{}",
    dataset: Annotated[str | None, typer.Option(help="Dataset; the task is a row of it.")] = None,
    row: Annotated[int | None, typer.Option(min=1, help="Number of the row, from 1.", show_default="1")] = None,
    seed: Annotated[int | None, typer.Option(
        min=0, help="The first task that a run with this seed draws.", show_default="0")] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Draw a task of the held-out split.")] = False,
    noise: Annotated[str | None, typer.Option(
        "--noise-type", help="Type of noise, such as failure or user_ambiguity.")] = None,
    voice: Annotated[str | None, typer.Option(
        help="Judge (`hone judges list`) or model that finds the words of a user by a model.")] = None,
) -> None:
    """Play a task by hand. A line is a text or an action; /call, /tools, /state, /score and /quit are commands.

    `TOOL key=value …` is the call of a tool, too. Lines may be piped.
    """
    split: TaskSplit = "held_out" if held_out else "train"
    with connection.client() as client:
        begun = client.start_play(environment, _object(params), dataset, row, seed, split,
                                  {"types": [noise]} if noise else None, _voice(voice))
        try:
            _Game(client, begun, _voice(voice)).run()
        finally:
            client.end_play(begun.id)


def _object(text: str) -> dict[str, Any]:
    try:
        value = jsonlib.loads(text)
    except ValueError as error:
        raise Invalid([Problem("--with", found(text), f"a JSON object ({error})")]) from error
    if not isinstance(value, dict):
        raise Invalid([Problem("--with", found(text), "a JSON object")])
    return value


def _voice(name: str | None) -> dict[str, str] | None:
    return {"endpoint": name} if name else None


class _Game:
    """A session in the terminal."""

    def __init__(self, client: Client, begun: Play, voice: Mapping[str, str] | None) -> None:
        self._client, self._begun, self._voice = client, begun, voice
        self._seen: Seen = begun

    def run(self) -> None:
        """Take a step for each line, until the episode has ended, or nobody writes any more."""
        say(f"{self._begun.task.environment}, {self._begun.turns_left} turns left"
            + (f", noise {self._begun.task.noise['type']}" if self._begun.task.noise else ""))
        _show_messages(self._begun)
        self._show_tools()
        for line in lines():
            if self._taken(line):
                return
        note("the input has ended; the episode has not")

    def _taken(self, line: str) -> bool:
        """Do what a line says; return whether that was all. A line that is refused is told, and takes no step."""
        try:
            meant = read(line, self._seen.tools)
            if meant.command:
                return self._commanded(meant.command)
            return self._stepped(self._step(meant))
        except (Invalid, Refused) as wrong:
            note("\n".join(f"error: {one}" for one in wrong.problems))
        except Conflict as refused:
            note(f"error: {refused}")
        return False

    def _step(self, meant: PlayLine) -> PlayStep:
        session_id, index = self._begun.id, self._seen.next_index
        if meant.tool:
            return self._client.call_tool(session_id, index, meant.tool, meant.arguments, self._voice)
        return self._client.say(session_id, index, meant.text, self._voice)

    def _stepped(self, taken: PlayStep) -> bool:
        self._seen = taken
        _show_messages(taken)
        if not taken.valid:
            say("the environment did not understand this")
        if taken.injection is not None:
            say(f"noise: {taken.injection['type']}; without it: {taken.injection['original']}")
        paid = "" if taken.reward is None else f", reward {cell(taken.reward)}"
        say(f"ended: {taken.ended}{paid}" if taken.done else f"{taken.turns_left} turns left{paid}")
        if taken.done:
            self._show_score()
        return taken.done

    def _commanded(self, command: str) -> bool:
        if command == "/tools":
            self._show_tools()
        elif command == "/score":
            self._show_score()
        elif command == "/state":
            found_there = self._client.play_state(self._begun.id)
            say(f"{found_there.state_bytes} bytes, more than an answer has" if found_there.state is None
                else jsonlib.dumps(found_there.state, indent=2, ensure_ascii=False))
        return command == "/quit"

    def _show_tools(self) -> None:
        for tool in self._seen.tools:
            say(described(tool))
        if self._seen.admissible is not None:
            say(f"possible: {', '.join(self._seen.admissible)}")
        note("; ".join(f"{command} {meaning}" if command != "/call" else f"/call {meaning}"
                       for command, meaning in COMMANDS.items()))

    def _show_score(self) -> None:
        found_there = self._client.play_state(self._begun.id)
        if found_there.score is None:
            say(f"{_NO_SCORE} (here {jsonlib.dumps(found_there.grader)})")
        else:
            say(f"score {cell(found_there.score)}")
        for name, value in found_there.components.items():
            say(f"  {name:<16} {cell(value)}")


def described(tool: Mapping[str, Any]) -> str:
    """Return a tool in a line: its name, its arguments, those that may be left out in brackets, and what it does."""
    function = tool["function"]
    schema = function.get("parameters", {})
    names = [name if name in schema.get("required", []) else f"[{name}]" for name in schema.get("properties", {})]
    return f"{function['name']}({', '.join(names)})  {' '.join(function.get('description', '').split())}".rstrip()


def _show_messages(seen: Seen) -> None:
    for message in seen.messages:
        content = message.get("content")
        text = content if isinstance(content, str) else jsonlib.dumps(content, ensure_ascii=False)
        say(f"[{message['role']}] {text.rstrip()}")
