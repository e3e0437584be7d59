"""The progress of an upload on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from hone.client.uploads import Phase, Progress


@contextmanager
def progress() -> Iterator[Progress]:
    """Show a bar for each phase of an upload in parts, on stderr; nothing is shown for a small one."""
    columns = (TextColumn("{task.description:<10}"), BarColumn(), DownloadColumn(binary_units=True),
               TransferSpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def show(phase: Phase, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield show
