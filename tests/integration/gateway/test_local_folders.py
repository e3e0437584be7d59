"""A path may not lead into the stack, nor out of the model root."""

import shutil
from pathlib import Path

import pytest

from hone.client import Client, errors
from tests.integration.gateway.conftest import Gateway


def refused(hone: Client, directory: Path) -> tuple[str, str]:
    with pytest.raises(errors.Refused) as refusal:
        hone.register_model("refused", directory)
    (problem,) = refusal.value.problems
    return problem.field, problem.expected


def test_the_stacks_own_objects(gateway: Gateway, hone: Client, base: str, tmp_path: Path) -> None:
    stored = gateway.log.parent / "objects" / "artifacts" / hone.model(base).id
    (tmp_path / "link").symlink_to(stored)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "config.json").symlink_to(stored / "config.json")
    own = "a path outside the directories of the stack itself"
    assert [refused(hone, named) for named in (stored, tmp_path / "link")] == [("directory", own)] * 2
    assert refused(hone, tmp_path / "inside") == ("directory: config.json", own)


def test_a_file_that_leads_out_of_the_model_root(hone: Client, toy_directory: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_directory, tmp_path / "model")
    (tmp_path / "model" / "merges.txt").symlink_to("/etc/hostname")
    assert refused(hone, tmp_path / "model")[0] == "directory: merges.txt"
