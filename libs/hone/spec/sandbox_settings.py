"""Settings of the sandbox."""

from typing import Literal

from pydantic import Field

from hone.spec.parameters import Strict


class SandboxSettings(Strict):
    """How programs of tenants and of models are run (docs/sandbox.md)."""

    isolation: Literal["strongest", "bubblewrap", "namespaces", "limits", "none"] = Field(
        "strongest", description="Walls around programs: bubblewrap or namespaces, of which strongest takes the first "
        "that works on this machine; limits parts them from less, none is for tests. The sandbox does not start with "
        "weaker ones than are asked for.")
    places: int | None = Field(
        None, ge=1, le=256, description="Programs that run at a time, each in a warm interpreter. Without a value: as "
        "many as the machine has cores.")
    memory_mb: int = Field(
        2048, ge=64, le=4096, description="Most memory that a program may ask for, MiB. All places together may take "
        "so much each.")
    preload: str = Field(
        "numpy", pattern=r"^[\w.]*(,[\w.]+)*$", description="Packages that are loaded before a program starts, with "
        "commas between them. A program may load others that are installed beside the sandbox.")
