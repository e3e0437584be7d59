"""TextWorld: games from seeds can be won by their walkthrough, and their state is the typed commands."""

import pytest

from hone.environments.contract import EpisodeOver, Observation
from hone.environments.textworld import TextWorld, TextWorldEpisode, TextWorldParams

ROOMS = TextWorldParams(rooms=3, objects=5, quest_length=3)


def begun(seed: int, params: TextWorldParams = ROOMS) -> tuple[TextWorldEpisode, Observation]:
    one = TextWorld().episode(params, seed, None)
    return one, one.reset()


def solution(one: TextWorldEpisode) -> list[str]:
    return list(one._game.metadata["walkthrough"])


@pytest.mark.parametrize("seed", range(12))
def test_a_game_is_won_by_its_walkthrough(seed: int) -> None:
    one, seen = begun(seed)
    for command in solution(one):
        assert one.verify() == 0.0
        assert seen.admissible is not None
        assert command in seen.admissible
        assert command in seen.messages[0]["content"]
        taken = one.step(command)
        assert (taken.valid, taken.effect) == (True, True)
        seen = taken.observation
    assert (taken.done, one.verify(), seen.item["verified"]) == (True, 1.0, 1.0)
    with pytest.raises(EpisodeOver):
        one.step("go north")


def test_what_is_no_command_here_takes_a_turn_and_changes_nothing() -> None:
    one, seen = begun(1)
    before = one._facts()
    taken = one.step("dance wildly")
    assert (taken.valid, taken.effect, taken.observation.turns_left) == (False, False, seen.turns_left - 1)
    assert one._facts() == before
    assert "not possible" in taken.observation.messages[0]["content"]


def test_an_episode_ends_with_its_turns() -> None:
    one, _ = begun(1, TextWorldParams(turns=2))
    assert not one.step("wait").done
    assert one.step("wait").done
    assert one.verify() == 0.0


def test_observations_name_doors_things_and_their_state() -> None:
    shown = "".join(begun(seed, TextWorldParams(rooms=6, objects=8))[1].messages[0]["content"] for seed in range(40))
    for words in ("(closed)", "(locked)", "door", "with ", "You carry: nothing", "go north"):
        assert words in shown, words


def test_a_bounded_number_of_games_repeats_and_a_number_is_a_game() -> None:
    few = TextWorldParams(games=4)
    openings = [begun(seed, few)[1].messages for seed in range(8)]
    assert openings[:4] == openings[4:]
    assert len({str(opening) for opening in openings}) == 4


def test_commands_can_be_left_out_of_observations() -> None:
    _, seen = begun(1, TextWorldParams(show_commands=False))
    assert "You can" not in seen.messages[0]["content"]
    assert seen.admissible
