"""Environments by name. Adding one is a file here and a line in this dict."""

from hone.environments.changing_user import ChangingUser
from hone.environments.contract import Environment
from hone.environments.dataset import DatasetRows
from hone.environments.desk.environment import Desk
from hone.environments.dialogue import Dialogue
from hone.environments.even_digits import EvenDigits
from hone.environments.foreign.mcp import Mcp
from hone.environments.foreign.openenv import OpenEnv
from hone.environments.foreign.verifiers_package import VerifiersPackage
from hone.environments.hidden_shelf import HiddenShelf
from hone.environments.household import Household
from hone.environments.merchant_strategies import MerchantStrategies
from hone.environments.packages.environment import PackagedWorld
from hone.environments.phase_lock import PhaseLock
from hone.environments.reasoning_gym import ReasoningGym
from hone.environments.skill_points import SkillPoints
from hone.environments.sort_digits import SortDigits
from hone.environments.sort_turns import SortTurns
from hone.environments.sql_exploration import SqlExploration
from hone.environments.sqlite import Sqlite
from hone.environments.table_questions import TableQuestions
from hone.environments.tau2.environment import Tau2World
from hone.environments.text_craft import TextCraft
from hone.environments.textworld import TextWorld
from hone.environments.verification import Verification

ENVIRONMENTS: dict[str, Environment] = {
    "sort_digits": SortDigits(),
    "reasoning_gym": ReasoningGym(),
    "even_digits": EvenDigits(),
    "sort_turns": SortTurns(),
    "sqlite": Sqlite(),
    "phase_lock": PhaseLock(),
    "sql_exploration": SqlExploration(),
    "skill_points": SkillPoints(),
    "hidden_shelf": HiddenShelf(),
    "text_craft": TextCraft(),
    "household": Household(),
    "merchant_strategies": MerchantStrategies(),
    "table_questions": TableQuestions(),
    "textworld": TextWorld(),
    "dialogue": Dialogue(),
    "changing_user": ChangingUser(),
    "dataset": DatasetRows(),
    "verification": Verification(),
    "package": PackagedWorld(),
    "openenv": OpenEnv(),
    "mcp": Mcp(),
    "verifiers": VerifiersPackage(),
    "desk": Desk(),
    "tau2": Tau2World(),
}
