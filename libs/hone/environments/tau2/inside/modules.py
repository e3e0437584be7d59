"""The modules `tau2.…` as a domain's code imports them, made of `toolkit`; its own files lie below `tau2/domains`."""

import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict

from . import toolkit

_UTILS = {
    "DATA_DIR": toolkit.DATA_DIR, "load_file": toolkit.load_file, "get_dict_hash": toolkit.dict_hash,
    "get_pydantic_hash": toolkit.pydantic_hash, "update_pydantic_model_with_dict": toolkit.updated,
    "BaseModelNoExtra": toolkit.StrictModel}
_TOOLS = {"ToolKitBase": toolkit.DomainToolkit, "ToolType": toolkit.ToolType, "is_tool": toolkit.is_tool}
MODULES: dict[str, dict[str, Any]] = {
    "tau2": {}, "tau2.utils": _UTILS, "tau2.utils.utils": _UTILS, "tau2.utils.pydantic_utils": _UTILS,
    "tau2.utils.io_utils": _UTILS, "tau2.environment": {}, "tau2.environment.db": {"DB": toolkit.DomainDatabase},
    "tau2.environment.toolkit": _TOOLS, "tau2.environment.environment": {"Environment": toolkit.DomainWorld},
    "tau2.data_model": {}, "tau2.domains": {}}
_NAMED_ALONE = ("tau2.data_model.tasks", "tau2.data_model.message")
"""Modules whose models a domain names in annotations of what is never called here."""


class AnyModel(BaseModel):
    """Stands for a model of tasks or messages."""

    model_config = ConfigDict(extra="allow")


class _Silent:
    """Stands for loguru's logger."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def install() -> None:
    """Put the modules in the place of the package, once in a process."""
    if getattr(sys.modules.get("tau2.environment.toolkit"), "ToolKitBase", None) is toolkit.DomainToolkit:
        return
    for name, content in MODULES.items():
        module = _module(name)
        module.__dict__.update(content)
        module.__path__ = [os.path.join(os.getcwd(), *name.split("."))]
    for name in _NAMED_ALONE:
        _module(name).__getattr__ = lambda _: AnyModel  # type: ignore[method-assign]
    if importlib.util.find_spec("loguru") is None:
        _module("loguru").__dict__["logger"] = _Silent()


def _module(name: str) -> ModuleType:
    made = sys.modules[name] = ModuleType(name)
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, made)
    return made
