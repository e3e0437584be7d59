"""Harnesses of a user's own: classes of packages that are installed beside Hone, allowed by a setting."""

from importlib import import_module
from typing import Any

from hone.harnesses.catalogue import HARNESSES, lacks
from hone.spec.problems import Invalid, Problem

VARIABLE = "HONE_HARNESSES"


def add(names: str) -> None:
    """Import the named harnesses, `module:Class` and commas between them; a run may then name each of them so.

    Raises Invalid for the first one that cannot be imported or is no harness.
    """
    for name in filter(None, map(str.strip, names.split(","))):
        HARNESSES[name] = _imported(name)


def _imported(name: str) -> Any:
    module, separator, kind = name.partition(":")
    if not (module and separator and kind.isidentifier()):
        raise Invalid([Problem(VARIABLE, name, "module:Class")])
    try:
        harness = getattr(import_module(module), kind)()
    except Exception as error:
        raise Invalid([Problem(VARIABLE, name, f"a class that can be imported and made without arguments, not "
                               f"{type(error).__name__}: {error}")]) from error
    if lacking := lacks(harness):
        raise Invalid([Problem(VARIABLE, name, f"a harness: it lacks {lacking}")])
    return harness
