"""Plays the environment `mcp` with servers, and prints what came of each action: `python plays_mcp.py CASES`."""

import json
import sys
from contextlib import closing
from typing import Any

from hone.environments import tasks
from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign.places import LOOKUP, Kind, Place


class Places:
    """Finds the places of the cases."""

    def __init__(self, places: dict[str, Any]) -> None:
        self._places = places

    def place(self, name: str, protocol: Kind) -> Place:
        return Place(protocol=protocol, **self._places[name])


def played(name: str, actions: list[str]) -> list[str]:
    """Return what each action came to: the messages, or the kind of error with its words."""
    params = {"world": name, "tools": ["add", "divide"]} if name == "few" else {"world": name}
    one: Any = tasks.episode(tasks.make("mcp", params, 0, {"prompt": "two and two?", "answer": "4"}))
    said = list[str]()
    try:
        said.append(",".join(tool["function"]["name"] for tool in one.reset().tools or []))
        for action in actions:
            taken = one.step(action)
            said.append("".join(message["content"] for message in taken.observation.messages) or f"done {taken.done}")
        if name == "http":
            with closing(one.fork()) as other:
                assert other.state_hash() == one.state_hash()
    except (EpisodeFailed, EpisodeLost, WrongParams) as error:
        said.append(f"{type(error).__name__}: {error}")
    one.close()
    return said


if __name__ == "__main__":
    cases = json.loads(sys.argv[1])
    LOOKUP.atlas = Places(cases["places"])
    print(json.dumps([played(name, actions) for name, actions in cases["plays"]]))
