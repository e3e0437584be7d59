"""Programs in Python: the sandbox runs the answer's program, and this process compares what it gave with the tests.

A program sees the inputs of its tests and never what is expected, so an exit code or a forged comparison earns nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from pydantic import Field, field_validator

from hone.graders import assert_tests, program_tests
from hone.graders.contract import (
    Grader,
    GraderParams,
    InvalidSpec,
    Mark,
    Needs,
    NoAnswer,
    NoReference,
    Result,
    RightOutput,
    Status,
    Tools,
    failure,
)
from hone.graders.error_kinds import ErrorKind
from hone.graders.formats import named_block, shown
from hone.graders.judge_messages import answer_of
from hone.graders.program_tests import AssertTest, CallTest, StdinTest, Test
from hone.graders.sample import Item, Sample
from hone.graders.templates import Template, of_row, rendered, variables
from hone.sandbox.program import MEBI, Ended, Limits, Program, Ran

_NAMES = frozenset({"python", "python3", "py"})
_AT_ONCE = 4
"""Scripts that run at once: a wrong program mostly fails its first tests."""
_LONGEST_PRELUDE = 40_000
_ENTRY = "called_by_its_tests"
_CALLED = f"""

def {_ENTRY}(*args):
    found = globals().get("{{name}}")
    return (found if callable(found) else getattr(Solution(), "{{name}}"))(*args)
