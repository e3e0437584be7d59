"""The experiment of judges that look: whoever looks more is right more often."""

from benchmarks.agent_judges import measured


async def test_whoever_looks_more_is_right_more_often() -> None:
    f1 = {one["judge"]: one["pooled"]["f1"] for one in await measured(18, 1)}
    assert f1["accepts everything"] == 2 / 3
    assert f1["reads the claim"] < f1["looks once"] < f1["looks twice"] == 1
