"""Two real ranks against one process: losses, gradients, snapshots, and ranks that die or hang."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen

import pytest
import torch
from safetensors.torch import load

from hone.models.ranks import ALONE
from hone.stack import ports
from services.learner.trainer.rank_group import RankGroup
from tests.acceptance.scene import wait_for
from tests.integration.learner import ranked
from tests.integration.learner.ranked import CASES, OPTIMIZER, TILES
from tests.servers.children import Children

EXACT = {"trajectories", "trained_tokens", "masked_samples", "rejected_rows", "skipped_groups", "skipped_trajectories",
         "forward_tokens", "advantage/zero_variance_groups"}

STALL_S = 15
LOST = {"dies": signal.SIGKILL, "hangs in a call": signal.SIGSTOP, "between two orders": None}
"""How rank 1 is lost: by the signal that the test sends, or by itself."""
by_ranks = pytest.mark.parametrize(("ranks", "name"), [
    (ranks, name) for ranks, names in (("two", CASES), ("two in tiles", TILES)) for name in sorted(names)])


@contextmanager
def pair(work: str, directory: Path, stall_s: float) -> Iterator[list[Popen[bytes]]]:
    """Start two ranks, which write `0.log` and `1.log`; they end with the context."""
    directory.mkdir()
    shared = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2",
              "MASTER_PORT": str(ports.pick(1)[0]), "RANKED": json.dumps([work, str(directory), stall_s])}
    with Children(directory) as children:
        yield [children.start(rank, [sys.executable, "-m", ranked.__name__],
                              env={**shared, "RANK": rank, "LOCAL_RANK": rank}) for rank in ("0", "1")]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every case, played by one process and by two ranks; each goes on from the other's snapshot."""
    directory = tmp_path_factory.mktemp("played")
    group = RankGroup(ALONE)
    for name in CASES:
        ranked.play(group, name, directory / "alone" / name)
    with pair("play", directory / "two", 300) as both:
        statuses = [rank.wait(500) for rank in both]
    assert statuses == [0, 0], (directory / "two" / "0.log").read_text()[-3000:]
    return directory


def step_metrics(directory: Path) -> list[dict[str, float]]:
    found: list[dict[str, float]] = json.loads((directory / "metrics.json").read_text())
    return found


def trained(directory: Path) -> list[Path]:
    return list(directory.glob("*.safetensors"))


def assert_close(found: bytes, expected: bytes, atol: float) -> None:
    ours, theirs = load(found), load(expected)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, atol=atol, rtol=1e-4, msg=name)


def assert_trained_alike(found: bytes, expected: bytes) -> None:
    """Adam makes a full step of a gradient that is all but zero, whichever sign rounding gives it: one weight in five
    hundred may be off by more than rounding, and none by more than all steps in the other direction."""
    ours, theirs = load(found), load(expected)
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        apart = (ours[name] - tensor).abs()
        assert (apart > 2e-5 + 1e-4 * tensor.abs()).float().mean() <= 1 / 500, name
        assert apart.max() <= 2 * 3 * OPTIMIZER["lr"], name


@by_ranks
def test_figures_are_those_of_one_process(played: Path, name: str, ranks: str) -> None:
    both = zip(step_metrics(played / ranks / name), step_metrics(played / "alone" / name), strict=True)
    for steps, (ours, theirs) in enumerate(both):
        assert ours.keys() == theirs.keys()
        atol = 1e-5 if steps else 1e-6  # as weights may differ, below
        for key, value in theirs.items():
            assert ours[key] == (value if key in EXACT else pytest.approx(value, rel=1e-5, abs=atol)), key


