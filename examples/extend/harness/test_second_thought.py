"""The order of a sample's effects: two calls, then an action that is the second answer."""

from hone_second_thought import SecondThought, SecondThoughtParams

from hone.harnesses.seat import Act, Answer, Ask, Finished, Heard, Seat, Taken, advanced

QUESTION = [{"role": "user", "content": "s21="}]


def test_the_second_answer_is_the_action_and_the_first_is_read_before_it():
    seat = Seat(QUESTION, [], Heard(QUESTION), "")
    play = SecondThought().play(seat, SecondThoughtParams())
    first = advanced(play)
    assert isinstance(first, Ask)
    assert (first.kind, list(first.said)[:1]) == ("first", QUESTION)
    second = advanced(play, Answer("0", "21"))
    assert isinstance(second, Ask)
    assert [one["content"] for one in second.said] == ["s21=", "21", "Check your answer."]
    act = advanced(play, Answer("1", "12"))
    assert isinstance(act, Act)
    assert act.action == "12"
    assert isinstance(advanced(play, Taken(Heard([]), done=True)), Finished)
