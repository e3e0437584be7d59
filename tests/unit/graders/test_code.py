"""The code grader beside a sandbox that is played: what it runs, what it says, and what each end is worth."""

from typing import Any

import pytest

from hone.graders.contract import RightOutput, Status
from hone.graders.right_answers import Ending, asked
from hone.graders.specs import checked
from hone.sandbox.program import Ended, Outcome, Program, Ran
from hone.spec.problems import Invalid
from tests.support.graders.code import Plays, graded

ANSWER = "So:\n```python\nprint(int(input()) + 1)\n```\nIt prints:\n```\n2\n```"
BY_INPUT = [{"input": str(number), "output": str(number + 1)} for number in range(6)]
BY_CALLS = [{"args": [number], "expected": number + 1} for number in range(4)]


def adds(program: Program) -> Ran:
    return Ran(Ended.FINISHED, stdout=str(int(program.stdin) + 1).encode(), exit_code=0, wall_ms=10,
               outcomes=tuple(Outcome(call[0] + 1) for call in program.calls))


def ends(status: Ended, **fields: Any) -> Plays:
    return lambda _: Ran(status, exit_code=fields.pop("exit_code", None), **fields)


def test_scripts_and_calls_that_are_right_score_one() -> None:
    result, programs = graded(adds, ANSWER, BY_INPUT)
    assert (result.status, result.score, result.extracted) == (Status.OK, 1.0, "print(int(input()) + 1)\n")
    assert [one.stdin for one in programs] == [str(number).encode() for number in range(6)]
    assert {(one.limits.wall_s, one.limits.memory_bytes) for one in programs} == {(6.0, 512 * 2**20)}
    plays: Plays = lambda one: Ran(Ended.FINISHED, outcomes=tuple(Outcome(call[0] + 1) for call in one.calls))  # noqa: E731
    result, [program] = graded(plays, ANSWER, BY_CALLS, function="{{ item.name }}", prelude="import math")
    assert (result.score, program.calls) == (1.0, [[0], [1], [2], [3]])
    assert program.source.startswith("import math\nprint(")
    assert "expected" not in program.source


@pytest.mark.parametrize(("ran", "status", "reason"), [
    (Ran(Ended.FINISHED, stdout=b"1", exit_code=1), Status.OK, "test 1: the program ended with the exit code 1"),
    (Ran(Ended.FINISHED, stdout=b"\xff", exit_code=0), Status.OK, "test 1: another output"),
    (Ran(Ended.ENDED), Status.OK, "test 1: ended"), (Ran(Ended.MEMORY_LIMIT), Status.OK, "test 1: memory limit"),
    (Ran(Ended.TIME_LIMIT), Status.TIMEOUT_CANDIDATE, "test 1: time limit"),
    (Ran(Ended.INFRA_ERROR, "no keeper"), Status.INFRA_ERROR, "python_grader_server_error: no keeper")])
def test_an_end_that_is_not_right_earns_nothing(ran: Ran, status: Status, reason: str) -> None:
    result, programs = graded(lambda _: ran, ANSWER, BY_INPUT)
    assert (result.status, result.score) == (status, None if status is Status.INFRA_ERROR else 0.0)
    assert result.reasons[0] == reason
    assert len(programs) == 4  # those that began together; no other test can change the grade


def test_a_fraction_counts_each_test_and_goes_on_behind_one_that_ended_the_process() -> None:
    def plays(program: Program) -> Ran:
        numbers = [call[0] for call in program.calls]
        if 1 in numbers:
            return Ran(Ended.TIME_LIMIT, outcomes=tuple(Outcome(one + 1) for one in numbers[:numbers.index(1)]))
        return Ran(Ended.FINISHED, outcomes=tuple(Outcome(one + 1) for one in numbers))

    result, programs = graded(plays, ANSWER, BY_CALLS, function="f", score="fraction")
    assert (result.status, result.score, len(programs)) == (Status.OK, 0.75, 2)
    result, programs = graded(ends(Ended.ERROR), ANSWER, BY_CALLS, function="f", score="fraction")
    assert (result.score, len(programs)) == (0.0, 1)


def test_all_tests_together_have_a_time() -> None:
    plays: Plays = lambda program: Ran(Ended.FINISHED, stdout=adds(program).stdout, exit_code=0, wall_ms=600)  # noqa: E731
    result, programs = graded(plays, ANSWER, BY_INPUT, total_seconds=2.0)
    assert (result.status, result.score, len(programs)) == (Status.TIMEOUT_CANDIDATE, 0.0, 4)
    assert result.reasons == ("the time of all tests together is over",)
    assert graded(plays, ANSWER, BY_INPUT, total_seconds=2.0, score="fraction")[0].score == 4 / 6


def test_inputs_are_shown_only_where_that_is_asked_for_and_held_out_tests_never() -> None:
    plays = ends(Ended.FINISHED, stdout=b"99", exit_code=0)
    seen = "test 1: another output: for '0' found '99', expected '1'"
    assert graded(plays, ANSWER, BY_INPUT[:1])[0].reasons == ("test 1: another output",)
    assert graded(plays, ANSWER, BY_INPUT[:1], show=True)[0].reasons == (seen,)
    hidden = graded(plays, ANSWER, BY_INPUT[:1], show=True, held_out=1)[0]
    assert (hidden.score, hidden.reasons) == (0.0, ("a test that is held out fails",))
    assert hidden.evidence == ({"ran": "code", "tests": 0, "made": 0, "passed": 0},)
    both = graded(plays, ANSWER, BY_INPUT[:1], show=True, held_out_tests="{{ item.more }}", score="fraction")[0]
    assert both.reasons == (seen, "a test that is held out fails")


