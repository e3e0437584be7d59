"""A judge of tests: it answers each question by a function."""

from collections.abc import Callable, Sequence

from hone.graders.contract import Result
from hone.graders.judgement import grades
from hone.graders.questions import Asked, JudgeFailed, Question, Reply
from hone.graders.sample import Sample
from hone.graders.specs import Spec
from hone.sandbox.program import Ended, Program, Ran

Says = Callable[[Question], str | JudgeFailed]


class Judged:
    """Tools of a grader whose judge answers by a function. It keeps the questions."""

    def __init__(self, spec: Spec, says: Says) -> None:
        self._spec, self._says = spec, says
        self.questions = list[Question]()

    async def graded(self, asked: Sequence[tuple[str, Sample]]) -> list[Result]:
        return [(await grades(self._spec.inner[path], [sample], self))[0] for path, sample in asked]

    async def asked(self, questions: Sequence[Asked]) -> list[Reply | JudgeFailed]:
        asked = [one for one in questions if isinstance(one, Question)]
        self.questions += asked
        return [said if isinstance(said, JudgeFailed) else Reply(said, "judge-1", 10, 2)
                for said in map(self._says, asked)]

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        return [Ran(Ended.INFRA_ERROR, "there is no sandbox here")] * len(programs)


async def judged_by(spec: Spec, says: Says, *outputs: str, item: dict[str, object] | None = None) -> list[Result]:
    """Return the grades of outputs to the same row, which are one group."""
    return await grades(spec, [Sample(dict(item or {"question": "why?"}), output) for output in outputs],
                        Judged(spec, says))
