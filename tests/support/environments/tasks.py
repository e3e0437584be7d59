"""A task of each environment."""

from collections.abc import Callable
from functools import partial

from hone.environments.contract import Task
from hone.environments.tasks import make

ROW = {"prompt": "2+3=", "answer": "5", "level": 1}
TASKS: dict[str, Callable[[], Task]] = {
    "sort_digits": partial(make, "sort_digits", {"digits": 6}, 7),
    "even_digits": partial(make, "even_digits", {}, 7),
    "sort_turns": partial(make, "sort_turns", {"digits": 5}, 7),
    "reasoning_gym": partial(make, "reasoning_gym", {"task": "leg_counting", "max_animals": 4}, 7),
    "sqlite": partial(make, "sqlite", {"rows": 6}, 7),
    "phase_lock": partial(make, "phase_lock", {}, 7),
    "table_questions": partial(make, "table_questions", {}, 7),
    "merchant_strategies": partial(make, "merchant_strategies", {}, 7),
    "sql_exploration": partial(make, "sql_exploration", {"rows": 3}, 7),
    "skill_points": partial(make, "skill_points", {}, 7),
    "hidden_shelf": partial(make, "hidden_shelf", {}, 7),
    "text_craft": partial(make, "text_craft", {}, 7),
    "household": partial(make, "household", {}, 7),
    "textworld": partial(make, "textworld", {}, 7),
    "dialogue": partial(make, "dialogue", {}, 7),
    "desk": partial(make, "desk", {}, 7),
    "package": partial(make, "package", {"package": "shop"}, 7),
    "tau2": partial(make, "tau2", {"domain": "kiosk", "tasks": ["renew"]}, 7),
    "changing_user": partial(make, "changing_user", {"life": {"periods": 1}}, 7),
    "dataset": partial(make, "dataset", {}, 0, ROW),
    "verification": partial(make, "verification", {}, 0, {"prompt": "2+3=6?", "label": "No", "rho": 0.5}),
}
