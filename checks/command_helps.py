"""Writes the help that `hone --help` lists, from the commands: `python -m checks.command_helps [--write]`.

Without --write nothing changes, and the exit status is 1 where a command's help differs.
"""

import json
import sys
from pathlib import Path

from checks import rendered
from hone.cli.loading import Listed
from hone.cli.main import Root

HELPS = Path(__file__).resolve().parent.parent / "libs" / "hone" / "cli" / "helps.json"


def text() -> str:
    """Return the help of each command by its name, as JSON; a command that cannot be imported is an error."""
    listed = [Listed(name, target, panel, "") for panel, named in Root.table.items() for name, target in named.items()]
    helps = {one.name: (one.loaded().help or "").partition("\n\n")[0] for one in listed}
    return json.dumps(helps, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(rendered.main(HELPS, text(), "python -m checks.command_helps --write"))
