"""Print the dependencies of pyproject.toml, with the extras named on the command line, for a layer without our code."""

import sys
import tomllib
from pathlib import Path


def main(extras: list[str]) -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for name in extras for one in project["optional-dependencies"][name])]
    print("\n".join(wanted))


if __name__ == "__main__":
    main(sys.argv[1:])
