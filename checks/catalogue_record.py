"""Writes the record of Hone's own catalogue members from pyproject.toml and the members.

`python -m checks.catalogue_record [--write]`: without --write nothing changes, and the exit status is 1 where a record
differs. The record lets lists, schemas and pages know members that no process has imported.
"""

import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from checks import rendered
from hone.algorithms.catalogue import MEMBERS
from hone.catalogue.catalogue import Catalogue
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders.catalogue import GRADERS
from hone.harnesses.catalogue import HARNESSES
from hone.spec.sinks import SINKS

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "libs" / "hone" / "catalogue" / "records"
CATALOGUES: Mapping[str, Catalogue[Any, Any]] = {
    one.group: one for one in (ENVIRONMENTS, GRADERS, HARNESSES, MEMBERS, SINKS)}


def tables(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """Return the members in pyproject.toml: group -> name -> `module:attribute`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    found: dict[str, dict[str, str]] = project["entry-points"]
    return found


def text(group: str, table: Mapping[str, str]) -> str:
    """Return the record of a group as JSON. Raises NoMember for a member that cannot be loaded."""
    catalogue = CATALOGUES[group]
    record = {name: {"target": target, "facts": asdict(catalogue.described(name, target))}
              for name, target in table.items()}
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    command = "python -m checks.catalogue_record --write"
    return max([rendered.main(RECORDS / f"{group}.json", text(group, table), command)
                for group, table in tables().items()])


if __name__ == "__main__":
    sys.exit(main())
