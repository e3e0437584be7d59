"""Modules that no process reaches are found."""

from pathlib import Path

import pytest

from checks.reachable import sources, unreachable


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "services/reward/__main__.py": "from services.reward import grading\n",
        "services/reward/grading.py": "import hone.graders.exact\nWORKER = 'services.reward.worker'\n",
        "services/reward/worker.py": '"""Not a use of hone.graders.lost."""\n',
        "libs/hone/graders/exact.py": "EXACT = 1\n",
        "libs/hone/graders/__init__.py": '"""Graders."""\n',
        "libs/hone/cli/main.py": "from hone.cli import output\n",
        "libs/hone/cli/output.py": "from . import colors\nfrom .tables import rows\n",
        "libs/hone/cli/colors.py": "RED = 1\n",
        "libs/hone/cli/tables/__init__.py": "from .rows import ROWS\n",
        "libs/hone/cli/tables/rows.py": "from ..widths import WIDE\n",
        "libs/hone/cli/widths.py": "WIDE = 1\n",
    }.items():
        write(tmp_path, name, text)
    return tmp_path


def write(tree: Path, name: str, text: str) -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)


def test_imports_also_relative_ones_names_in_strings_and_packages_are_followed(tree: Path) -> None:
    assert unreachable(sources(tree)) == {}


def test_a_module_that_no_process_reaches_is_found_with_its_lines(tree: Path) -> None:
    write(tree, "libs/hone/graders/lost.py", "LOST = 1\n\nMORE = 2\n")
    assert unreachable(sources(tree)) == {"hone.graders.lost": 3}


def test_a_module_that_can_be_run_is_an_entry_point(tree: Path) -> None:
    write(tree, "libs/hone/graders/tried.py", "import hone.graders.lost\nif __name__ == '__main__':\n    pass\n")
    write(tree, "libs/hone/graders/lost.py", "LOST = 1\n")
    assert unreachable(sources(tree)) == {}
