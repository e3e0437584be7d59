"""A domain in tau2-bench's format: immutable, named by the digest of its files.

Its files have the paths of the benchmark's repository: `data/tau2/domains/NAME/…` holds policy, database, tasks and
splits, `src/tau2/domains/NAME/…` the code. What its code offers and does is found once, in the sandbox, and kept beside
the files (`Findings`).
"""

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from hone.environments.packages.package import WrongPackage
from hone.environments.tau2.task import DomainTask
from hone.spec import strict_json
from hone.spec.findings import expectation
from hone.spec.problems import unstorable

DATA, CODE = "data/tau2/domains", "src/tau2/domains"
TASKS, SPLITS = "tasks.json", "split_tasks.json"
_DATABASES = ("db.json", "user_db.json")
MOST_BYTES, MOST_FILES, _MOST_CODE = 64 * 2**20, 240, 2**20
_LONGEST_PATH = 150
_ENDINGS = (".json", ".toml", ".yaml", ".yml", ".md", ".txt", ".py")


@dataclass(frozen=True)
class Proof:
    """Effect of a task's gold actions. Hashes are of the agent's and the user's database."""

    start: Sequence[str | None]
    gold: Sequence[str | None]
    assertions: Sequence[bool]  # whether each holds at the beginning
    problems: Sequence[str] = ()  # why the task is not proven; empty: it is
    remarks: Sequence[str] = ()  # gold actions that failed and could change nothing


@dataclass(frozen=True)
class Findings:
    """Content of a domain's code, tools in OpenAI's format, and the proof of each task by its id."""

    policy: str
    tools: Sequence[Mapping[str, Any]]
    user_tools: Sequence[Mapping[str, Any]] | None
    tables: Sequence[str]
    proofs: Mapping[str, Proof] = field(default_factory=dict)


@dataclass(frozen=True)
class ServiceDomain:
    """A domain. Equal files have equal digests."""

    name: str
    files: Mapping[str, bytes]
    tasks: Sequence[DomainTask]
    splits: Mapping[str, Sequence[str]]
    findings: Findings | None = None  # None: it was read, and not yet run

    @cached_property
    def digest(self) -> str:
        """The sha256 of its files, hex."""
        each = {path: hashlib.sha256(data).hexdigest() for path, data in self.files.items()}
        return hashlib.sha256(json.dumps(each, sort_keys=True).encode()).hexdigest()

    @cached_property
    def played_files(self) -> dict[str, bytes]:
        """The files that its code may read while it runs: no tasks, and so no gold actions."""
        return {path.removeprefix("src/"): data for path, data in self.files.items()
                if PurePosixPath(path).name not in (TASKS, SPLITS)}

    @cached_property
    def by_id(self) -> dict[str, DomainTask]:
        return {task.id: task for task in self.tasks}

    @property
    def found(self) -> Findings:
        """Its findings. Raises ValueError where it was never run."""
        if self.findings is None:
            raise ValueError(f"the domain {self.name} was never run")
        return self.findings

    def with_findings(self, findings: Findings) -> "ServiceDomain":
        return replace(self, findings=findings)


def read(files: Mapping[str, bytes]) -> ServiceDomain:
    """Return the domain of files. Raises WrongPackage with the file, the task and the field."""
    name = _name(files)
    _check_files(files)
    at = f"{DATA}/{name}/{TASKS}"
    if at not in files:
        raise WrongPackage("files", sorted(files)[:20], f"also {at}")
    if not {f"{CODE}/{name}/tools.py", f"{CODE}/{name}/environment.py"} & set(files):
        raise WrongPackage("files", sorted(files)[:20], f"also {CODE}/{name}/tools.py, or environment.py in the same "
                           "folder")
    for path in [path for path in files if PurePosixPath(path).name in _DATABASES and path.startswith(DATA)]:
        _json(files[path], PurePosixPath(path).name)
    tasks = _tasks(files[at])
    splits = _splits(files.get(f"{DATA}/{name}/{SPLITS}"), {task.id for task in tasks})
    return ServiceDomain(name, dict(files), tasks, splits)


