"""Environment packages as the gateway shows them."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from hone.client.resources import Resource
from hone.remembering.lives import Sizes
from hone.spec.guidelines import GuidelineSpec
from hone.spec.roles import AuthorSpec, TrialSpec

PACKAGE_NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"
MOST_TASKS, LONGEST_MAKING_S = 1024, 86_400


class EnvironmentPackage(Resource):
    """A package under a name. `digest` names its content for good, `version` counts the contents of the name.

    `difficulties` has the number of tasks of each difficulty. `bytes` is the size of its archive. `format` is tau2 for
    a domain of tau2-bench's format: `splits` are its tasks by split; `unproven` says of a task, by its id, why its gold
    actions do not do it, and `remarks` which of them failed and could change nothing.
    """

    name: str
    version: int
    digest: str
    domain: str
    summary: str
    tables: list[str]
    tools: list[str]
    tasks: int
    difficulties: dict[int, int]
    made_by: str
    format: Literal["hone", "tau2"] = "hone"
    splits: dict[str, int] = Field({})
    unproven: dict[str, str] = Field({})
    remarks: dict[str, str] = Field({})
    bytes: int
    created_at: datetime


class PackageJob(Resource):
    """A package, tasks of the desk, lives, or a guideline for noise, made from a hint.

    `reason` says why it failed, or is not done yet.

    `report` says what was tried. `digest` names what was made: of a package the newest version of `name` at that time.
    `progress` has the phase of a making by a model (schema, data, tools, tests, graph, tasks, lives, trials, scenes,
    rounds), and how many of its parts are done. `used` has the answers, tokens and cost of each model that was asked.
    """

    id: str
    environment: Literal["package", "desk", "changing_user", "noise"] = "package"
    name: str
    hint: str
    seed: int
    tasks: int
    sizes: Sizes | None = None
    author: AuthorSpec | None = None
    trial: TrialSpec | None = None
    validator: AuthorSpec | None = None
    guideline: GuidelineSpec | None = None
    within_s: int
    state: Literal["waiting", "taken", "done", "failed", "cancelled"]
    reason: str | None
    progress: dict[str, Any]
    used: dict[str, dict[str, float]]
    digest: str | None
    report: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def stage(self) -> str:
        """Where the making is, in words; empty: nothing is known."""
        return "{phase} {done} of {of}".format(**self.progress) if self.progress else ""
