"""Names that a domain's code imports from `tau2`: tools, databases and the environment that holds both.

The interface is that of the package (MIT), written anew from its documentation and its published domains.
"""

import copy
import hashlib
import inspect
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

DATA_DIR = Path(os.getcwd()) / "data"
_MARK, _KIND = "__tool__", "__tool_type__"
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params|Returns?|Yields|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
Model = TypeVar("Model", bound=BaseModel)
Function = TypeVar("Function", bound=Callable[..., Any])


class Fault(Exception):
    """A file of the domain is wrong. Holds the field, what was found and what is expected."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {str(found)[:200]!r}, expected {expected}")
        self.field, self.found, self.expected = field, str(found)[:200], expected


class ToolType(str, Enum):  # noqa: UP042  # domains compare its values with texts
    """Effect of a tool."""

    READ = "read"
    WRITE = "write"
    THINK = "think"
    GENERIC = "generic"


def is_tool(tool_type: ToolType = ToolType.READ, **_: Any) -> Callable[[Function], Function]:
    """Make a method a tool. Raises Fault for `@is_tool` without brackets, which would make none."""
    if not isinstance(tool_type, str):
        name = getattr(tool_type, "__name__", tool_type)
        raise Fault(f"{name}", "@is_tool", "@is_tool(ToolType.READ), or of another type")

    def marked(function: Function) -> Function:
        setattr(function, _MARK, True)
        setattr(function, _KIND, tool_type)
        return function
    return marked


class StrictModel(BaseModel):
    """A model without other fields (BaseModelNoExtra)."""

    model_config = ConfigDict(extra="forbid")


class DomainDatabase(StrictModel):
    """Base of a domain's database (DB)."""

    @classmethod
    def load(cls, path: str | Path) -> Any:
        """Return the database of a file. Raises Fault with its first wrong field."""
        data = load_file(path)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join([Path(path).name, *map(str, first["loc"])])
            raise Fault(field, first["input"], first["msg"].removeprefix("Input should be ")) from error

    def get_hash(self) -> str:
        return dict_hash(self.model_dump())


class DomainToolkit:
    """Base of a domain's tools (ToolKitBase): its marked methods, which work on `db`."""

    def __init__(self, db: Any = None) -> None:
        self.db = db

    @property
    def tools(self) -> dict[str, Callable[..., Any]]:
        """Tools by name: those of the class first, in their order, then those of its bases."""
        found = [name for kind in type(self).__mro__ for name, value in vars(kind).items() if hasattr(value, _MARK)]
        return {name: getattr(self, name) for name in dict.fromkeys(found)}

    def has_tool(self, tool_name: str) -> bool:
        return tool_name in self.tools

    def tool_type(self, tool_name: str) -> Any:
        return getattr(self.tools[tool_name], _KIND)

    def use_tool(self, tool_name: str, **arguments: Any) -> Any:
        tools = self.tools
        if tool_name not in tools:
            raise ValueError(f"Tool '{tool_name}' not found.")
        return tools[tool_name](**arguments)

    def get_tools(self) -> dict[str, dict[str, Any]]:
        return {name: self._described(name, tool) for name, tool in self.tools.items()}

    def _described(self, name: str, tool: Callable[..., Any]) -> dict[str, Any]:
        try:
            return described(name, tool)
        except Exception as error:  # of annotations and defaults: pydantic's and the domain's own
            at, said = type(self).__module__.rpartition(".")[2], " ".join(str(error).split())
            raise Fault(f"{at}.py.{name}", f"{type(error).__name__}: {said}", "parameters that have a JSON "
                        "schema") from error

    def update_db(self, update_data: Mapping[str, Any] | None = None) -> None:
        """Merge values into the database, objects key by key."""
        if self.db is None:
            raise ValueError("Database has not been initialized.")
        self.db = updated(self.db, update_data or {})

    def get_db_hash(self) -> str | None:
        return None if self.db is None else dict_hash(self.db.model_dump())


class DomainWorld:
    """Base of a domain's environment (Environment): a policy, the agent's tools, and perhaps the user's."""

    def __init__(self, domain_name: str, policy: str, tools: Any = None, user_tools: Any = None,
                 solo_mode: bool = False) -> None:
        self.domain_name, self.policy, self.tools, self.user_tools = domain_name, policy, tools, user_tools
        self.solo_mode = solo_mode

    def set_solo_mode(self, solo_mode: bool) -> None:
        self.solo_mode = solo_mode

    def sync_tools(self) -> None:
        """Bring both databases into agreement, where a domain says how."""


def described(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return a tool in OpenAI's format of functions: from its signature and the sections of its docstring."""
    description, arguments = _documented(function)
    fields: dict[str, Any] = {}
    for key, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind = Any if parameter.annotation is parameter.empty else parameter.annotation
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # no call names it
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[key] = (kind, Field(default, description=arguments.get(key)))
    model: type[BaseModel] = create_model("parameters", **fields)
    schema = model.model_json_schema()
    return {"type": "function", "function": {
        "name": name, "description": description or name,
        "parameters": {"properties": {}, **schema, "required": schema.get("required", [])}}}


def _documented(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return a function's description and that of each argument."""
    head, arguments, section, last = list[str](), dict[str, str](), "", ""
    for line in (inspect.getdoc(function) or "").splitlines():
        if found := _SECTION.match(line):
            section = found[1]
        elif not section:
            head.append(line)
        elif section in ("Args", "Arguments", "Parameters", "Params") and line.strip():
            one = _ARGUMENT.match(line.strip())
            if one and (len(line) - len(line.lstrip()) <= 4 or not last):
                last, arguments[one[1]] = one[1], one[2]
            elif last:
                arguments[last] = f"{arguments[last]}\n{line.strip()}"
    first, *others = head or [""]
    return "\n\n".join(filter(None, [first.strip(), "\n".join(others).strip()])), arguments


def load_file(path: str | Path, **options: Any) -> Any:
    """Return the content of a file by the ending of its name. Raises Fault."""
    found = Path(path)
    try:
        text = found.read_text(encoding="utf-8")
        if found.suffix == ".json":
            return json.loads(text, **options)
        if found.suffix == ".toml":
            return copy.deepcopy(_of_toml(text))
        if found.suffix in (".yaml", ".yml"):
            import yaml
            return yaml.safe_load(text)
    except FileNotFoundError as error:
        raise Fault(found.name, "no such file", "a file of the domain") from error
    except ValueError as error:
        raise Fault(found.name, str(error), f"a {found.suffix[1:]} file") from error
    return text


@cache
def _of_toml(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def dict_hash(value: Any) -> str:
    """Return the hash of a database's values, as tau2-bench compares them."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def pydantic_hash(model: BaseModel) -> str:
    return dict_hash(model.model_dump())


def updated(model: Model, values: Mapping[str, Any]) -> Model:
    """Return a model with values merged into it, objects key by key."""
    return type(model).model_validate(_merged(model.model_dump(), values))


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, Mapping):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
