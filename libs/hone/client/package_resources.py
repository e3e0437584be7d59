"""Environment packages as the gateway shows them."""

from datetime import datetime

from hone.client.resources import Resource

PACKAGE_NAME = r"^[a-z0-9][a-z0-9_.-]{0,63}$"


class EnvironmentPackage(Resource):
    """A package under a name. `digest` names its content for good, `version` counts the contents of the name.

    `difficulties` has the number of tasks of each difficulty. `bytes` is the size of its archive.
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
    bytes: int
    created_at: datetime
