"""Child processes that end with the test, also with one that fails."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.servers import forking


class NotReady(Exception):
    """A server did not answer in time. The message holds the end of its log."""


class Children:
    """Started servers. The end of the context kills those that run, in reverse order; tests need no data afterwards."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, tuple[list[str], dict[str, Any]]] = {}

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(list(self._running)):
            self.stop(name, signal.SIGKILL)

    def start(self, name: str, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a server. Its output goes to `<name>.log` in the directory."""
        with self.log(name).open("ab") as log:
            child = forking.start(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **options)
        self._running[name], self._started[name] = child, (command, options)
        return child

    def restart(self, name: str) -> None:
        """Kill a server without a chance to clean up, and start it again with the same command."""
        self.stop(name, signal.SIGKILL)
        command, options = self._started[name]
        self.start(name, command, **options)

    def stop(self, name: str, number: int = signal.SIGTERM, grace_s: float = 10.0) -> None:
        """Send a signal to a server and wait for its end; kill it after `grace_s`."""
        child = self._running.pop(name)
        child.send_signal(number)
        try:
            child.wait(grace_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def wait(self, name: str, ready: Callable[[], bool], timeout_s: float) -> None:
        """Return when `ready()` is true. Raises NotReady if the server ends before, or after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while not ready():
            if self._running[name].poll() is not None or time.monotonic() > until:
                raise NotReady(f"{name} is not ready after {timeout_s} s:\n{self.log(name).read_text()[-2000:]}")
            time.sleep(0.05)

    def log(self, name: str) -> Path:
        return self.directory / f"{name}.log"