def _name(files: Mapping[str, bytes]) -> str:
    inside = {path: PurePosixPath(path).parts for path in files if path.startswith((f"{DATA}/", f"{CODE}/"))}
    names = {parts[3] for parts in inside.values() if len(parts) > 4}
    outside = [path for path in files if path not in inside or len(inside[path]) <= 4]
    if outside or len(names) != 1 or not (name := min(names)).isidentifier():
        raise WrongPackage("files", outside[:5] or sorted(names), f"files of one domain, below {DATA}/NAME and "
                           f"{CODE}/NAME, where NAME is a name in Python")
    return name


def _check_files(files: Mapping[str, bytes]) -> None:
    if (size := sum(map(len, files.values()))) > MOST_BYTES or len(files) > MOST_FILES:
        raise WrongPackage("files", f"{len(files)} files of {size} bytes", f"at most {MOST_FILES} of {MOST_BYTES}")
    for path, data in files.items():
        parts = PurePosixPath(path).parts
        if len(path.encode()) > _LONGEST_PATH or ".." in parts or PurePosixPath(path).suffix not in _ENDINGS:
            raise WrongPackage("files", path, f"a path of at most {_LONGEST_PATH} bytes that ends with one of "
                               f"{' '.join(_ENDINGS)}")
        if path.endswith(".py"):
            _check_code(path, data)


def _check_code(path: str, data: bytes) -> None:
    if len(data) > _MOST_CODE:
        raise WrongPackage(path, f"{len(data)} bytes", f"at most {_MOST_CODE} of a Python file")
    try:
        ast.parse(data, path)
    except SyntaxError as error:
        at = f"{path}:{error.lineno}" if error.lineno else path
        raise WrongPackage(at, error.msg, "code in Python") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise WrongPackage(path, str(error), "code in Python") from error


def _tasks(data: bytes) -> tuple[DomainTask, ...]:
    given = _json(data, TASKS)
    for wrong in unstorable(given, TASKS)[:1]:
        raise WrongPackage(wrong.field, wrong.found, wrong.expected)
    listed = given.get("tasks") if isinstance(given, dict) else given
    if not isinstance(listed, list) or not listed:
        raise WrongPackage(TASKS, str(given)[:100], "a list of at least one task")
    tasks = tuple(_task(one, place) for place, one in enumerate(listed))
    ids = [task.id for task in tasks]
    if len(set(ids)) < len(ids):
        raise WrongPackage(f"{TASKS}.id", next(one for one in ids if ids.count(one) > 1), "an id of its own for each "
                           "task")
    return tasks


def _task(given: Any, place: int) -> DomainTask:
    try:
        return DomainTask.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        known = given.get("id") if isinstance(given, dict) else None
        who = known if isinstance(known, str) else str(place)
        path = [str(part) for part in first["loc"] if part not in ("Instructions", "str")]  # the sides of a choice
        found = None if first["type"] == "missing" else first["input"]
        if first["type"] == "misspelt":
            path, found = [*path, first["ctx"]["key"]], first["input"][first["ctx"]["key"]]
        raise WrongPackage(".".join([TASKS, who, *path]), found, expectation(first)) from error


def _splits(data: bytes | None, known: set[str]) -> dict[str, list[str]]:
    given = {} if data is None else _json(data, SPLITS)
    if not isinstance(given, dict):
        raise WrongPackage(SPLITS, str(given)[:100], "ids of tasks by the name of a split")
    for name, ids in given.items():
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise WrongPackage(f"{SPLITS}.{name}", str(ids)[:100], "a list of ids of tasks")
        if unknown := [one for one in ids if one not in known]:
            raise WrongPackage(f"{SPLITS}.{name}", unknown[0], f"ids of tasks in {TASKS}")
    return given


def _json(data: bytes, at: str) -> Any:
    try:
        read = strict_json.read(data)
    except ValueError as error:
        raise WrongPackage(at, data[:100], f"JSON ({error})") from error
    return read
