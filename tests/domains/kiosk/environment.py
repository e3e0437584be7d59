"""The desk and the kitchen as one environment."""

from tau2.data_model.tasks import Task
from tau2.domains.kiosk.data_model import KioskDB, KitchenDB
from tau2.domains.kiosk.tools import KioskTools
from tau2.domains.kiosk.user_tools import KitchenTools
from tau2.environment.environment import Environment
from tau2.utils import DATA_DIR, load_file

FOLDER = DATA_DIR / "tau2" / "domains" / "kiosk"


class KioskEnvironment(Environment):
    """A machine works while its subscription is active and it is clean."""

    def sync_tools(self) -> None:
        kitchen = self.user_tools.db
        if kitchen.serial:
            locked = not self.tools.db.machines[kitchen.serial].active
            kitchen.display = "locked" if locked else "descale" if kitchen.limescale else "ready"


def get_environment() -> Environment:
    """Return the environment."""
    return KioskEnvironment(
        domain_name="kiosk", policy=load_file(FOLDER / "policy.md"),
        tools=KioskTools(KioskDB.load(FOLDER / "db.json")),
        user_tools=KitchenTools(KitchenDB.load(FOLDER / "user_db.toml")))


def get_tasks() -> list[Task]:
    """Return the tasks."""
    return [Task.model_validate(one) for one in load_file(FOLDER / "tasks.json")]
