"""The Python of each kind of process: this one, or that of vLLM's own environment."""

import sys
from collections.abc import Mapping
from pathlib import Path

from hone.spec.problems import Invalid, Problem

_ENGINE, _VLLM_PYTHON = "HONE_ENGINE", "HONE_VLLM_PYTHON"
_USUAL_PYTHON = ".venv-vllm/bin/python"  # made by `make vllm`


def python(kind: str, environment: Mapping[str, str]) -> str:
    """Return the interpreter's path. Raises Invalid, which names the variable, if vLLM's Python does not exist."""
    if kind != "inference" or environment.get(_ENGINE) != "vllm":
        return sys.executable
    path = Path(environment.get(_VLLM_PYTHON) or _USUAL_PYTHON).absolute()
    if not path.exists():
        raise Invalid([Problem(_VLLM_PYTHON, f"no file {path}",
                               "the Python of an environment with vLLM; `make vllm` builds .venv-vllm")])
    return str(path)
