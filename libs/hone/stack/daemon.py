"""supervisord that forks services, with logs that may fail: `python -m hone.stack.daemon`, with its options.

On a full disk neither the line of a process nor the error about it can be written. supervisord itself would end with
that error, and nobody would start processes again. Here such lines are lost.
"""

import shlex
from typing import Any, cast

from supervisor import loggers, process, supervisord
from supervisor.states import ProcessStates

from hone.stack import processes
from hone.stack.forks import Modules


class Options(supervisord.ServerOptions):  # type: ignore[misc]  # supervisor has no types
    """supervisord's options and its calls of the system."""

    def realize(self, *arguments: Any, **named: Any) -> None:
        """Read the configuration, and begin to load the modules of its services."""
        super().realize(*arguments, **named)
        found = [one for group in self.process_group_configs for one in group.process_configs]
        self.modules = Modules(dict.fromkeys(filter(None, map(_forked, found))))

    def execve(self, filename: str, argv: list[str], env: dict[str, str]) -> None:
        """Become a program, or a service whose modules are loaded. The caller is a new child."""
        service = processes.forked(argv)
        if service and self.modules.has(service):
            self.modules.become(service, env)
        super().execve(filename, argv, env)


class Child(process.Subprocess):  # type: ignore[misc]
    """A process of supervisord."""

    def spawn(self) -> int | None:
        """Start the process. Return its pid, or None if that failed or has to wait for modules."""
        if _forked(self.config) and not self.config.options.modules.loaded():
            self._put_off()
            return None
        return cast(int | None, super().spawn())

    def _put_off(self) -> None:
        """Have supervisord try again when it next looks at its processes, and answer calls until then."""
        self.change_state(ProcessStates.STARTING)
        self.change_state(ProcessStates.BACKOFF)
        self.backoff = self.delay = 0


def main() -> None:
    """Run until it is asked to end."""
    loggers.Handler.handleError = lambda _: None
    supervisord.ServerOptions, process.Subprocess = Options, Child
    supervisord.main()


def _forked(configuration: Any) -> str | None:
    return processes.forked(shlex.split(configuration.command))


if __name__ == "__main__":
    main()
