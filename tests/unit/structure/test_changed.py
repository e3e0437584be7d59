"""A change reaches the tests of its importers, of its data's readers, and the tests that name a changed member."""

from pathlib import Path

import pytest

from checks.changed import LOOP, Tree, chosen, read

FILES = {
    "pyproject.toml": '[project.entry-points."hone.graders"]\nmath = "hone.graders.math:GRADER"\n',
    "libs/hone/graders/__init__.py": "",
    "libs/hone/graders/math.py": "from hone.graders import numbers\n",
    "libs/hone/graders/numbers.py": "",
    "libs/hone/store/runs.py": "READ = 'runs.by_id'\n",
    "libs/hone/store/queries/runs.sql": "",
    "services/reward/__main__.py": "import hone.store.runs\n",
    "tests/support/scene.py": "import services.reward.__main__\n",
    "tests/support/conftest.py": "",
    "tests/unit/conftest.py": "from tests.support import scene\n",
    "tests/unit/test_math.py": "import hone.graders.math\n",
    "tests/unit/store/test_runs.py": "import hone.store.runs\n",
    "tests/unit/docs/test_pages.py": "PAGES = 'docs/rest.md'\n",
    "tests/acceptance/test_judged.py": "from tests.support import scene\nSPEC = {'graders': ['math']}\n",
    LOOP: "from tests.support import scene\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return read(tmp_path)


@pytest.mark.parametrize(("changed", "files"), [
    ("tests/unit/test_math.py", ["tests/unit/test_math.py"]),
    ("libs/hone/graders/numbers.py", [LOOP, "tests/unit/test_math.py"]),
    ("libs/hone/graders/math.py", ["tests/acceptance/test_judged.py", LOOP, "tests/unit/test_math.py"]),
    ("tests/support/scene.py", sorted(name for name in FILES if "/test_" in name)),
    ("docs/rest.md", ["tests/unit/docs/test_pages.py"]),
    ("pyproject.toml", sorted(name for name in FILES if "/test_" in name)),
    ("docs/images/curve.svg", ["tests/unit/docs/test_pages.py"]),
    ("LICENSE", []),
])
def test_a_changed_file_reaches(tree: Tree, changed: str, files: list[str]) -> None:
    assert sorted(chosen(tree, [changed]).files) == sorted(files)


def test_a_query_reaches_the_tests_of_its_readers(tree: Tree) -> None:
    found = chosen(tree, ["libs/hone/store/queries/runs.sql"])
    assert {"tests/unit/store/test_runs.py", LOOP} <= set(found.files)


def test_acceptance_files_that_start_a_changed_process_are_left_out_but_for_the_loop_and_named(tree: Tree) -> None:
    found = chosen(tree, ["services/reward/__main__.py"])
    assert LOOP in found.files
    assert found.left_out == ["tests/acceptance/test_judged.py"]
    assert chosen(tree, ["docs/rest.md"]).left_out == []
