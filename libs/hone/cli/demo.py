"""`hone demo`: watch a model learn, from nothing, on this machine."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from hone.cli.stack import DEFAULT_STATE, State
from hone.demo.progress import RunEnded
from hone.demo.story import Demo, ExportFailed
from hone.demo.task import STEPS
from hone.stack.embedded import StackNotReady
from hone.stack.interruption import stop_once


def demo(
    state: State = DEFAULT_STATE,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same weights, bit for bit.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Steps from rewards; fewer end sooner, and lower.")] = STEPS,
) -> None:
    """Train a small model to sort digits by reinforcement learning, with every service running here."""
    console = Console()
    stop_once()
    try:
        Demo(Path(state), seed, console, steps).run()
    except KeyboardInterrupt:
        console.print("\nstopped; the same command goes on from here")
        raise typer.Exit(130) from None
    except (RunEnded, ExportFailed, StackNotReady) as problem:
        console.print(f"error: {problem}", style="red")
        raise typer.Exit(1) from None
