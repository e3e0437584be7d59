"""Catalogues: Hone's own members, members of installed packages, and each way in which a member cannot be used."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hone.catalogue import entries
from hone.catalogue.catalogue import NoMember
from hone.graders.catalogue import GRADERS
from hone.graders.specs import checked
from hone.harnesses.catalogue import HARNESSES
from hone.resolution import names
from hone.spec.problems import Invalid
from hone.spec.run import Slot

MODULE = """
from hone.graders.contract import Grader, GraderParams, verdict

class LengthParams(GraderParams):
    most: int = 3

LENGTH = Grader(LengthParams, grade=lambda item, output, params: verdict(len(output) <= params.most, output, "length"))
NUMBER = 3
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a package of a module `lengths` with graders, as metadata beside the module."""
    (tmp_path / "lengths.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, version: str, graders: dict[str, str], requires: str = "", group: str = "graders") -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        wanted = f"Requires-Dist: {requires}\n" if requires else ""
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wanted}")
        lines = "\n".join(f"{member} = {target}" for member, target in graders.items())
        (folder / "entry_points.txt").write_text(f"[hone.{group}]\n{lines}\n")
        entries.installed.cache_clear()

    entries.installed.cache_clear()
    yield write
    entries.installed.cache_clear()
    GRADERS.forget("length")
    sys.modules.pop("lengths", None)


def test_a_member_of_an_installed_package_is_named_like_hones_own(install: Install) -> None:
    assert "length" not in GRADERS
    install("acme-graders", "1.2", {"length": "lengths:LENGTH"})
    assert list(GRADERS)[-1] == "length"
    assert GRADERS.package("length").source == "acme-graders 1.2"
    assert GRADERS.facts("length").params_schema["properties"]["most"]["default"] == 3
    assert checked({"type": "length", "most": 2}).grader is GRADERS["length"]
    assert GRADERS.faults() == []


@pytest.mark.parametrize(("target", "requires", "reason"), [
    ("absent:LENGTH", "", "cannot be loaded from absent:LENGTH: ModuleNotFoundError: No module named 'absent'"),
    ("lengths:WIDTH", "", "cannot be loaded from lengths:WIDTH: AttributeError"),
    ("lengths:NUMBER", "", "lengths:NUMBER of acme-graders 1.2 is no grader: it lacks"),
    ("lengths:LENGTH", "hone-rl>=77", "does not fit: it requires hone-rl>=77, and "),
])
def test_a_member_that_cannot_be_used_says_why_and_names_its_package(
        install: Install, target: str, requires: str, reason: str) -> None:
    install("acme-graders", "1.2", {"length": target}, requires)
    [fault] = GRADERS.faults()
    assert reason in fault
    assert "acme-graders 1.2" in fault
    assert "length" not in GRADERS
    assert "length" not in list(GRADERS)
    with pytest.raises(NoMember, match="acme-graders"):
        GRADERS["length"]
    with pytest.raises(Invalid) as refused:
        checked({"type": "length"})
    assert fault in refused.value.problems[0].expected


def test_a_package_that_fits_this_release_is_used(install: Install) -> None:
    install("acme-graders", "1.2", {"length": "lengths:LENGTH"}, "hone_rl>=0.1,<77")
    assert "length" in GRADERS


def test_two_packages_of_one_name_are_both_named(install: Install) -> None:
    install("acme-graders", "1.2", {"exact": "lengths:LENGTH", "length": "lengths:LENGTH"})
    install("other-graders", "3", {"length": "lengths:LENGTH"})
    shared = [fault.partition(": ")[2] for fault in GRADERS.faults()]
    assert shared == ["hone-rl and acme-graders 1.2", "acme-graders 1.2 and other-graders 3"]


def test_a_harness_that_cannot_be_loaded_is_a_problem_of_its_field(install: Install) -> None:
    install("acme-harnesses", "2", {"calm": "absent:Calm"}, group="harnesses")
    [problem] = names.of_harness(Slot(name="calm"))
    assert (problem.field, problem.found) == ("harness.name", '"calm"')
    assert "of acme-harnesses 2 cannot be loaded" in problem.expected


def test_an_unknown_name_is_no_member() -> None:
    with pytest.raises(NoMember, match="no installed package has the harness 'absent'"):
        HARNESSES["absent"]
    assert HARNESSES.get("absent") is None
    assert HARNESSES.fault("absent") == ""


def test_lists_and_facts_import_no_member() -> None:
    program = """
import sys
from hone.client import catalog
assert len(catalog.environments()) > 20 and len(catalog.graders()) > 30
from hone.harnesses.catalogue import HARNESSES
assert HARNESSES.facts("heavy").kinds
members = "hone.environments.sort_digits", "hone.graders.exact", "hone.harnesses.heavy", "hone.harnesses.chat"
print([name for name in members if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
