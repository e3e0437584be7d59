"""Tasks that a model writes from a hint: each draft passes the gates and a validator, or is written anew.

STAGE-Claw, arXiv 2606.10394, stages 1 and 2. A validator who refuses what the gates accept is heard by an adjudicator:
two passes, which quote their evidence, have to overrule it. That is our reading: the paper adjudicates checks that
cannot be decided, and conditions always can.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

from pydantic import Field

from hone.environments.contract import Row
from hone.environments.desk import prompts
from hone.environments.desk.episode import opening
from hone.environments.desk.snapshots import text
from hone.environments.desk.validation import ACCEPTED, ASPECTS, Aspect, total
from hone.environments.desk.written import FAMILY, WrittenTask, row_of, task_of
from hone.environments.desk.written_gates import written_gates
from hone.environments.synthesis.author import Json, NoAnswer, accepted, answered
from hone.environments.synthesis.model_author import AskedModel, Asking
from hone.environments.synthesis.trail import Trail
from hone.spec.parameters import Strict

TRIES, PASSES = 3, 2
"""Drafts that are tried at most for each task that is wanted, and passes of an adjudication."""
_SHOWN, _SHORTEST_QUOTE = 20, 12


class Missing(Strict):
    """A check that demands what an agent cannot know."""

    check: str = Field(max_length=100)
    why: str = Field(max_length=1000)


class WrittenOpinion(Strict):
    """Verdict of a validator on a task."""

    scores: dict[Aspect, float]
    missing: list[Missing] = Field([], max_length=20)
    repair: list[str] = Field([], max_length=20)


class Adjudication(Strict):
    """Verdict of an adjudicator on an objection."""

    upheld: bool
    evidence: str = Field(max_length=2000)


@dataclass(frozen=True)
class Noted:
    """Verdict of the validator on a draft that passed the gates, and whether it was overruled."""

    number: int
    score: float
    missing: tuple[str, ...]
    objection: str  # "": it accepts
    adjudicated: tuple[bool, ...] = ()  # whether each pass upheld the objection
    accepted: bool = True


@dataclass
class AuthoredTasks:
    """Tasks in the making. `author` writes them, `validator` reads them; the two may be the same model."""

    author: AskedModel
    validator: AskedModel
    seed: int = 0
    trail: Trail = field(default_factory=Trail)
    noted: list[Noted] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._asking = Asking(prompts.SYSTEM, self.seed)

    def made(self, hint: str, wanted: int) -> list[Row]:
        """Return rows for the environment `desk`. Raises NoWorld, with what was tried, where no task was accepted."""
        kept = accepted(self.trail, "tasks", wanted, TRIES * wanted, partial(self._task, hint), "no task was accepted")
        return [_row(one, place) for place, one in enumerate(kept)]

    def _task(self, hint: str, number: int, kept: Sequence[WrittenTask]) -> WrittenTask:
        """Return a task that is accepted. Its author hears what was wrong with the last draft. Raises NoAnswer."""
        known = [one.instruction for one in kept]
        question = prompts.task(hint, number, known[-_SHOWN:])
        return answered(self.trail, f"task {number}", WrittenTask,
                        partial(self._asked, self.author, f"task {number}", question),
                        partial(self._wrong, number, known))

    def _wrong(self, number: int, known: Sequence[str], written: WrittenTask) -> str:
        """Return why a draft is not accepted; "": it is. The gates come first."""
        if text(written.instruction) in map(text, known):
            return "instruction: another task asks the same"
        failed = [one for one in written_gates(written) if not one.passed]
        if failed:
            return "; ".join(f"{one.gate}: {one.repair}" for one in failed)
        return self._judged(number, written)

    def _judged(self, number: int, written: WrittenTask) -> str:
        """Return the validator's objection, unless it has none or is overruled."""
        try:
            found = answered(self.trail, f"validation of task {number}", WrittenOpinion,
                             partial(self._asked, self.validator, f"validation {number}", prompts.opinion(written)),
                             partial(_wrong_opinion, written))
        except NoAnswer as error:
            return f"no validator accepted it, because none could be understood: {error}"
        missing, points = tuple(f"{one.check}: {one.why}" for one in found.missing), total(found.scores)
        objection = _objection(found, points)
        upheld = self._adjudicated(number, written, objection) if objection else ()
        accepted = not any(upheld)
        self.noted.append(Noted(number, points, missing, objection, upheld, accepted))
        return "" if accepted else objection

    def _adjudicated(self, number: int, written: WrittenTask, objection: str) -> tuple[bool, ...]:
        """Return whether each pass upholds an objection. One that quotes nothing of the task does not overrule it."""
        question, found = prompts.adjudication(written, objection), list[bool]()
        for place in range(PASSES):
            about = f"adjudication {place} of task {number}"
            try:
                found.append(answered(self.trail, about, Adjudication, partial(
                    self._asked, self.validator, about, question), partial(_wrong_verdict, written)).upheld)
            except NoAnswer:
                found.append(True)
        return tuple(found)

    def _asked(self, model: AskedModel, about: str, question: str, complaint: str) -> Json:
        return self._asking(model, f"desk {about}", question, complaint)

    def as_json(self) -> Mapping[str, object]:
        """Return the validators' verdicts, for a report."""
        return {"validations": [asdict(one) for one in list(self.noted)]}


def _objection(found: WrittenOpinion, points: float) -> str:
    """Return why a validator does not accept a task, in words; "": it does."""
    parts = [f"the instruction does not say what {one.check} demands: {one.why}" for one in found.missing]
    if points < ACCEPTED:
        parts += [f"the validator gives {points:g}, expected {ACCEPTED:g}", *found.repair]
    return "; ".join(parts)


def _wrong_opinion(written: WrittenTask, found: WrittenOpinion) -> str:
    if found.scores.keys() != ASPECTS.keys() or not all(0 <= one <= 100 for one in found.scores.values()):
        return f"scores: expected numbers from 0 to 100 for {', '.join(ASPECTS)}"
    ids = {one.id for one in task_of(written).checks}
    strange = [one.check for one in found.missing if one.check not in ids]
    return f"missing: there is no check {strange[0]!r}" if strange else ""


def _wrong_verdict(written: WrittenTask, found: Adjudication) -> str:
    quoted = text(found.evidence)
    stands = len(quoted) >= _SHORTEST_QUOTE and quoted in text(_read(written))
    return "" if stands else f"evidence: expected at least {_SHORTEST_QUOTE} characters that stand in the task"


def _read(written: WrittenTask) -> str:
    """Return a task as it is shown, and its texts without the escapes of JSON."""
    texts = [written.instruction, *(one.description for one in written.checks),
             *(one.text for one in written.desk.files.values()), *(one.body for one in written.desk.mail.values()),
             *(one.text for one in written.desk.notes.values())]
    return "\n".join([prompts.shown(written), *texts])


def _row(written: WrittenTask, place: int) -> Row:
    return {"prompt": opening(task_of(written))[0]["content"], "family": FAMILY, "seed": place,
            "task": row_of(written)}
