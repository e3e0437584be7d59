"""Writes docs/settings.md, every HONE_* variable, from the models: `python -m checks.settings_page [--write]`.

Without --write nothing changes, and the exit status is 1 where the page is not what the models say.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from checks import rendered
from hone.spec.settings import VARIABLES, Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
HEAD = """# Settings

Every service reads its settings from environment variables. `hone up --env NAME=VALUE` sets one for a whole stack, a
line of `.env` for [containers](compose.md). An unknown `HONE_*` variable, or a value that does not fit, is refused by
name before anything starts.

A secret need not be in the environment: `HONE_X_FILE=/path` gives the value of `HONE_X` in a file, for every variable
of these tables but the last one's, and for `HONE_URL`, `HONE_API_KEY` and `HONE_OWNER_DATABASE_URL`. Newlines at the
end of the file do not count. Both variables at once are refused.

This page is written from the models by `python -m checks.settings_page --write`, and a check compares them.
"""
FOOT = """## Other variables

| variable | meaning |
|---|---|
| `HONE_URL`, `HONE_API_KEY` | The gateway that the command `hone` and `hone.client` call, and the key they use. |
| `HONE_OWNER_DATABASE_URL` | PostgreSQL URL of the schema's owner, for `hone prepare` alone. |
| `HONE_VLLM_PYTHON` | Python of vLLM's own environment; without it `.venv-vllm/bin/python`, which `make vllm` builds. |
| `HONE_CRASH_DIR` | Directory that arms crash points, for tests. |

`docker-compose.yml` reads some more: see [containers](compose.md).
"""
_TITLES = {"vllm": "vLLM"}
_TYPES = {str: "text", int: "integer", float: "number", bool: "true or false", Path: "path"}


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *_sections(), FOOT])


def _sections() -> Iterator[str]:
    groups = dict.fromkeys(place[0] if len(place) == 2 else "" for place in VARIABLES.values())
    for group in groups:
        model = type(Settings.model_fields[group].default) if group else Settings
        title, meaning = (_TITLES.get(group, group.capitalize()), model.__doc__) if group else ("The process", "")
        rows = [_row(variable, model, place[-1]) for variable, place in VARIABLES.items()
                if (place[0] if len(place) == 2 else "") == group]
        yield "\n".join([f"## {title}\n", *([f"{meaning}\n"] if meaning else []),
                         "| variable | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def _row(variable: str, model: type[BaseModel], name: str) -> str:
    field = model.model_fields[name]
    return f"| `{variable}` | {_type(field.annotation)} | {_default(field.default)} | {field.description} |"


def _default(value: Any) -> str:
    if value in ("", None):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(annotation))
    known = [_TYPES[one] for one in (get_args(annotation) or (annotation,)) if one in _TYPES]
    return " or ".join(known)


if __name__ == "__main__":
    sys.exit(rendered.main(PAGE, page(), "python -m checks.settings_page --write"))
