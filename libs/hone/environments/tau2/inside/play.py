"""Plays a domain: its environment is made anew for each program, and the calls so far are repeated in it.

What is asked and answered is JSON. A state is the task and the calls that led to it, as in tau2-bench, whose grading
repeats them too.
"""

import hashlib
import importlib
import json
import random
import typing
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from . import modules
from .toolkit import DATA_DIR, DomainDatabase, DomainToolkit, DomainWorld, Fault, ToolType, load_file

_ENDINGS = (".json", ".toml", ".yaml", ".yml")
Given = Mapping[str, Any]
_STARTS: dict[str, list[str | None]] = {}
"""Hashes of first states by the initial state, in this process: of a large database they take long."""
_REPEATED: set[tuple[str, str]] = set()
"""Tools that left the same state again, in this process."""


def run(operation: str, asked: Given) -> Any:
    """Return the result of an operation, or the fault of a file: [field, found, expected]."""
    modules.install()
    try:
        return {"examine": examined, "prove": proven, "play": played}[operation](asked)
    except Fault as fault:
        return {"fault": [fault.field, fault.found, fault.expected]}


def examined(asked: Given) -> Any:
    """Return the content of a domain: policy, tools and tables."""
    world = _world(asked["domain"])
    kits = [kit and list(kit.get_tools().values()) for kit in (world.tools, world.user_tools)]
    tables = [] if world.tools.db is None else list(world.tools.db.model_dump())
    return {"policy": str(world.policy), "tools": kits[0], "user_tools": kits[1], "tables": tables}


def proven(asked: Given) -> Any:
    """Return the effect of a task's gold actions: the states before and after, faults, and mere failures."""
    world, actions = _begun(asked), asked["actions"]
    key = json.dumps(asked["state"], sort_keys=True)
    start = _STARTS[key] = _STARTS.get(key) or _hashes(world)
    failed = list(_gold(world, actions))
    gold, met = _hashes(world) if actions else start, _met(world, asked["assertions"])
    problems = [said for said, writes in failed if writes]
    if gold != start and asked["compared"] and not _repeats(asked, gold):
        problems.append("evaluation_criteria.actions: they leave another state each time")
    problems += [f"evaluation_criteria.env_assertions.{place}: {said} after the gold actions"
                 for place, said in enumerate(met) if said is not True and asked["asserted"]]
    first = _met(_begun(asked), asked["assertions"]) if asked["assertions"] else []
    return {"start": start, "assertions": [one is True for one in first], "gold": gold, "problems": problems,
            "remarks": [said for said, writes in failed if not writes]}


def _repeats(asked: Given, gold: Sequence[str | None]) -> bool:
    """Return whether gold actions leave the same state again. Tools that did so before are not tried once more."""
    tools = {(action["requestor"], action["name"]) for action in asked["actions"]}
    if tools <= _REPEATED:
        return True
    again = _begun(asked)
    for _ in _gold(again, asked["actions"]):
        pass
    if same := _hashes(again) == gold:
        _REPEATED.update(tools)
    return same


def played(asked: Given) -> Any:
    """Return the answer to the last call, and the state after it.

    `before` and `after` are hashes of what all calls said, without the last and with it.
    """
    world, before, after, said, failed = _begun(asked), "", "", "", False
    for requestor, name, arguments in asked["calls"]:
        said, failed = _called(world, requestor, name, arguments)
        before, after = after, hashlib.sha256(f"{after}\n{said}".encode()).hexdigest()
    return {"said": said, "failed": failed, "before": before, "after": after, "hashes": _hashes(world),
            "assertions": [one is True for one in _met(world, asked["assertions"])]}


def _world(domain: str) -> Any:
    """Return the environment of a domain: of its `environment.py`, or made of its tools and files."""
    random.seed(0)
    if _has(domain, "environment"):
        return _code(domain, "environment").get_environment()
    toolkit = _made(domain, "tools", "db")
    user = _made(domain, "user_tools", "user_db") if _has(domain, "user_tools") else None
    return DomainWorld(domain, load_file(_folder(domain) / "policy.md"), toolkit, user)


def _made(domain: str, module: str, stem: str) -> Any:
    """Return the tools of a module, with the database of a file."""
    code = _code(domain, module)
    kits = [one for one in vars(code).values() if isinstance(one, type) and issubclass(one, DomainToolkit)
            and one.__module__ == code.__name__]
    if not kits:
        raise Fault(f"{module}.py", "no class of tools", "a class of ToolKitBase")
    path = next((path for ending in _ENDINGS if (path := _folder(domain) / f"{stem}{ending}").exists()), None)
    model = typing.get_type_hints(kits[-1]).get("db")
    if path is None:
        raise Fault(f"{stem}.json", "no such file", f"the database of {module}.py, also {stem}.toml or {stem}.yaml")
    if not (isinstance(model, type) and issubclass(model, DomainDatabase)):
        raise Fault(f"{module}.py", f"{kits[-1].__name__}.db: {model}", "a class of DB")
    return kits[-1](model.load(path))


