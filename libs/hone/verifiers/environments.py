"""Environments of the package `verifiers` by their ids, in either of its two interfaces."""

import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hone.verifiers.contract import Unservable, Verifier
from hone.verifiers.rubrics import RubricVerifier
from hone.verifiers.tasksets import TasksetVerifier


def loaded(name: str, settings: Mapping[str, Any]) -> Verifier:
    """Return the verifier of an environment or a taskset, such as `owner/name@1.0`. Raises Unservable."""
    if find_spec("verifiers") is None:
        raise Unservable("the package verifiers is not installed here: pip install 'hone-rl[verifiers]'")
    return RubricVerifier(name, settings) if _is_classic(name) else TasksetVerifier(name, settings)


def _is_classic(name: str) -> bool:
    """Return whether a module of that name makes environments itself, as those of the classic interface do."""
    module = name.rsplit("/", 1)[-1].split("@", 1)[0].replace("-", "_")
    try:
        return find_spec(module) is not None and inspect.isfunction(
            getattr(import_module(module), "load_environment", None))
    except Exception as error:
        raise Unservable(f"the module {module} cannot be imported: {type(error).__name__}: {error}") from error
