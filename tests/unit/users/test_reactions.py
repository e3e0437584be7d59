"""What a user makes of an agent's texts: what it says, its mood, and when it leaves."""

import pytest

from hone.users.profile import Profile
from hone.users.reactions import Cue, UserGone, UserState, begun, goal_reached, hear
from tests.unit.users.callers import caller


def heard(profile: Profile, *texts: str, seed: int = 0) -> tuple[UserState, Cue]:
    state, cue = begun(profile), Cue()
    for text in texts:
        state, cue = hear(profile, state, text, seed)
    return state, cue


def test_facts_are_said_when_they_are_asked_for_and_open() -> None:
    assert begun(caller()).revealed == ("name",)
    state, cue = heard(caller(), "Your email and your card number, please.")
    assert (cue.must, cue.refuses, state.revealed) == ((), ("email", "card_number"), ("name",))
    state, cue = heard(caller(), "Which order?", "And your email?")
    assert (cue.must, state.revealed) == (("email",), ("name", "order", "email"))


def test_an_agent_that_asks_nothing_learns_nothing() -> None:
    state, cue = heard(caller(), "Well.", "I see.", "Go on.")
    assert (state.revealed, cue.must, cue.refuses) == (("name",), (), ())


@pytest.mark.parametrize(("texts", "mood"), [
    (["Well."], -0.25), (["Well.", "well. "], -1.5), (["Which order?", "Which order, again?"], -0.5),
    (["I am sorry.", "So sorry."], 0.75), (["No.", "No, no."], -2), (["I will refund it."], 0),
])
def test_the_mood_follows_what_the_agent_does(texts: list[str], mood: float) -> None:
    assert heard(caller(), *texts)[0].mood == mood


@pytest.mark.parametrize(("texts", "ends"), [
    (["It is cancelled.", "You get a refund."], "goal"), (["Canceled, refunded."], "goal"), (["It is cancelled."], ""),
    (["No.", "No way."], "mood"), ([f"Which order? {place}" for place in range(6)], "turns"),
])
def test_a_user_leaves_for_a_reason(texts: list[str], ends: str) -> None:
    profile = caller(mood={"least": -2, "rules": [{"hears": "no", "mood": -1}]})
    state, cue = heard(profile, *texts)
    assert (state.ended, cue.ends) == (ends, ends)
    if ends:
        with pytest.raises(UserGone, match=ends):
            hear(profile, state, "Hello?", 0)


def test_a_goal_with_a_mood_hears_nothing_before_the_mood_is_there() -> None:
    buyer = caller(goal={"text": "Perhaps.", "hears": ["order"], "mood": 1}, knowledge=[],
                   mood={"rules": [{"hears": "cheap", "mood": 1}]})
    assert heard(buyer, "Will you order?")[0].ended == ""
    assert heard(buyer, "Will you order?", "It is cheap.")[0].ended == ""
    assert heard(buyer, "It is cheap.", "Will you order?")[0].ended == "goal"
    willing = caller(goal={"text": "Perhaps.", "mood": 1}, mood={"rules": [{"hears": "cheap", "mood": 1}]})
    assert heard(willing, "It is cheap.")[0].ended == "goal"


def test_who_keeps_the_world_may_decide_the_goal() -> None:
    plain = caller(goal={"text": "Mend it."})
    assert not goal_reached(plain, begun(plain))
    assert hear(plain, begun(plain), "Done.", 0, reached=True)[0].ended == "goal"
    assert hear(caller(), begun(caller()), "Cancelled, refund.", 0, reached=False)[0].ended == ""


def test_hanging_up_depends_on_the_seed_alone_and_comes_as_often_as_its_chance_says() -> None:
    hasty = caller(hang_up=0.25, turns=1000)
    ended = [heard(hasty, "Which order?", seed=seed)[0].ended for seed in range(400)]
    assert ended == [heard(hasty, "Your reason?", seed=seed)[0].ended for seed in range(400)]
    assert 0.18 < ended.count("hang_up") / 400 < 0.32


def test_a_machine_is_noticed_when_it_admits_it_and_perhaps_when_it_repeats_itself() -> None:
    assert heard(caller(), "I am a bot.")[1].notices
    state, cue = heard(caller(), "I am a bot.", "I am a bot, you know.")
    assert (state.noticed, cue.notices) == (True, False)
    assert not heard(caller(), "Hm.", "Hm.")[0].noticed
    assert heard(caller(notices=1), "Hm.", "hm. ")[0].noticed
    assert not heard(caller(notices=1), "Hm.", "Hm?")[0].noticed
