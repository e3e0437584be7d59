"""Secrets of the stack that this process must not hold: it forgets those that its environment has, when it starts.

An embedded stack gives each process the same environment.
"""

from collections.abc import Iterable, Mapping

_KEPT = ("HONE_STACK_TOKEN", "HONE_STACK_TOKEN_FILE")
_PARTS = ("PASSWORD", "SECRET", "TOKEN", "KEY", "CREDENTIAL", "DATABASE_URL", "OBJECTS_URL", "BROKER_URL",
          "EMBEDDINGS_URL")


def held(environment: Mapping[str, str]) -> list[str]:
    """Return the variables that have, or name, secrets."""
    return [name for name, value in environment.items()
            if value and name not in _KEPT and any(part in name.upper() for part in _PARTS)]


def without(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without some variables."""
    gone = set(names)
    return {name: value for name, value in environment.items() if name not in gone}
