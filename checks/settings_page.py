"""Writes docs/settings.md, every HONE_* variable, from the models: `python -m checks.settings_page [--write]`.

It also writes the list of settings that the chart's values may have. Without --write nothing changes, and the exit
status is 1 where the page or the list is not what the models say.
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from checks import rendered
from hone.spec.settings import VARIABLES, Settings

ROOT = Path(__file__).resolve().parent.parent
PAGE, SCHEMA = ROOT / "docs" / "settings.md", ROOT / "k8s" / "hone" / "values.schema.json"
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
_BY_THE_CHART = {"HONE_PROCESS_NAME", "HONE_DATABASE_URL", "HONE_GATEWAY_DATABASE_URL", "HONE_OBJECTS_URL",
                 "HONE_BROKER_URL", "HONE_STACK_TOKEN"}
"""Variables of pods that come from the Secret or from the pod, as addresses come from Services."""

_TITLES = {"vllm": "vLLM"}
_TYPES = {str: "text", int: "integer", float: "number", bool: "true or false", Path: "path"}


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *_sections(), FOOT])


def schema() -> str:
    """Return the schema of the chart's values with the settings that they may name."""
    names = sorted(name for name in VARIABLES.keys() - _BY_THE_CHART if not name.endswith("_ADDRESS"))
    listed = textwrap.fill(", ".join(f'"{name}"' for name in names), 110, initial_indent=" " * 10,
                           subsequent_indent=" " * 10)
    return re.sub(r'("then": \{"enum": \[\n).*?(\n +\]\})', lambda found: found[1] + listed + found[2],
                  SCHEMA.read_text(), count=1, flags=re.DOTALL)


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
    pages = ((PAGE, page()), (SCHEMA, schema()))
    sys.exit(max(rendered.main(place, text, "python -m checks.settings_page --write") for place, text in pages))
