"""`hone verifier serve` as a process in an environment with the real packages."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx
import pytest

from hone.environments import tasks
from hone.environments.contract import EpisodeLost, Transition
from hone.environments.foreign.places import LOOKUP, Kind, Place
from hone.environments.foreign.verifiers_session import PROGRAMS
from tests.servers import foreign_packages
from tests.servers.children import Children
from tests.servers.foreign_packages import KEY

Started = Callable[..., str]
"""Starts a server with these options, in a line of packages, and returns its address."""
Begun = Callable[..., Any]
"""Begins an episode in a world, and returns it with what its reset shows."""
PATH = {"PYTHONPATH": str(foreign_packages.MODULES)}


@pytest.fixture(scope="session")
def interpreters(need: Callable[[str | None], None]) -> Mapping[str, str]:
    """Return the interpreter of each line of packages, which are installed if they are not yet."""
    try:
        return {name: foreign_packages.python(name) for name in foreign_packages.LINES}
    except foreign_packages.NotInstalled as error:
        need(str(error))
        raise


@pytest.fixture(scope="module")
def served(interpreters: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Start servers that end with the module."""
    assert interpreters, "the packages are installed"
    with Children(tmp_path_factory.mktemp("verifiers")) as children:
        yield partial(foreign_packages.serve, children)


class Places:
    """Worlds that tests set."""

    def __init__(self) -> None:
        self.known = dict[str, Place]()

    def place(self, name: str, protocol: Kind) -> Place:
        assert self.known[name].protocol == protocol
        return self.known[name]


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, Place]]:
    atlas, before = Places(), LOOKUP.atlas
    LOOKUP.atlas = atlas
    yield atlas.known
    LOOKUP.atlas = before
    PROGRAMS.close()


@pytest.fixture
def begun() -> Iterator[Begun]:
    """Return what begins an episode, with what its reset shows. All are closed at the end."""
    with ExitStack() as stack:
        def begin(environment: str, world: str, seed: int = 1, **params: Any) -> Any:
            one: Any = tasks.episode(tasks.make(environment, {"world": world, **params}, seed))
            stack.callback(one.close)
            return one, reset(one)

        def reset(one: Any) -> Any:
            try:
                return one.reset()
            except EpisodeLost as lost:
                if "still being loaded" not in str(lost):
                    raise
                return reset(one)

        yield begin


def said(taken: Transition) -> list[str]:
    return [message["content"].strip() for message in taken.observation.messages]


def sent(url: str, body: Any, key: str = KEY, path: str = "/verify") -> httpx.Response:
    """Return the answer to a request."""
    return httpx.post(url + path, json=body, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def script(interpreter: str, name: str, *arguments: str) -> str:
    """Return what a module of the tests prints in an environment with the packages."""
    made = subprocess.run([interpreter, str(foreign_packages.MODULES / f"{name}.py"), *arguments], text=True,
                          capture_output=True, check=False, timeout=120, env=foreign_packages.variables())
    assert made.returncode == 0, made.stderr[-3000:]
    return made.stdout