"""


class CodeParams(GraderParams):
    """The tests of a program, and what it may use."""

    type: Literal["code"] = Field(description="Name of the grader.")
    tests: Template = Field("{{ item.tests }}", description="The tests in JSON.")
    held_out_tests: Template | None = Field(
        None, description="More tests in JSON. Reasons say only whether a hidden test failed.")
    held_out: int = Field(0, ge=0, description="How many of the last of `tests` are held out in the same way.")
    function: Template = Field("", description="Name of the function, or of the method of a class Solution, that is "
                               "called by tests with arguments.")
    prelude: Template = Field("", description="Python that stands before the program, such as imports.")
    extract: Literal["fence", "auto", "bare"] = Field(
        "fence", description="What is run: fence: the last code block of Python, or else the last without a name; "
        "auto: the same, and without one the whole text; bare: the whole text.")
    score: Literal["all", "fraction"] = Field(
        "all", description="all: 1 if every test passes; fraction: the share of tests that pass.")
    tolerance: float = Field(1e-3, ge=0, le=1, description="Most that numbers may differ by, unless both are whole.")
    seconds: float = Field(6.0, gt=0, le=60, description="Seconds of a test.")
    total_seconds: float = Field(60.0, gt=0, le=300, description="Seconds of all tests together.")
    memory_mb: int = Field(512, ge=16, le=4096, description="MiB that the program may use.")
    show: bool = Field(False, description="Whether reasons show inputs and outputs of tests that are not held out.")
    checker: Template | None = Field(
        None, description="Python with a function check(input, expected, output), which returns whether the output, or "
        "the value of a call, is right. It runs in the sandbox, apart from the program. null: they have to be equal.")
    solution: Template | None = Field(
        None, description="A program that is right, to check the row's tests before a run.")

    @field_validator("tests", "held_out_tests", "function", "prelude", "checker", "solution")
    @classmethod
    def _reads_the_row(cls, template: str | None) -> str | None:
        if any(one.root != "item" for one in variables(template or "")):
            raise ValueError("expected only variables under item: the answer has no say in how it is tested")
        return template


@dataclass(frozen=True)
class _Tried:
    """Result of a test. `why` may be shown to everyone, `seen` only to people who may see the test."""

    passed: bool
    why: str = ""
    seen: str = ""
    late: bool = False


@dataclass
class _Exam:
    """A program, its tests, and what came of those that were tried, which are the first ones."""

    source: str
    tests: list[Test]
    function: str  # empty: of scripts and assertions
    held_out: int  # of the last tests
    params: CodeParams
    checker: str = ""

    def __post_init__(self) -> None:
        self.tried = list[_Tried]()
        self.left_s = self.params.total_seconds
        self.broken = ""  # why the sandbox failed

    @property
    def going(self) -> bool:
        """Whether another test could change the grade. One that has no time left is late."""
        failed = self.params.score == "all" and not all(one.passed for one in self.tried)
        return not self.broken and not failed and len(self.tried) < len(self.tests) and self.left_s > 0

    @property
    def rest(self) -> list[Test]:
        return self.tests[len(self.tried):]

    async def scripts(self, tools: Tools) -> None:
        """Run the script of the next tests, each by itself."""
        tests = [test for test in self.rest[:_AT_ONCE] if isinstance(test, StdinTest)]
        found = await tools.ran([self._script(test) for test in tests])
        self._spend(found)
        tried = [_of_script(test, ran, self.params.tolerance) for test, ran in zip(tests, found, strict=True)]
        self.tried += await self._checked(tools, tried, [
            [test.input, test.output, ran.stdout.decode(errors="replace")]
            if ran.status is Ended.FINISHED and not ran.exit_code else None
            for test, ran in zip(tests, found, strict=True)])

    async def calls(self, tools: Tools) -> None:
        """Make the calls of the tests that are left. One that ends the process fails, and those after it were not made.
        """
        tests = [test for test in self.rest if isinstance(test, CallTest)]
        [ran] = await tools.ran([self._called(tests)])
        self._spend([ran])
        made = list(zip(tests, ran.outcomes, strict=False))
        tried = [_of_call(test, outcome.value, outcome.error, self.params.tolerance) for test, outcome in made]
        self.tried += await self._checked(tools, tried, [
            None if outcome.error else [test.args, test.expected, outcome.value] for test, outcome in made])
        if len(ran.outcomes) < len(tests):
            unanswered = len(tests) if ran.status in (Ended.ERROR, Ended.REFUSED) else 1
            self.tried += [_ended(ran)] * unanswered

    async def _checked(
        self, tools: Tools, tried: list[_Tried], answers: Sequence[list[Any] | None]
    ) -> list[_Tried]:
        """Return the results of tests, by the checker where there is one. None: there is no output to check.

        Raises InvalidSpec where the checker fails: the program is not to blame.
        """
        asked = {place: answer for place, answer in enumerate(answers) if answer is not None}
        if not self.checker or not asked or self.broken:
            return tried
        seconds = self.params.seconds
        [ran] = await tools.ran([Program(self.checker, function="check", calls=list(asked.values()), limits=Limits(
            wall_s=seconds * (len(asked) + 1), call_s=seconds, cpu_s=seconds * (len(asked) + 1)))])
        if ran.status is Ended.INFRA_ERROR:
            self.broken = ran.detail or "the sandbox failed"
            return tried
        wrong = next((one.error.strip()[-200:] or f"it returned {str(one.value)[:100]}" for one in ran.outcomes
                      if one.error or not isinstance(one.value, bool)), "")
        if wrong or len(ran.outcomes) < len(asked):
            raise InvalidSpec(f"other_error: checker: found {wrong or _ended(ran).why}, expected true or false")
        said = dict(zip(asked, (bool(one.value) for one in ran.outcomes), strict=False))
        return [_Tried(said[place], "" if said[place] else "the checker rejects it", one.seen)
                if place in said else one for place, one in enumerate(tried)]

    def _spend(self, found: Iterable[Ran]) -> None:
        for ran in found:
            self.left_s -= ran.wall_ms / 1000
            if ran.status is Ended.INFRA_ERROR:
                self.broken = ran.detail or "the sandbox failed"

    def _script(self, test: StdinTest) -> Program:
        seconds = min(self.params.seconds, self.left_s)
        return Program(self.source, stdin=test.input.encode(), limits=Limits(
            wall_s=seconds, cpu_s=seconds, memory_bytes=self.params.memory_mb * MEBI,
            output_bytes=MEBI + 2 * len(test.output)))

    def _called(self, tests: Sequence[CallTest]) -> Program:
        whole = min(self.left_s, self.params.seconds * (len(tests) + 1))
        entry = _CALLED.format(name=self.function) if self.function else assert_tests.source(_ENTRY)
        return Program(
            self.source + entry, function=_ENTRY, calls=[test.args for test in tests],
            limits=Limits(wall_s=whole, call_s=min(self.params.seconds, whole), cpu_s=whole,
                          memory_bytes=self.params.memory_mb * MEBI, output_bytes=8 * MEBI))

    def result(self, program: str) -> Result:
        """Return the grade."""
        if self.broken:
            return failure(Status.INFRA_ERROR, f"{ErrorKind.PYTHON_SERVER}: {self.broken}")
        share = sum(one.passed for one in self.tried) / len(self.tests)
        untried = share < 1 and all(one.passed for one in self.tried)
        late = untried or any(one.late for one in self.tried)
        score = share if self.params.score == "fraction" else float(share == 1)
        status = Status.TIMEOUT_CANDIDATE if late and score == 0 else Status.OK
        reasons = [*self._reasons(), *(["the time of all tests together is over"] if self.left_s <= 0 else [])]
        return Result(status, score, reasons=shown(reasons), extracted=program, decided_by="code",
                      evidence=(self._evidence(),))

    def _reasons(self) -> list[str]:
        visible, hidden = self._parted()
        said = [f"test {place}: {one.why}" + (f": {one.seen}" if self.params.show and one.seen else "")
                for place, one in enumerate(visible, start=1) if not one.passed]
        return [*said, *(["a test that is held out fails"] if not all(one.passed for one in hidden) else [])]

    def _evidence(self) -> dict[str, Any]:
        visible, _ = self._parted()
        return {"ran": "code", "tests": len(self.tests) - self.held_out, "made": len(visible),
                "passed": sum(one.passed for one in visible)}

    def _parted(self) -> tuple[list[_Tried], list[_Tried]]:
        place = len(self.tests) - self.held_out
        return self.tried[:place], self.tried[place:]


async def grade_sample(sample: Sample, params: CodeParams, tools: Tools) -> Result:
    """Score 1 for a program that passes all tests, or the share of them.

    A program that takes too long is timeout_candidate where it earns nothing. One that crashes, takes too much memory
    or writes garbage fails its test. Raises NoAnswer without a program, and InvalidSpec for tests that cannot be read.
    """
    program = _program(answer_of(sample), params)
    exam = _exam(sample.item, program, params)
    run = exam.calls if isinstance(exam.tests[0], CallTest) else exam.scripts
    while exam.going:
        await run(tools)
    return exam.result(program)


def _program(answer: str, params: CodeParams) -> str:
    """Return the program in an answer. Raises NoAnswer."""
    inside = None if params.extract == "bare" else named_block(answer, _NAMES)
    if inside is None and params.extract == "fence":
        raise NoAnswer("found no code block of Python")
    program = answer if inside is None else inside
    if not program.strip():
        raise NoAnswer("the code block is empty")
    return program


def _exam(item: Item, program: str, params: CodeParams) -> _Exam:
    """Return the program with the tests of the row. Raises InvalidSpec, which names the field."""
    first = program_tests.read(rendered(params.tests, item, ""), "tests")
    if params.held_out > len(first.tests):
        raise InvalidSpec(f"other_error: held_out: found {len(first.tests)} tests, expected {params.held_out} or more")
    more = [] if params.held_out_tests is None else [
        program_tests.read(rendered(params.held_out_tests, item, ""), "held_out_tests")]
    tests = list(chain(first.tests, *(one.tests for one in more)))
    if len({type(one) for one in tests}) > 1:
        raise InvalidSpec("other_error: held_out_tests: found another kind of tests than in tests")
    prelude = rendered(params.prelude, item, "")
    if len(prelude) > _LONGEST_PRELUDE:
        raise InvalidSpec(f"other_error: prelude: found {len(prelude)} characters, expected at most {_LONGEST_PRELUDE}")
    function = _function(item, first.function, params) if type(tests[0]) is CallTest else ""
    held_out = params.held_out + len(tests) - len(first.tests)
    checker = rendered(params.checker, item, "") if params.checker is not None else ""
    if params.checker is not None and not checker.strip():
        raise InvalidSpec("other_error: checker: found nothing, expected a function check(input, expected, output)")
    if checker and isinstance(tests[0], AssertTest):
        raise InvalidSpec("other_error: checker: found it beside assertions, which say what is right themselves")
    return _Exam(f"{prelude}\n{program}" if prelude else program, tests, function, held_out, params, checker)


def _function(item: Item, own: str, params: CodeParams) -> str:
    name = rendered(params.function, item, "").strip() or own
    if not name.isidentifier():
        raise InvalidSpec(f"other_error: function: found {name[:100]!r}, expected the name of a function, because the "
                          "tests have arguments")
    return name


def _of_script(test: StdinTest, ran: Ran, tolerance: float) -> _Tried:
    if ran.status is not Ended.FINISHED:
        return _ended(ran)
    if ran.exit_code:
        return _Tried(False, f"the program ended with the exit code {ran.exit_code}", _tail(ran))
    written = ran.stdout.decode(errors="replace")
    if program_tests.same_output(written, test.output, tolerance):
        return _Tried(True)
    return _Tried(False, "another output", _pair(test.input, written, test.output))


def _of_call(test: CallTest, value: Any, error: str, tolerance: float) -> _Tried:
    if error:
        return _Tried(False, "an error", error.strip()[-200:])
    if program_tests.same_value(value, test.expected, tolerance):
        return _Tried(True)
    return _Tried(False, "another value", _pair(test.args, value, test.expected))


def _ended(ran: Ran) -> _Tried:
    return _Tried(False, ran.status.value.replace("_", " "), _tail(ran), late=ran.status is Ended.TIME_LIMIT)


def _tail(ran: Ran) -> str:
    return (ran.stderr.decode(errors="replace").strip() or ran.detail)[-200:]


def _pair(given: Any, found: Any, expected: Any) -> str:
    return f"for {str(given)[:80]!r} found {str(found)[:80]!r}, expected {str(expected)[:80]!r}"


def right_output(item: Item, params: CodeParams) -> RightOutput:
    """Return the row's solution, in a code block unless it has one."""
    if params.solution is None:
        raise NoReference("the grader names no solution")
    text = of_row(params.solution, item)
    if params.extract == "bare" or named_block(text, _NAMES) is not None:
        return RightOutput(text)
    fence = "~~~~" if "```" in text else "```"
    return RightOutput(f"{fence}python\n{text}\n{fence}")


def marks(params: CodeParams) -> list[Mark]:
    """Return the texts around a program."""
    return [] if params.extract == "bare" else [Mark("```", "```", needed=params.extract == "fence")]


GRADER = Grader(CodeParams, grade_sample=grade_sample, needs=frozenset({Needs.SANDBOX}), right_output=right_output,
                marks=marks, limit_s=420.0)
