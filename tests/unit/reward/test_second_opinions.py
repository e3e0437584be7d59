"""Which samples are judged twice follows from their place alone."""

from statistics import fmean

from services.reward.second_opinions import drawn


def test_a_share_of_samples_is_drawn_from_their_places() -> None:
    places = [(group, index) for group in range(2000, 3000) for index in range(8)]
    numbers = [drawn(place) for place in places]
    assert numbers == [drawn(place) for place in places]
    assert 0 <= min(numbers) < max(numbers) < 1
    for share in (0.1, 0.5):
        assert abs(fmean(number < share for number in numbers) - share) < 0.01
