"""Installed versions are compared with pins, and what is wrong is named with the version that was expected."""

import pytest

from hone.catalogue import entries
from hone.doctor import packages
from tests.unit.doctor.places import deployment


@pytest.mark.parametrize(("requirement", "level", "found"), [
    ("pydantic>=2", "ok", "1 packages within their pins"),
    ("pydantic<2", "error", "expected <2"),
    ("no-such-package>=3", "error", "no-such-package is missing, expected >=3"),
    ("no-such-package; sys_platform == 'win32'", "ok", "0 packages within their pins"),
])
def test_a_package_outside_its_pin_is_an_error(requirement, level, found):
    first, training = packages.compared([requirement])
    assert (first.level, first.check, training.level) == (level, "packages", "ok")
    assert found in first.found
    assert bool(first.mend) == (level == "error")


def test_a_missing_package_for_training_is_a_warning():
    _, training = packages.compared(["no-such-package>=3; extra == 'train'"])
    assert training.level == "warning"
    assert "hone-rl[train]" in training.mend


def test_this_interpreter_is_supported():
    assert [one.level for one in packages.python(deployment())] == ["ok"]


def test_members_of_installed_packages_are_loaded_and_each_fault_names_its_package(monkeypatch):
    lost = entries.Entry("near", "no_such_module:GRADER", "acme-graders", "1.2")
    monkeypatch.setattr(entries, "installed", lambda group: (lost,) if group == "hone.graders" else ())
    fault, listed = packages.members(deployment())
    assert (fault.level, listed.level, listed.found) == ("error", "ok", "acme-graders 1.2")
    assert "'near' of acme-graders 1.2 cannot be loaded" in fault.found


def test_nothing_is_said_of_members_where_no_package_has_one(monkeypatch):
    monkeypatch.setattr(entries, "installed", lambda _group: ())
    assert list(packages.members(deployment())) == []