def test_cases_are_what_they_are_called(played: Path) -> None:
    first = {name: step_metrics(played / "two" / name)[0] for name in CASES}
    assert 4 <= first["some groups skipped"]["skipped_groups"] < 7
    assert first["every group skipped"]["forward_tokens"] == 0
    assert first["every group skipped"]["grad_norm"] == 0
    assert 0 < first["fewer micro-batches than ranks"]["forward_tokens"] < 512
    skipped = first["critic of what the policy skips"]
    assert skipped["forward_tokens"] == skipped["grad_norm"] == 0 < skipped["critic/grad_norm"]
    assert first["tracks"].keys() >= {"loss/student_path/term", "loss/teacher_path/clip_fraction"}
    likeliest = first["tracks, of which one reads the likeliest ids"]
    assert likeliest["loss/student_path/term"] > 0 < likeliest["loss/teacher_path/teacher_distance"]


@by_ranks
def test_gradients_and_weights_are_those_of_one_process(played: Path, name: str, ranks: str) -> None:
    ours, theirs = (played / who / name for who in (ranks, "alone"))
    for path in (theirs / "snapshot").glob("*optimizer.safetensors"):
        found, wanted = load((ours / "snapshot" / path.name).read_bytes()), load(path.read_bytes())
        assert any(key.startswith("gradient.") for key in wanted) or name == "every group skipped"
        for key, expected in wanted.items():
            # Sums are taken in another order, and weights may differ, above: by a share of the largest terms.
            atol = max(1e-6, 5e-4 * float(expected.abs().max()))
            torch.testing.assert_close(found[key], expected, atol=atol, rtol=1e-3, msg=key)
    for path in trained(theirs):
        assert_trained_alike((ours / path.name).read_bytes(), path.read_bytes())
    assert json.loads((ours / "logprobs.json").read_text()) == [
        pytest.approx(each, abs=1e-4) for each in json.loads((theirs / "logprobs.json").read_text())]


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_snapshot_says_not_how_many_ranks_wrote_it(played: Path, name: str) -> None:
    """The same snapshot, written by one process, goes on by itself and with two ranks; and the other way round."""
    group, case = RankGroup(ALONE), CASES[name]
    ours, theirs = (played / who / name for who in ("two", "alone"))
    written, expected = ({path.name for path in (each / "snapshot").iterdir()} for each in (ours, theirs))
    assert written == expected
    again = ranked.resumed(group, case, ours / "snapshot")
    assert len(trained(theirs)) == len(again) == (1 if case.critic is None else 2)
    for path in trained(theirs):
        assert_close((ours / "resumed" / path.name).read_bytes(), path.read_bytes(), 1e-7)
        assert_close(again[path.name], (ours / path.name).read_bytes(), 1e-7)


def test_two_ranks_give_the_same_bits_every_time(played: Path) -> None:
    first, again = (played / "two" / name for name in ("ragged", "again"))
    for name in ("weights.safetensors", "snapshot/optimizer.safetensors", "logprobs.json"):
        assert (first / name).read_bytes() == (again / name).read_bytes()


def test_a_rank_holds_its_part_of_the_weights(played: Path) -> None:
    assert float((played / "two" / "held").read_text()) == pytest.approx(0.5, abs=0.02)


def test_what_no_rank_can_do_is_refused_and_they_go_on(played: Path) -> None:
    assert "found samples" in (played / "two" / "refused").read_text()
    assert load((played / "two" / "after").read_bytes())


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Whether rank 0 of each of three pairs gave the reason when rank 1 was lost. The pairs wait beside each other."""
    directory = tmp_path_factory.mktemp("lost")
    with ExitStack() as opened:
        pairs = {name: opened.enter_context(pair("rest" if name == "between two orders" else "ask", directory / name,
                                                 STALL_S)) for name in LOST}
        for name, number in LOST.items():
            if number is not None:
                wait_for("both ranks at work", (directory / name / "begun").exists, 120)
                pairs[name][1].send_signal(number)
        for first, _ in pairs.values():
            first.wait(300)
        return {name: "RanksLost" in (directory / name / "0.log").read_text() for name in LOST}


@pytest.mark.parametrize("name", LOST)
def test_a_rank_that_dies_or_hangs_ends_the_other(reported: dict[str, bool], name: str) -> None:
    assert reported[name], "rank 0 reports the reason"
