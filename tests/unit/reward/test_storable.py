"""What a policy, a judge or a verify server wrote can be stored and sent, whatever characters it has."""

from hone.api import reward_pb2
from hone.graders.contract import Result, Scored, Status
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Reply
from hone.judges.storable import storable_failure, storable_reply
from services.reward.storable import storable_result

BAD, GOOD = "a\0b\ud800", "a\N{REPLACEMENT CHARACTER}b?"


def test_each_text_of_a_grade_is_one_that_a_message_and_a_database_hold() -> None:
    grade = storable_result(Result(
        Status.OK, 1.0, {BAD: 0.5}, (BAD,), BAD, turns={"1": {BAD: 1.0}}, steps=(Scored("1", 0, 1, BAD, 1.0),),
        tokens={BAD: 3}, evidence=({BAD: [BAD]},)))
    assert grade == Result(
        Status.OK, 1.0, {GOOD: 0.5}, (GOOD,), GOOD, turns={"1": {GOOD: 1.0}}, steps=(Scored("1", 0, 1, GOOD, 1.0),),
        tokens={GOOD: 3}, evidence=({GOOD: [GOOD]},))
    assert reward_pb2.Grade(extracted=grade.extracted, components=grade.components).components[GOOD] == 0.5


def test_an_answer_of_a_judge_keeps_its_verdict_and_loses_what_nobody_can_count() -> None:
    reply = storable_reply(Reply(BAD, BAD, 10**30, 7, BAD, [{"name": BAD}]))
    assert reply == Reply(GOOD, GOOD, 10**9, 7, GOOD, [{"name": GOOD}])


def test_a_failure_keeps_its_kind_and_says_it_once() -> None:
    failed = storable_failure(JudgeFailed(ErrorKind.MODEL_SERVER, BAD))
    assert (failed.kind, str(failed)) == (ErrorKind.MODEL_SERVER, f"model_grader_server_error: {GOOD}")
