"""Result of grading the references of task rows by the run's own grader."""

from dataclasses import dataclass, field

from hone.graders.right_answers import Finding, Standing
from hone.spec.problems import Problem

ENOUGH = 32
"""A run is refused if none of so many references is right, or none of all."""
_NAMED = 5


@dataclass(frozen=True)
class WrongReference:
    """A row whose own reference is not right: its number from 1, the output that was graded, and the reason."""

    row: int
    output: str
    reason: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


@dataclass
class ReferenceFindings:
    """The findings on a source of tasks: counts, the first wrong references, and why others were not checked."""

    at: str  # field of the spec that names the source
    source: str  # for people
    grader: str  # its type
    rows: int = 0  # as far as they were read
    right: int = 0
    wrong: int = 0
    first: list[WrongReference] = field(default_factory=list)
    unchecked: str = ""  # why some or all rows were not checked; "" if all were
    checkable: bool = True  # False: the grader has no references

    @property
    def checked(self) -> int:
        """Number of references that were graded."""
        return self.right + self.wrong

    def add(self, number: int, finding: Finding) -> None:
        """Count the finding of a row."""
        if finding.standing is Standing.UNKNOWN:
            self.unchecked = self.unchecked or finding.reason
        elif finding.standing is Standing.RIGHT:
            self.right += 1
        else:
            self.wrong += 1
            if len(self.first) < _NAMED:
                self.first.append(WrongReference(number, finding.output, finding.reason))

    def problems(self) -> list[Problem]:
        """Return why a run cannot learn from the source; empty unless every checked reference is wrong."""
        if self.right or not self.wrong or (self.wrong < ENOUGH and self.wrong < self.rows):
            return []
        none = Problem(self.at, f"{self.source}, with {self.checked} references and none that is right by its own "
                       "grader "
                       f"{self.grader}", "at least one row whose reference gets the score of a right answer")
        return [none, *(Problem(self.at, str(row), "a reference that its own grader accepts") for row in self.first)]

    def event(self) -> tuple[str, str] | None:
        """Return kind and message of a run's event; None if every reference is right, or the grader has none."""
        left = f"{self.rows - self.checked} of {self.rows} references were not checked: {self.unchecked}"
        if self.wrong:
            more = "; …" if self.wrong > len(self.first) else ""
            rest = f". {left}" if self.unchecked else ""
            return "bad_references", (
                f"{self.source}: {self.wrong} of {self.checked} references are not right by their own grader "
                f"{self.grader}: {'; '.join(map(str, self.first))}{more}{rest}")
        if self.unchecked and self.checkable:
            return "references_unchecked", f"{self.source}: {left}"
        return None
