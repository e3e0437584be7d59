"""A judge of tests: it answers each question by a function."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from hone.environments.tools import Examinable, ToolCall, ToolError, use
from hone.graders.contract import Result
from hone.graders.judgement import grades
from hone.graders.questions import Asked, JudgeFailed, Question, Reply
from hone.graders.sample import Sample, World
from hone.graders.scenes import Scene, Seen, State, WorldLost
from hone.graders.specs import Spec
from hone.sandbox.program import Ended, Program, Ran

Says = Callable[[Question], str | Reply | JudgeFailed]


class EpisodeScene:
    """A world that is two episodes of this process."""

    def __init__(self, before: Examinable, after: Examinable) -> None:
        self._episodes: dict[State, Examinable] = {"before": before, "after": after}
        self.tools = [tool.described(name) for name, tool in after.examination_tools().items()]

    async def use(self, tool: str, arguments: Mapping[str, Any], state: State = "after") -> Seen:
        try:
            return Seen(use(self._episodes[state].examination_tools(), ToolCall(tool, dict(arguments))))
        except ToolError as error:
            return Seen(f"error: {error}", valid=False)


class Judged:
    """Tools of a grader whose judge answers by a function, and who looks at `scene`. It keeps the questions."""

    def __init__(self, spec: Spec, says: Says, scene: Scene | None = None) -> None:
        self._spec, self._says, self._scene = spec, says, scene
        self.questions = list[Question]()

    async def graded(self, asked: Sequence[tuple[str, Sample]]) -> list[Result]:
        return [(await grades(self._spec.inner[path], [sample], self))[0] for path, sample in asked]

    async def asked(self, questions: Sequence[Asked]) -> list[Reply | JudgeFailed]:
        asked = [one for one in questions if isinstance(one, Question)]
        self.questions += asked
        return [Reply(said, "judge-1", 10, 2) if isinstance(said, str) else said
                for said in map(self._says, asked)]

    async def ran(self, programs: Sequence[Program]) -> list[Ran]:
        return [Ran(Ended.INFRA_ERROR, "there is no sandbox here")] * len(programs)

    @asynccontextmanager
    async def entered(self, world: World) -> AsyncIterator[Scene]:  # noqa: ARG002
        if self._scene is None:
            raise WorldLost("it is gone")
        yield self._scene


async def judged_by(spec: Spec, says: Says, *outputs: str, item: dict[str, object] | None = None) -> list[Result]:
    """Return the grades of outputs to the same row, which are one group."""
    return await grades(spec, [Sample(dict(item or {"question": "why?"}), output) for output in outputs],
                        Judged(spec, says))
