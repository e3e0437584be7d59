"""The setting of memory: MiB for every process, or for kinds of processes, such as 4096,rollout=2048."""

from collections.abc import Mapping

ALL = ""
"""Stands for the kinds that the setting does not name."""
LEAST_MB = 64


def parse(text: str) -> Mapping[str, int]:
    """Return MiB by kind. Raises ValueError."""
    found = dict[str, int]()
    for part in filter(None, map(str.strip, text.split(","))):
        kind, _, number = part.rpartition("=")
        if not number.isascii() or not number.isdecimal() or int(number) < LEAST_MB or kind in found:
            raise ValueError(f"expected MiB of at least {LEAST_MB}, for all processes or for a kind once, such as "
                             "4096,rollout=2048")
        found[kind] = int(number)
    return found


def limit(text: str, kind: str) -> int | None:
    """Return the MiB that a process of a kind may have; None without a limit."""
    limits = parse(text)
    return limits.get(kind, limits.get(ALL))
