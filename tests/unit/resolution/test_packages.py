"""Packages of other authors in a resolved spec: found by the members that it names, and missed by name."""

from typing import Any

import pytest

from hone.algorithms.catalogue import MEMBERS
from hone.catalogue.catalogue import Catalogue
from hone.catalogue.entries import Entry
from hone.graders.catalogue import GRADERS
from hone.harnesses.catalogue import HARNESSES
from hone.resolution import resolve
from hone.spec.files import as_json
from hone.spec.problems import Invalid

SPEC: dict[str, Any] = {
    "name": "x", "model": {"base": "m"}, "task": {"environment": "sort_digits"}, "steps": 3, "batch": {"samples": 4},
    "harness": {"name": "chat"}, "grader": {"type": "weighted", "parts": {"whole": {"grader": {"type": "exact"}}}},
    "algorithm": {"preset": "grpo", "loss": {"name": "gspo"}, "regularizers": [{"name": "kl"}]}}


def of_another(monkeypatch: pytest.MonkeyPatch, catalogue: Catalogue[Any, Any], name: str, package: str) -> None:
    """Let a member of Hone's own be a member of an installed package."""
    own = catalogue.package

    def entry(wanted: str) -> Entry:
        return Entry(name, "module:member", package, "1.5") if wanted == name else own(wanted)

    monkeypatch.setattr(catalogue, "package", entry)


def test_members_of_hones_own_need_no_package() -> None:
    assert resolve(SPEC).packages == {}
    assert "packages" not in as_json(resolve(SPEC))


@pytest.mark.parametrize(("catalogue", "name"), [
    (HARNESSES, "chat"), (GRADERS, "exact"), (MEMBERS, "loss.gspo"), (MEMBERS, "regularizers.kl"),
    (MEMBERS, "schedule.constant")])
def test_a_resolved_spec_names_the_package_of_each_member(
        monkeypatch: pytest.MonkeyPatch, catalogue: Catalogue[Any, Any], name: str) -> None:
    of_another(monkeypatch, catalogue, name, "pytest")
    resolved = resolve(SPEC)
    assert resolved.packages == {"pytest": "1.5"}
    assert resolve(as_json(resolved)) == resolved


def test_a_package_that_this_process_lacks_is_a_problem_of_the_spec() -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**SPEC, "packages": {"no-such-package": "1.5"}})
    [problem] = refused.value.problems
    assert (problem.field, problem.found) == ("packages.no-such-package", "1.5")
