"""Environment variables whose values are in files: HONE_X_FILE=/path instead of HONE_X, for secrets."""

from collections.abc import Collection, Mapping
from pathlib import Path

from hone.spec.problems import Invalid, Problem

_FILE = "_FILE"


def from_files(environment: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return the environment with NAME for each NAME_FILE: the file's text without the newlines at its end.

    Only `names` may be in files. Raises Invalid for a file that cannot be read, and for a name that is given twice.
    """
    found, problems = dict(environment), []
    for name in sorted(name for name in names if name + _FILE in environment):
        path = found.pop(name + _FILE)
        if name in environment:
            problems.append(Problem(name + _FILE, f"{name} as well", f"only {name} or only {name}{_FILE}"))
            continue
        try:
            found[name] = Path(path).read_text().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(name + _FILE, f"{path}: {_reason(error)}", "a text file that can be read"))
    if problems:
        raise Invalid(problems)
    return found


def given_as(name: str, environment: Mapping[str, str]) -> str:
    """Return the variable that gives `name` its value: `name`, or the one with the file's path."""
    return name + _FILE if name + _FILE in environment else name


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "no text"
