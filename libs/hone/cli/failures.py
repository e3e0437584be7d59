"""What a user did wrong or what is away, told in a few lines and exit code 1; anything else is a defect and shows."""

from collections.abc import Iterable
from typing import Any

import typer
from psycopg import OperationalError
from rich.console import Console
from typer.core import TyperGroup

from hone.cli.connection import Unconfigured
from hone.client import HoneError
from hone.spec.problems import Invalid, Problem


class Commands(TyperGroup):
    """A group of commands whose expected errors are sentences."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HoneError as error:
            _tell(error.problems or [str(error)])
        except Invalid as error:
            _tell(error.problems)
        except (Unconfigured, OSError) as error:
            _tell([str(error)])
        except OperationalError as error:
            _tell([f"the database does not answer: {error}"])
        raise typer.Exit(1)


def _tell(lines: Iterable[Problem | str]) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    for line in lines:
        console.print(f"error: {line}", markup=False, style="red")
