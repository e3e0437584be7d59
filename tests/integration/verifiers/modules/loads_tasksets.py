"""Prints what comes of loading tasksets as worlds: `python loads_tasksets.py CASES`, a package and arguments each."""

import json
import sys
from pathlib import Path
from typing import Any

from hone.environments.foreign import children

sys.path.append(str(Path(children.__file__).parent))


def loaded(package: str, arguments: dict[str, Any]) -> str:
    """Return the number of tasks, or the error."""
    from verifiers_rollouts.tasksets import Tasks

    try:
        return str(Tasks(package, arguments).rows)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    print(json.dumps([loaded(*case) for case in json.loads(sys.argv[1])]))
