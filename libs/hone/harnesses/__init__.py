"""Harnesses by name. Adding one is a file here and a line in this dict."""

from hone.harnesses.chat import Chat
from hone.harnesses.contract import Harness
from hone.harnesses.dialogue import Dialogue
from hone.harnesses.folding import Folding
from hone.harnesses.heavy import Heavy
from hone.harnesses.library import Library
from hone.harnesses.map_then_act import MapThenAct
from hone.harnesses.remembering import Remembering
from hone.harnesses.skills import Skills
from hone.harnesses.sql_phases import SqlPhases
from hone.harnesses.tool_loop import ToolLoop
from hone.harnesses.verified_vote import VerifiedVote

HARNESSES: dict[str, Harness] = {
    "chat": Chat(),
    "dialogue": Dialogue(),
    "folding": Folding(),
    "heavy": Heavy(),
    "library": Library(),
    "map_then_act": MapThenAct(),
    "remembering": Remembering(),
    "skills": Skills(),
    "tool_loop": ToolLoop(),
    "sql_phases": SqlPhases(),
    "verified_vote": VerifiedVote(),
}
