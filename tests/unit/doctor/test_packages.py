"""Installed versions are compared with pins, and what is wrong is named with the version that was expected."""

import pytest

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
