"""A directory that is no package is refused before anything is sent, with the files that it lacks."""

from pathlib import Path

import pytest

from hone.client import Client
from hone.environments.packages.package import WrongPackage


def test_a_directory_that_is_no_package_is_refused_with_the_files_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    with Client("http://127.0.0.1:9", "key") as client, pytest.raises(WrongPackage) as refused:
        client.add_package("hollow", tmp_path)
    assert str(refused.value).endswith("it lacks tools.py, tasks.jsonl, tests.jsonl")
