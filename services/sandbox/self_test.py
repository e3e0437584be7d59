"""A program that tries its own walls when the service starts, in the real cell, and what it has to find."""

import json
from typing import Any

from hone.sandbox.program import Ended, Limits
from services.sandbox.levels import ENVIRONMENT, STRONG, Level
from services.sandbox.requests import Asked, Done

PROCESSES = 4
SOURCE = """
import os, signal, socket

def works(what):
    try:
        what()
    except OSError:
        return False
    return True

def children():
    made = []
    try:
        while len(made) < 40:
            pid = os.fork()
            if not pid:
                signal.pause()
            made.append(pid)
    except OSError:
        pass
    for pid in made:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return len(made)

def find():
    with open("own", "w") as file:
        file.write("x")
    return {
        "pid": os.getpid(), "children": children(), "variables": sorted(os.environ),
        "network": works(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)),
        "processes": works(lambda: os.listdir("/proc/1")), "root": os.access("/", os.W_OK),
        "parent": os.getppid() != 0 and works(lambda: os.kill(os.getppid(), 0)),
    }
"""


def asked() -> Asked:
    """Return the program."""
    return Asked("find", {}, SOURCE.encode(), b"", [b"[]"], Limits(processes=PROCESSES))


def leaks(level: Level, done: Done) -> list[str]:
    """Return the forbidden abilities of a program of this level, none if its walls stand."""
    if done.status is not Ended.FINISHED or done.header["kinds"] != "V":
        return [f"its test did not run: {done.header.get('detail') or done.parts[2:]}"]
    found: dict[str, Any] = json.loads(done.parts[2])
    return [text for text, leak in _expectations(level, found).items() if leak]


def _expectations(level: Level, found: dict[str, Any]) -> dict[str, bool]:
    if level is Level.NONE:
        return {}
    variables = set(found["variables"]) - {"PWD", "LC_CTYPE"}
    limited = {"a program opened a socket": found["network"], "a program signalled its parent": found["parent"],
               f"a program of {PROCESSES} processes started more": found["children"] >= PROCESSES,
               "a program has variables of the service": not variables <= ENVIRONMENT.keys(),
               "a program may write to the root": found["root"]}
    if level not in STRONG:
        return limited
    return {**limited, "a program saw other processes": found["processes"],
            "a program is not alone among its processes": found["pid"] != 1}