@pytest.mark.parametrize(("output", "fields", "status"), [
    ("print(1)", {}, Status.NO_ANSWER), ("print(1)", {"extract": "auto"}, Status.OK),
    ("```python\n\n```", {}, Status.NO_ANSWER), ("```sql\nSELECT 1\n```", {}, Status.NO_ANSWER),
    ("<think>```python\nprint(1)\n```", {}, Status.NO_ANSWER), (ANSWER, {"held_out": 7}, Status.INVALID_SPEC),
    (ANSWER, {"tests": "{{ item.lacks }}"}, Status.INVALID_SPEC),
    (ANSWER, {"prelude": "{{ item.lacks }}"}, Status.INVALID_SPEC)])
def test_what_holds_no_program_or_no_tests_is_said(output: str, fields: dict[str, Any], status: Status) -> None:
    assert graded(adds, output, BY_INPUT, **fields)[0].status is status


def test_a_call_needs_the_name_of_a_function() -> None:
    result, _ = graded(adds, ANSWER, BY_CALLS, function="f(")
    assert result.reasons[0].startswith("other_error: function: found 'f(', expected the name of a function")


def test_the_answer_has_no_say_in_its_tests() -> None:
    with pytest.raises(Invalid, match="only variables under item"):
        checked({"type": "code", "tests": "{{ sample.output_json.tests }}"})


@pytest.mark.parametrize(("solution", "text"), [
    ("print(1)", "```python\nprint(1)\n```"), ("s = '```'", "~~~~python\ns = '```'\n~~~~"),
    ("```python\nprint(1)\n```", "```python\nprint(1)\n```")])
def test_the_rows_solution_is_the_right_output(solution: str, text: str) -> None:
    spec = checked({"type": "code", "solution": "{{ item.solution }}"})
    assert asked(spec, {"solution": solution}, Ending()) == RightOutput(text)


CHECKER = "def check(input, expected, output):\n    return abs(int(output) - int(expected)) <= 1"


def near(program: Program) -> Ran:
    """Run the checker here, and a program that is one off: it is the test's own source."""
    if program.function != "check":
        return Ran(Ended.FINISHED, stdout=str(int(program.stdin) + 2).encode(), exit_code=0)
    names: dict[str, Any] = {}
    exec(program.source, names)
    return Ran(Ended.FINISHED, outcomes=tuple(Outcome(names["check"](*call)) for call in program.calls))


def test_a_checker_says_which_outputs_are_right_and_the_program_never_sees_it() -> None:
    result, programs = graded(near, ANSWER, BY_INPUT, checker=CHECKER)
    assert (result.status, result.score) == (Status.OK, 1.0)
    assert not any("def check" in one.source for one in programs if one.function != "check")
    assert programs[4].calls == [["0", "1", "2"], ["1", "2", "3"], ["2", "3", "4"], ["3", "4", "5"]]
    result, _ = graded(near, ANSWER, BY_INPUT, checker="def check(*given): return False", show=True)
    assert (result.score, result.reasons[0]) == (
        0.0, "test 1: the checker rejects it: for '0' found '2', expected '1'")
    plays: Plays = lambda one: near(one) if one.function == "check" else Ran(  # noqa: E731
        Ended.FINISHED, outcomes=tuple(Outcome(call[0] + 2) for call in one.calls))
    assert graded(plays, ANSWER, BY_CALLS, function="f", checker=CHECKER)[0].score == 1.0


@pytest.mark.parametrize(("ran", "status", "words"), [
    (Ran(Ended.FINISHED, outcomes=(Outcome(1),) * 4), Status.INVALID_SPEC, "checker: found it returned 1, expected"),
    (Ran(Ended.FINISHED, outcomes=(Outcome(error="ValueError: no"),) * 4), Status.INVALID_SPEC, "found ValueError: no"),
    (Ran(Ended.TIME_LIMIT), Status.INVALID_SPEC, "checker: found time limit, expected true or false"),
    (Ran(Ended.REFUSED, "no check"), Status.INVALID_SPEC, "checker: found refused, expected true or false"),
    (Ran(Ended.INFRA_ERROR, "away"), Status.INFRA_ERROR, "")])
def test_a_checker_that_fails_gives_no_score(ran: Ran, status: Status, words: str) -> None:
    result, _ = graded(lambda one: ran if one.function == "check" else near(one), ANSWER, BY_INPUT, checker=CHECKER)
    assert (result.status, result.score) == (status, None)
    assert words in result.reasons[0]


def test_a_checker_stands_beside_no_assertions() -> None:
    result, _ = graded(near, ANSWER, ["assert f(1) == 2"], checker=CHECKER)
    assert (result.status, "beside assertions" in result.reasons[0]) == (Status.INVALID_SPEC, True)
