"""A client generated from the OpenAPI document compiles, and so does a program that uses it."""

import json
import subprocess
from pathlib import Path
from typing import Any

from hone.spec.settings import Settings
from services.gateway.app import create
from tests.integration.foreign.conftest import Npm

NOTHING: Any = None
PACKAGES = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")
PROGRAM = Path(__file__).with_name("openapi_client.ts")
STRICT = ["--noEmit", "--strict", "--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022"]


def test_a_generated_client_compiles(npm: Npm, tmp_path: Path) -> None:
    modules = npm("openapi-client", *PACKAGES)
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "openapi.json").write_text(json.dumps(create(Settings(), NOTHING, NOTHING).openapi()))
    (tmp_path / PROGRAM.name).write_text(PROGRAM.read_text())
    tools = modules / ".bin"
    for program, *options in (
        ["openapi-typescript", "openapi.json", "--default-non-nullable=false", "-o", "api.d.ts"],
        ["tsc", *STRICT, PROGRAM.name],
    ):
        ended = subprocess.run(
            [tools / program, *options], cwd=tmp_path, check=False, timeout=120, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