def _folder(domain: str) -> Path:
    return DATA_DIR / "tau2" / "domains" / domain


def _has(domain: str, module: str) -> bool:
    return Path("tau2", "domains", domain, f"{module}.py").exists()


def _code(domain: str, module: str) -> Any:
    return importlib.import_module(f"tau2.domains.{domain}.{module}")


def _begun(asked: Given) -> Any:
    """Return the environment in a task's first state."""
    world, state = _world(asked["domain"]), asked["state"]
    data = state.get("initialization_data") or {}
    for kit, part in ((world.tools, "agent_data"), (world.user_tools, "user_data")):
        if data.get(part) is not None:
            with _named(f"initial_state.initialization_data.{part}"):
                _expected(kit).update_db(data[part])
    for place, one in enumerate(state.get("initialization_actions") or []):
        with _named(f"initial_state.initialization_actions.{place}"):
            _function(world, one)
    for place, call, answer in _history(state.get("message_history") or []):
        said, _ = _called(world, call.get("requestor", "assistant"), call["name"], call["arguments"])
        if _value(said) != _value(answer.get("content")):
            raise Fault(f"initial_state.message_history.{place}", answer.get("content"), f"what the tool answers: "
                        f"{said[:200]}")
    world.sync_tools()
    return world


class _named:  # noqa: N801  # used as a statement
    """Says of an error at which field it was raised."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, Fault):
            said = " ".join(str(error).split())
            raise Fault(self._field, f"{type(error).__name__}: {said}", "what the domain's code takes") from error


def _expected(kit: Any) -> Any:
    """Return tools. Raises ValueError where a domain has none for the user."""
    if kit is None:
        raise ValueError("the domain has no tools of the user (user_tools.py)")
    return kit


def _history(messages: Sequence[Given]) -> Iterator[tuple[int, Given, Given]]:
    """Yield the calls of a message history with the places of their answers, and these."""
    waiting = list[Given]()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if not waiting or waiting[0].get("id", "") != message.get("id"):
                raise Fault(f"initial_state.message_history.{place}.id", message.get("id"), "the id of the call before")
            yield place, waiting.pop(0), message
        elif waiting:
            raise Fault(f"initial_state.message_history.{place}.role", message["role"], "tool: a call has no answer")
        else:
            waiting = list(message.get("tool_calls") or [])
    if waiting:
        raise Fault(f"initial_state.message_history.{len(messages) - 1}", "a call", "its answer behind it")


def _called(world: Any, requestor: str, name: str, arguments: Given) -> tuple[str, bool]:
    """Return the answer to a call, and whether it failed. Its errors are said, as in tau2-bench."""
    kit = world.user_tools if requestor == "user" else world.tools
    try:
        value = _expected(kit).use_tool(name, **arguments)
        world.sync_tools()
        return _text(value), False
    except Exception as error:  # what the domain's code raises is for whoever called
        return f"Error: {error}", True


def _gold(world: Any, actions: Sequence[Given]) -> Iterator[tuple[str, bool]]:
    """Make the gold actions, and yield what fails of them, and whether it is a tool that writes.

    A tool that only reads cannot have changed the state that is left, as tau2-bench has it.
    """
    for place, action in enumerate(actions):
        name, kit = action["name"], world.user_tools if action["requestor"] == "user" else world.tools
        try:
            _expected(kit).use_tool(name, **action["arguments"])
            world.sync_tools()
        except Exception as error:  # the domain's own
            reads = kit is not None and kit.has_tool(name) and kit.tool_type(name) is not ToolType.WRITE
            yield f"evaluation_criteria.actions.{place} ({name}): {type(error).__name__}: {error}", not reads


def _function(world: Any, one: Given) -> Any:
    kit = world.user_tools if one["env_type"] == "user" else world.tools
    value = getattr(_expected(kit), one["func_name"])(**one["arguments"])
    world.sync_tools()
    return value


def _met(world: Any, assertions: Sequence[Given]) -> list[Any]:
    """Return for each assertion True, or what it found otherwise."""
    met = list[Any]()
    for one in assertions:
        try:
            value = _function(world, one)
        except Exception as error:  # the domain's own
            met.append(f"{one['func_name']} raised {type(error).__name__}: {error}")
            continue
        met.append(True if value is one["assert_value"] else f"{one['func_name']} found {value}, expected "
                   f"{one['assert_value']},")
    return met


def _hashes(world: Any) -> list[str | None]:
    return [kit and kit.get_db_hash() for kit in (world.tools, world.user_tools)]


def _text(value: Any) -> str:
    """Return a tool's value as the text that is shown: JSON, whose plain values are texts, as in tau2-bench."""
    return value if isinstance(value, str) else json.dumps(_plain(value), default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        return str(value)
    raise ValueError(f"Unsupported type: {type(value)}")


def _value(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
