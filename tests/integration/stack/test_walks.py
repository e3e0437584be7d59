"""Files are noted for services that are forks of the supervisor, as for services that are programs of their own."""

import time
from pathlib import Path

import pytest

from hone.stack.processes import KINDS
from scripts.walks import Notes
from tests.integration.stack.conftest import NONE

FORKED = {kind for kind in KINDS if KINDS[kind].forked}


@pytest.fixture(scope="module")
def noted(shared_directory: Path) -> dict[str, set[str]]:
    """Return the files by kind of process, of a stack with every forked service and two programs of their own."""
    home = shared_directory / "walks"
    home.mkdir(mode=0o711)
    notes = Notes(home)
    expected = FORKED | {"simulation", "sandbox"}
    with notes.stack({**NONE, **dict.fromkeys(expected, 1)}) as stack:
        stack.wait_ready()
        pids = stack.pids()
        while not expected <= {kind for kind, files in notes.files(pids).items() if "services/" in "".join(files)}:
            time.sleep(0.05)  # pytest's timeout is the deadline
    return notes.files(pids)


@pytest.mark.parametrize("kind", sorted(FORKED | {"simulation", "sandbox"}))
def test_every_process_lists_its_own_service(noted: dict[str, set[str]], kind: str) -> None:
    folder = KINDS[kind].module.replace(".", "/")
    assert any(file.startswith(f"{folder}/") for file in noted[kind])


def test_a_service_lists_no_file_of_another_service(noted: dict[str, set[str]]) -> None:
    assert not any(file.startswith("services/gateway/") for file in noted["value"])


def test_the_supervisor_is_not_listed_with_programs_that_it_executes(noted: dict[str, set[str]]) -> None:
    assert "libs/hone/stack/forks.py" not in noted["simulation"] | noted["sandbox"]
