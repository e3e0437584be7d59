"""Fixtures of acceptance tests. Stacks are shared within a test process (tests.acceptance.stacks).

plain   a stack with one process of each kind and two rollout workers; embedded
alone   no shared stack is open: for modules that start a stack of their own
twins   a stack with two drivers, trainers and rollout workers; each test runs once on each back end
bases   returns the directory of a toy model: bases(steps=90, careless=0.5); see tests.support.taught
session_folder   a folder of all test processes of this session

drawn          seeds and held-out prompts of the run that learns (tests.acceptance.learning)
learning_base  directory of the model that it starts from
before         accuracies of that model on these prompts, by stock transformers
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import backends, toy
from tests.acceptance.learning import before, drawn, learning_base  # noqa: F401
from tests.acceptance.scene import Scene
from tests.acceptance.stacks import PLAIN, TWINS, SharedStacks
from tests.support import taught


@pytest.fixture(scope="session")
def shared_stacks(request: pytest.FixtureRequest, shared_directory: Path) -> Iterator[SharedStacks]:
    stacks = SharedStacks(shared_directory, request.getfixturevalue)
    yield stacks
    stacks.close()


@pytest.fixture(scope="session")
def closed_before_servers(
    shared_stacks: SharedStacks, rabbitmq: Any, s3: Any, postgres_server: Any,  # noqa: ARG001  # set up before this
) -> Iterator[None]:
    """Stop a stack that uses the servers before they are stopped."""
    yield
    shared_stacks.close()


@pytest.fixture(scope="module")
def alone(shared_stacks: SharedStacks) -> None:
    """Stop the shared stack that is open, so that a test's own stack has the machine for itself."""
    shared_stacks.close()


@pytest.fixture(scope="module")
def plain(shared_stacks: SharedStacks) -> Scene:
    return shared_stacks.scene(PLAIN)


@pytest.fixture(scope="module", params=backends.NAMES)
def twins(request: pytest.FixtureRequest, shared_stacks: SharedStacks) -> Scene:
    if request.param == "servers":
        request.getfixturevalue("closed_before_servers")
    return shared_stacks.scene(TWINS, request.param)


@pytest.fixture(scope="session")
def session_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(request.config, "workerinput") else own


@pytest.fixture(scope="session")
def bases() -> Callable[..., Path]:
    return partial(taught.directory, toy.write_base)
