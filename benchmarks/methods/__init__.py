"""Behavioural experiments, by the name of the method: one visible dict."""

from collections.abc import Mapping

from benchmarks.methods.anchored_turns import GIGPO
from benchmarks.methods.answers import SCOPE, SCOPE_TEACHER
from benchmarks.methods.audiences import AUDIENCES
from benchmarks.methods.bandits import CLIP_HIGHER, MASPO
from benchmarks.methods.bits import RDPO
from benchmarks.methods.budgeted_training import DYNAMO_TRAINING
from benchmarks.methods.budgets import DYNAMO
from benchmarks.methods.deliberation import HEAVYSKILL
from benchmarks.methods.desk import DESK
from benchmarks.methods.dialogues import HIAN, HIAN_RAMP
from benchmarks.methods.distillation import AOPD
from benchmarks.methods.experiment import Experiment
from benchmarks.methods.hidden_shelf import HIDDEN_SHELF
from benchmarks.methods.hinted_turns import SDAR
from benchmarks.methods.household_maps import HOUSEHOLD_MAPS
from benchmarks.methods.judging import SELF_VERIFY
from benchmarks.methods.lessons import EXPERIENCE
from benchmarks.methods.memory_layout import MEMOCR
from benchmarks.methods.memory_rules import MEMORY_RULES
from benchmarks.methods.memory_talks import MEMORY_TALKS
from benchmarks.methods.memory_writes import MEMORY_WRITES
from benchmarks.methods.phase_lock import HIPIF
from benchmarks.methods.protocol import DUAL_TRACK
from benchmarks.methods.regression import BATCH_SIZE
from benchmarks.methods.reward_kinds import RDPO_BOUNDS
from benchmarks.methods.skill_calls import SELSKILL
from benchmarks.methods.skill_chains import SIRI
from benchmarks.methods.skill_library import SKILL1
from benchmarks.methods.strategies import STRATEGIES
from benchmarks.methods.tables import PGPO
from benchmarks.methods.tool_graphs import TOOL_GRAPHS

EXPERIMENTS: Mapping[str, Experiment] = {
    "clip_higher": CLIP_HIGHER,
    "maspo": MASPO,
    "rdpo": RDPO,
    "rdpo_bounds": RDPO_BOUNDS,
    "dynamo": DYNAMO,
    "dynamo_training": DYNAMO_TRAINING,
    "gigpo": GIGPO,
    "hipif": HIPIF,
    "hian": HIAN,
    "hian_ramp": HIAN_RAMP,
    "dual_track": DUAL_TRACK,
    "pgpo": PGPO,
    "batch_size": BATCH_SIZE,
    "aopd": AOPD,
    "scope": SCOPE,
    "scope_teacher": SCOPE_TEACHER,
    "sdar": SDAR,
    "skill1": SKILL1,
    "self_verify": SELF_VERIFY,
    "selskill": SELSKILL,
    "siri": SIRI,
    "experience": EXPERIENCE,
    "memocr": MEMOCR,
    "heavyskill": HEAVYSKILL,
    "audiences": AUDIENCES,
    "audience_strategies": STRATEGIES,
    "map_then_act": HIDDEN_SHELF, "household_maps": HOUSEHOLD_MAPS,
    "desk": DESK,
    "scaleenv": TOOL_GRAPHS,
    "memory_rules": MEMORY_RULES,
    "memory_talks": MEMORY_TALKS,
    "memory_writes": MEMORY_WRITES,
}
