"""A program of others beside the service: it plays many episodes, by JSON lines over its pipes, each with a deadline.

It has a process group, a folder and variables of its own: none of the service's, so no secret by its environment. It
runs as the same user, with the same network: it is for code that the operator trusts.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any
from uuid import uuid4

from hone.environments.foreign.children.verifiers_rollouts.strays import MARK, end_strays

_LONGEST_LINE, _TAIL = 2**24, 600
Answers = SimpleQueue[Any]


class Gone(Exception):
    """The program has ended. The message has the last line of what it said."""


class Late(Exception):
    """The program gave no answer in time."""


class Program:
    """A running program. Whoever makes it has to close it."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        """Start it. Raises OSError where there is no such program."""
        self._folder = tempfile.mkdtemp(prefix="hone-world-")
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed where the program has ended
        self._waiting, self._lock, self._reason = dict[str, Answers](), Lock(), ""
        own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self._folder, "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
        marked = {MARK: self._folder}
        try:
            self._process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, cwd=self._folder,
                env={**own, **variables, **marked}, start_new_session=True)
        except OSError:
            self._clean()
            raise
        Thread(target=self._read, name="program", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it still runs, as far as is known."""
        return not self._reason

    def ask(self, who: str, message: Mapping[str, Any], longest_s: float) -> Any:
        """Send a message as an episode, and return the answer to it. Raises Gone and Late."""
        with self._lock:
            answers = self._waiting.setdefault(who, SimpleQueue())
        self.send(who, message)
        try:
            answer = answers.get(timeout=longest_s)
        except Empty:
            raise Late(f"no answer within {longest_s:g} s") from None
        if answer is None:
            raise Gone(self._reason)
        return answer

    def send(self, who: str, message: Mapping[str, Any]) -> None:
        """Send a message that has no answer. Raises Gone."""
        line = json.dumps({"id": who, **message}).encode() + b"\n"
        with self._lock:
            if self._reason:
                raise Gone(self._reason)
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except (OSError, ValueError):
                raise Gone("it takes no more messages") from None

    def forget(self, who: str) -> None:
        """Let an episode go that gets no more answers."""
        with self._lock:
            self._waiting.pop(who, None)
        with suppress(Gone):
            self.send(who, {"leave": True})

    def hangs(self, longest_s: float) -> bool:
        """Return whether it gives no sign of life in time, whatever its episodes do."""
        who = f"alive {uuid4().hex}"
        try:
            self.ask(who, {"alive": True}, longest_s)
        except Late:
            return True
        except Gone:
            return False
        finally:
            with self._lock:
                self._waiting.pop(who, None)
        return False

    def close(self) -> None:
        """Kill its process group, and what it started elsewhere. All that wait hear that it is gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self) -> None:
        """Hand on the answers until the program ends."""
        assert self._process.stdout is not None
        with suppress(OSError, ValueError, KeyError, TypeError):
            while (line := self._process.stdout.readline(_LONGEST_LINE)).endswith(b"\n"):
                answer = json.loads(line)
                with self._lock:
                    answers = self._waiting.get(answer["id"])
                if answers is not None:
                    answers.put(answer)
        self.close()
        status = self._process.wait()
        end_strays(self._folder)
        with self._lock:
            self._reason = f"status {status}; it said last: {self._last_line() or 'nothing'}"
            for answers in self._waiting.values():
                answers.put(None)
        self._clean()

    def _last_line(self) -> str:
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _TAIL))
        return self._said.read().decode(errors="replace").strip().rpartition("\n")[2]

    def _clean(self) -> None:
        self._said.close()
        shutil.rmtree(self._folder, ignore_errors=True)
