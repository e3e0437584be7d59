"""HIPIF's rule penalties, arXiv 2606.10507: the process reward of a step, from its record.

The sizes and the matching of names are a reconstruction.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ConfigDict, Field

from hone.spec.parameters import Strict

_COUNTER = re.compile(r"\bstep\s*:?\s*\d+(\s*(/|of)\s*\d+)?")
_CONSUMED = "\0"  # replaces a matched name; neither a letter nor a space, so no other name matches across it


@dataclass(frozen=True)
class SubgoalStep:
    """One step of an episode. Raises ValueError for a subgoal in an output that could not be parsed."""

    action: str | None  # as written; None: the output could not be parsed
    observation: str  # after the action
    executable: bool = True
    effect: bool = True  # False: the environment answered with an error, or nothing changed
    subgoal: str | None = None  # subgoal that this step named; None: it kept its subgoal
    folded: bool = False  # whether it declared the previous subgoal finished

    def __post_init__(self) -> None:
        if self.action is None and (self.subgoal is not None or self.folded):
            raise ValueError("action: found none beside a subgoal, expected no subgoal of an output without a parse")


class Sizes(Strict):
    """Loss of each rule for a step on which it fires; 0 turns it off."""

    model_config = ConfigDict(strict=True)

    grounding: float = Field(0.1, ge=0, description="A new subgoal names a thing that this episode does not have.")
    false_finish: float = Field(
        0.1, ge=0, description="A subgoal is called finished after an action without effect, in an episode that "
        "finally succeeds.")
    loop: float = Field(0.1, ge=0, description="Action and answer repeat those of an earlier step of the subgoal.")
    format: float = Field(0.1, ge=0, description="The output has no such fields, or its action is not possible.")

    @property
    def most(self) -> float:
        """The most that one step can lose."""
        return self.grounding + self.false_finish + self.loop + self.format


def process_rewards(
    steps: Sequence[SubgoalStep], lexicon: Iterable[str], present: Iterable[str], succeeded: bool, sizes: Sizes
) -> dict[str, list[float]]:
    """Return each rule's part of r^proc by the rule's name, one a step: -size where it fires, else 0.

    `lexicon`: all names that the environment can use; `present`: the names of this instance.
    """
    pairs = [None if step.action is None else (step.action, step.observation) for step in steps]
    known, there = frozenset(lexicon), frozenset(present)
    fired = {
        "grounding": [step.subgoal is not None and ungrounded(step.subgoal, known, there) for step in steps],
        "false_finish": false_finishes([step.effect for step in steps], [step.folded for step in steps], succeeded),
        "loop": loops(pairs, [step.subgoal is not None for step in steps]),
        "format": [malformed(step.action, step.executable) for step in steps],
    }
    return {rule: [-getattr(sizes, rule) if flag else 0.0 for flag in flags] for rule, flags in fired.items()}


def ungrounded(subgoal: str, lexicon: Iterable[str], present: Iterable[str]) -> bool:
    """Return whether a subgoal contains a name of the lexicon that is not present.

    Whole words match, without regard to case and trailing numbers. Longer names match first and consume their words.
    """
    there = {_bare(name) for name in present}
    names = {_bare(name) for name in lexicon} - {""}
    return any(name not in there for name in _named(subgoal.lower(), names))


def _bare(name: str) -> str:
    return " ".join(name.lower().rstrip("0123456789 ").split())


def _named(text: str, names: Iterable[str]) -> list[str]:
    found = []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        words = r"\s+".join(map(re.escape, name.split()))
        text, count = re.subn(rf"(?<!\w){words}(?:\s*\d+)?(?!\w)", _CONSUMED, text)
        if count:
            found.append(name)
    return found


def loops(pairs: Sequence[tuple[str, str] | None], starts: Sequence[bool]) -> list[bool]:
    """Return for each step whether its (action, observation after it) already occurred inside the same subgoal.

    None: an output that could not be parsed, which is never a loop. `starts`: the step named a new subgoal.
    """
    fired, seen = [], set[tuple[str, str]]()
    for pair, start in zip(pairs, starts, strict=True):
        if start:
            seen = set()
        now = set() if pair is None else {(pair[0], normal_form(pair[1]))}
        fired.append(bool(now & seen))
        seen |= now
    return fired


def normal_form(observation: str) -> str:
    """Return the text in lower case without step counters ("step 3 of 10"), spaces collapsed."""
    return " ".join(_COUNTER.sub("", observation.lower()).split())


def false_finishes(effects: Sequence[bool], folded: Sequence[bool], succeeded: bool) -> list[bool]:
    """Return for each step whether it declared a subgoal finished after an action without effect, in a success.

    `effects` are the effects of each step's own action. A step judges the action before it.
    """
    answers = [True, *effects][:len(effects)]
    return [succeeded and fold and not effect for fold, effect in zip(folded, answers, strict=True)]


def malformed(action: str | None, executable: bool) -> bool:
    """Return whether an output could not be parsed (no action), or its action could not be executed."""
    return action is None or not executable
