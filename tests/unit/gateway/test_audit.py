"""Every route that may change something has a name in the audit log."""

from typing import Any

from hone.spec.settings import Settings
from services.gateway.app import ROUTES, create
from services.gateway.middleware.audit import UNLOGGED

NOTHING: Any = None


def test_each_action_has_a_name_of_its_own() -> None:
    changing = [(route.tags, route.name, route.path) for module in ROUTES for route in module.router.routes
                if set(route.methods) & {"POST", "PUT", "PATCH", "DELETE"}]
    assert all(len(tags) == 1 for tags, _, _ in changing)
    actions = [f"{tags[0]}.{name}" for tags, name, _ in changing]
    assert len(set(actions)) == len(actions)
    assert set(actions) >= UNLOGGED
    assert create(Settings(), NOTHING, NOTHING).openapi()["paths"].keys() >= {
        path.replace(":path}", "}") for _, _, path in changing}
