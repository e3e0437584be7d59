"""The shape of the tree, and proof that each rule can be broken."""

import subprocess
import sys
from pathlib import Path

import pytest

from checks import generated, structure
from checks.structure import LONGEST_FILE, LONGEST_FUNCTION, breaches, measure, modules, rows

TORCH_FREE = (
    "hone.algorithms", "hone.cli", "hone.client", "hone.demo", "hone.environments", "hone.graders", "hone.queues",
    "hone.resolution", "hone.rpc", "hone.spec", "hone.stack", "hone.store", "hone.telemetry", "hone.trajectory",
    "services.gateway", "services.learner.driver", "services.reward", "services.rollout", "services.simulation",
    "services.value",
)
LOAD = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print([name for name in ("torch", "transformers") if name in sys.modules])
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "services" / "reward").mkdir(parents=True)
    return tmp_path


def broken(tree: Path, text: str, name: str = "grading.py") -> list[str]:
    (tree / "services" / "reward" / name).write_text(text)
    return breaches(modules(tree))


def function(lines: int, name: str = "f") -> str:
    return f"def {name}():\n" + "    pass\n" * (lines - 1)


def test_a_function_has_at_most_60_lines(tree: Path) -> None:
    many = "".join(function(2, f"f{number}") for number in range(20))
    assert broken(tree, many + function(LONGEST_FUNCTION)) == []
    [breach] = broken(tree, many + function(LONGEST_FUNCTION + 1, "long"))
    assert breach == "services/reward/grading.py:41 long: found 61 lines, expected at most 60"


def test_decorators_and_nested_functions_count(tree: Path) -> None:
    path = tree / "services" / "reward" / "grading.py"
    path.write_text("@one\n@two\ndef f():\n    def g():\n        pass\n    return g\n")
    assert sorted(one.lines for one in measure(path, tree).functions) == [2, 6]


def test_nine_functions_in_ten_have_at_most_40_lines(tree: Path) -> None:
    short = "".join(function(2, f"f{number}") for number in range(9))
    assert broken(tree, short + function(41, "long")) == []
    [breach] = broken(tree, short + function(41, "long") + function(41, "longer"))
    assert breach == "functions: found 81.8% of at most 40 lines, expected at least 90%"


def test_half_the_functions_have_at_most_10_lines(tree: Path) -> None:
    assert broken(tree, function(10)) == []
    assert broken(tree, function(11)) == ["functions: found a median of 11 lines, expected at most 10"]


def test_a_file_has_at_most_400_lines(tree: Path) -> None:
    assert broken(tree, "x = 1\n" * LONGEST_FILE) == []
    assert broken(tree, "x = 1\n" * (LONGEST_FILE + 1)) == [
        "services/reward/grading.py: found 401 lines, expected at most 400"]


@pytest.mark.parametrize("name", ["utils.py", "helpers.py", "common.py", "manager.py"])
def test_a_module_has_a_name_that_says_something(tree: Path, name: str) -> None:
    [breach] = broken(tree, "", name)
    assert breach.startswith(f"services/reward/{name}: found a module called")


@pytest.mark.parametrize(("text", "name"), [
    ("told = 1", "told"), ("def tally_of(): ...", "tally_of"), ("class CrewMember: ...", "CrewMember"),
    ("def f(lanes): ...", "lanes"), ("self.roster = 1", "roster"),
])
def test_names_are_words_of_the_glossary(tree: Path, text: str, name: str) -> None:
    [breach] = broken(tree, text)
    assert breach.startswith(f"services/reward/grading.py:1: found {name}, expected ")


@pytest.mark.parametrize("text", ["planet = 1", "retold = 1", "x.told()", '"""What it told."""'])
def test_other_words_and_the_names_of_others_are_free(tree: Path, text: str) -> None:
    assert broken(tree, text) == []


def test_a_service_has_one_class_of_a_name(tree: Path) -> None:
    (tree / "services" / "value").mkdir()
    (tree / "services" / "value" / "service.py").write_text("class Answer: ...\n")
    assert broken(tree, "class Answer: ...\n") == []
    [breach] = broken(tree, "class Answer: ...\n", "service.py")
    assert breach == ("services/reward: found class Answer in services/reward/grading.py:1 and "
                      "services/reward/service.py:1, expected one class of a name")


@pytest.mark.parametrize("text", [
    'Q = "SELECT id FROM runs"', 'Q = """\n    INSERT INTO runs VALUES (1)"""', 'Q = f"DELETE FROM {table}"',
    'Q = b"LISTEN x"', 'Q = "UPDATE runs SET state = 1"',
])
def test_sql_stands_in_sql_files(tree: Path, text: str) -> None:
    assert broken(tree, text) == [
        "services/reward/grading.py:1: found SQL text, expected a named statement in libs/hone/store/queries"]


@pytest.mark.parametrize("text", ['"""Select one from the rows."""', 'Q = "driver.select_runs"', 'Q = "listen to me"'])
def test_words_are_not_sql(tree: Path, text: str) -> None:
    assert broken(tree, text) == []


def test_generated_code_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / structure.GENERATED).mkdir(parents=True)
    (tmp_path / structure.GENERATED / "x_pb2.py").write_text("x = 1\n" * 1000)
    assert modules(tmp_path) == []


def test_the_table_has_a_row_for_each_part_and_one_for_all(tree: Path) -> None:
    broken(tree, function(3) + function(5, "g"))
    assert rows(modules(tree)) == [
        ("services", "1", "8", "8", "2", "4", "100.0%", "5"), ("all", "1", "8", "8", "2", "4", "100.0%", "5")]


def test_generated_code_is_what_the_contracts_generate(tmp_path: Path) -> None:
    generated.generate(tmp_path)
    assert generated.differences(tmp_path) == []


def test_an_edited_generated_file_is_found(tmp_path: Path) -> None:
    for directory in ("fresh", "kept"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "a_pb2.py").write_text("same")
    (tmp_path / "kept" / "a_pb2.py").write_text("edited")
    (tmp_path / "kept" / "b_pb2.py").write_text("forgotten")
    assert generated.differences(tmp_path / "fresh", tmp_path / "kept") == ["a_pb2.py", "b_pb2.py"]


def test_most_of_hone_never_loads_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *TORCH_FREE], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
