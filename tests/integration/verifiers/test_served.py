"""Rubrics of the real packages behind `/verify`: rewards, components, and errors where a rubric fails."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from hone.graders.responses import submission
from tests.integration.verifiers.conftest import Started, script, sent

pytestmark = pytest.mark.timeout(1200)  # the first test installs the packages
ROW = {"prompt": "two and two?", "answer": "4", "info": {"asked": "two and two?"}}


@pytest.fixture(scope="module")
def taskset(served: Started) -> str:
    return served("current", "--verifiers", "sums")


@pytest.fixture(scope="module")
def classic(served: Started, tmp_path_factory: pytest.TempPathFactory) -> str:
    settings = tmp_path_factory.mktemp("settings") / "arguments.yaml"
    settings.write_text("weight: 0.25")
    return served("classic", "--verifiers", "someone/classic-sums@1.0", "--config", str(settings))


@pytest.fixture(scope="module")
def openenv(served: Started) -> str:
    return served("current", "--openenv", "openenv_sums:Tree")


@pytest.mark.parametrize(("kind", "rewards"), [
    ("taskset", {"It is 4": (1.5, {"right": 1.0, "brief": 1.0}),
                 "The result is 5": (0.0, {"right": 0.0, "brief": 0.0})}),
    ("classic", {"It is 4": (1.25, {"right": 1.0, "fitting": 1.0}), "It is 5": (0.25, {"right": 0.0, "fitting": 1.0})}),
    ("openenv", {"The result is 4": (0.75, {
        "rubric_0": 1.0, "rubric_0.rubric": 1.0, "rubric_1": 0.75, "rubric_1.rubric_0": 1.0, "rubric_1.rubric_1": 0.0}),
        "It is 5": (0.0, {"rubric_0": 0.0, "rubric_0.rubric": 0.0})})])
def test_a_rubric_gives_its_reward_and_the_parts(
    kind: str, rewards: Mapping[str, tuple[float, Mapping[str, float]]], request: pytest.FixtureRequest,
) -> None:
    url = request.getfixturevalue(kind)
    for answer, (reward, components) in rewards.items():
        body = submission(ROW, answer)
        found = sent(url, body).json()
        assert found == {**components, **body, "reward": reward, "reward_components": components}
    assert httpx.get(f"{url}/reverify_mode", headers={"Authorization": "Bearer x"}).status_code == 401
    assert sent(url, {}, path="/seed_session").json() == {}


@pytest.mark.parametrize(("kind", "answer", "words"), [
    ("taskset", "RAISE", "the reward's own defect"), ("taskset", "NAN 4", "brief: found nan"),
    ("classic", "RAISE", "right: RuntimeError: the function's own defect"),
    ("openenv", "RAISE", "RuntimeError: the rubric's own defect")])
def test_where_a_rubric_fails_there_is_an_error_and_no_reward(
    kind: str, answer: str, words: str, request: pytest.FixtureRequest,
) -> None:
    """The classic package itself would give 0."""
    url = request.getfixturevalue(kind)
    failed = sent(url, submission(ROW, answer))
    assert failed.status_code == 500
    assert words in failed.json()["detail"]
    assert "reward" not in failed.json()
    assert sent(url, submission(ROW, "It is 4")).status_code == 200, "it serves on"


def test_a_judges_verdict_that_cannot_be_read_is_no_0(served: Started) -> None:
    """In OpenEnv itself it would be, and a gate hides it."""
    failed = sent(served("current", "--openenv", "openenv_sums:judged"), submission(ROW, "It is 4"))
    assert failed.status_code == 500
    assert "rubric: found nan" in failed.json()["detail"]


@pytest.mark.parametrize(("change", "field"), [
    ({"answer": 4}, "answer"), ({"response": {}}, "response.output"), ({"responses_create_params": None},
                                                                      "responses_create_params")])
def test_what_is_no_submission_is_refused_with_the_field(taskset: str, change: dict[str, Any], field: str) -> None:
    wrong = sent(taskset, {**submission(ROW, "4"), **change})
    assert (wrong.status_code, [one["field"] for one in wrong.json()["errors"]]) == (422, [field])
    assert sent(taskset, {}, key="another").status_code == 401


REFUSED = [
    ("current", ["--verifiers", "boxed"], "BoxedTask.left reads a runtime"),
    ("current", ["--verifiers", "no-such"], "no-such is no taskset of verifiers"),
    ("current", ["--verifiers", "classic_sums"], "classic_sums cannot be imported"),
    ("classic", ["--verifiers", "classic_sums", "--config", "group.json"], "together compares the answers"),
    ("classic", ["--verifiers", "no-such"], "no-such is no taskset of verifiers"),
    ("current", ["--openenv", "openenv_sums:Nobody"], "has no attribute 'Nobody'"),
    ("current", ["--openenv", "openenv_sums:Mumbling"], "expected module:Name of an OpenEnv Rubric"),
    ("current", ["--openenv", "openenv_sums:Right", "--verifiers", "sums"], "exactly"),
    ("current", ["--openenv", "openenv_sums:Right", "--host", "0.0.0.0"], "HONE_VERIFIER_KEY")]


@pytest.mark.parametrize("line", ["current", "classic"])
def test_what_a_submission_is_not_enough_for_is_not_served(
    interpreters: Mapping[str, str], tmp_path: Path, line: str,
) -> None:
    (tmp_path / "group.json").write_text(json.dumps({"group": True}))
    cases = [(options, words) for named, options, words in REFUSED if named == line]
    said = json.loads(script(interpreters[line], "served_nothing", str(tmp_path), json.dumps(
        [options for options, _ in cases])))
    for (options, words), (code, text) in zip(cases, said, strict=True):
        assert code == 2, options
        assert words in text
