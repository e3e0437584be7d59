"""Worlds of the real packages as environments: OpenEnv's server, environments of `verifiers`, MCP servers."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from subprocess import Popen
from typing import Any

import grpc
import pytest
import yaml
from psycopg.types.json import Jsonb

from hone.api import simulation_pb2 as pb
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from hone.api.trajectory_pb2 import Task
from hone.environments import tasks
from hone.environments.contract import EpisodeFailed, EpisodeLost, WrongParams
from hone.environments.foreign.places import Place
from hone.stack import ports
from hone.telemetry import logs
from tests.integration.reward.rows import make_run
from tests.integration.verifiers.conftest import PATH, Begun, said, script
from tests.servers import foreign_packages
from tests.servers.children import Children
from tests.servers.service import refused_field, running

pytestmark = pytest.mark.timeout(1200)  # the first test installs the packages


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    with Children(tmp_path_factory.mktemp("worlds")) as children:
        yield children


@pytest.fixture(scope="module")
def openenv(
    children: Children, interpreters: Mapping[str, str], places: dict[str, Place],
) -> Callable[..., str]:
    """Start the server of guesses, anew where it died, and return its name."""
    [port] = ports.pick(1)
    command = [interpreters["current"], str(foreign_packages.MODULES / "openenv_guess.py"), str(port)]
    places["guess"] = Place(protocol="openenv", url=f"http://127.0.0.1:{port}")

    started = list[Popen[bytes]]()

    def start(died: bool = False) -> str:
        if died:
            started[-1].wait(120)
        if not started or started[-1].poll() is not None:
            started.append(children.start("openenv", command, env=foreign_packages.variables()))
            children.wait("openenv", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        return "guess"

    return start


@pytest.fixture(scope="module", autouse=True)
def classic(interpreters: Mapping[str, str], places: dict[str, Place]) -> None:
    shared: dict[str, Any] = {"protocol": "verifiers", "python": interpreters["classic"], "timeout_s": 40,
                              "package": "classic_guess", "variables": PATH}
    places["number"] = Place(**shared)


def wins_by(fork: Any, action: str) -> bool:
    with closing(fork):
        return bool(fork.step(action).done and fork.verify() == 1.0)


def test_an_openenv_server_is_played_and_its_episodes_are_made_again_from_their_seeds(
    openenv: Callable[[], str], begun: Begun,
) -> None:
    one, seen = begun("openenv", openenv())
    assert seen.messages == [{"role": "user", "content": "a number from 1 to 9?\n"}]
    assert said(one.step("5")) == ["more"]
    with closing(one.fork()) as other:
        wins = [guess for guess in "6789" if wins_by(other.fork(), guess)]
        assert len(wins) == 1
        assert other.step(wins[0]).observation.state_hash == one.step(wins[0]).observation.state_hash
    assert (one.verify(), begun("openenv", "guess", seed=2)[1].state_hash != seen.state_hash) == (1.0, True)
    shown, _ = begun("openenv", "guess", errors="show", action="tool")
    assert said(shown.step(json.dumps({"tool": "act", "arguments": {"text": "RAISE"}}))) == [
        "error: the environment's own defect"]
    assert said(shown.step(json.dumps({"tool": "act", "arguments": {}}))) == [
        "error: Invalid message: text: Field required"]


@pytest.mark.parametrize(("action", "kind", "words"), [
    ("RAISE", EpisodeFailed, "the environment's own defect"), ("DIE", EpisodeLost, "has gone")])
def test_an_openenv_server_that_fails_or_dies_is_named(
    openenv: Callable[..., str], begun: Begun, action: str, kind: type[Exception], words: str,
) -> None:
    one, seen = begun("openenv", openenv())
    one.step("1")
    with pytest.raises(kind, match=words):
        one.step(action)
    assert begun("openenv", openenv(died=action == "DIE"))[1] == seen, "a new server makes the episode again"


def test_what_is_no_openenv_server_is_named(
    openenv: Callable[[], str], places: dict[str, Place], begun: Begun,
) -> None:
    url = places[openenv()].url
    places["elsewhere"] = Place(protocol="openenv", url=f"{url}/none")
    places["away"] = Place(protocol="openenv", url="http://127.0.0.1:9")
    for world, params, words in [("elsewhere", {}, "schemas at /schema"), ("guess", {"field": "none"}, "params.field"),
                                 ("guess", {"show": "none"}, "params.show")]:
        with pytest.raises(WrongParams, match=words):
            begun("openenv", world, **params)
    with pytest.raises(EpisodeLost, match="cannot be reached"):
        begun("openenv", "away")


def test_an_environment_of_verifiers_is_played_as_the_package_plays_it(
    begun: Begun, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HONE_STACK_TOKEN", "a secret of the service")
    one, seen = begun("verifiers", "number")
    assert seen.messages == [{"role": "user", "content": "a number like 4?\n"}]
    assert [tool["function"]["name"] for tool in seen.tools] == ["add"]
    called = begun("verifiers", "number")[0].step(json.dumps({"tool": "add", "arguments": {"a": 2, "b": 3}}))
    assert called.observation.messages == [{"role": "tool", "content": "5\n"}]
    assert [said(one.step(text)) for text in ("1", "SECRETS")] == [["more"], [""]]
    with closing(one.fork()) as other:
        assert said(one.step("4")) == said(other.step("4")) == ["right"]
        assert one.verify() == other.verify() == 1.0
    lost, _ = begun("verifiers", "number")
    assert [lost.step("9").done for _ in range(4)] == [False, False, False, True]
    assert lost.verify() == 0.0
    failed, _ = begun("verifiers", "number")
    failed.step("RAISE")
    with pytest.raises(EpisodeFailed, match="the function's own defect"):
        failed.step("4")


def test_a_program_of_verifiers_that_dies_is_started_again(begun: Begun) -> None:
    one, beside = begun("verifiers", "number")[0], begun("verifiers", "number")[0]
    with pytest.raises(EpisodeLost, match="status 3"):
        one.step("DIE")
    with pytest.raises(EpisodeLost):
        beside.step("1")
    assert said(begun("verifiers", "number")[0].step("4")) == ["right"]


def test_the_simulation_service_plays_worlds_of_tenants_and_of_the_operators_file(
    openenv: Callable[[], str], places: dict[str, Place], postgres_url: str, postgres_owner_url: str, tmp_path: Path,
) -> None:
    """A session is forked, its server dies, and it is lost; a world of another tenant is none."""
    run = make_run(postgres_owner_url)
    run.do("INSERT INTO judges (tenant_id, name, url, model, terms) VALUES (%s, 'maze', %s, '', %s)",
           run.tenant_id, places[openenv()].url, Jsonb({"protocol": "openenv"}))
    (tmp_path / "worlds.yaml").write_text(yaml.safe_dump({"number": places["number"].model_dump()}))
    with running("simulation", HONE_DATABASE_URL=postgres_url, HONE_WORLDS=str(tmp_path / "worlds.yaml")) as service:
        simulation = SimulationServiceStub(service.channel)
        worlds = [Task(environment=environment, params_json=json.dumps({"world": world}), seed=1)
                  for environment, world in (("openenv", "maze"), ("verifiers", "number"))]
        maze, number = reset(simulation, run.tenant_id, *worlds)
        fork = simulation.Fork(pb.ForkRequest(session_id=maze.session_id)).session
        for session in (maze, fork, number):
            taken = simulation.Step(pb.StepRequest(session_id=session.session_id, action="1"))
            assert taken.observation.messages[0].content == "more\n"
        outcome = simulation.StepBatch(pb.StepBatchRequest(steps=[
            pb.StepRequest(session_id=fork.session_id, index=1, action="DIE")])).outcomes[0]
        assert "has gone" in outcome.lost
        with pytest.raises(grpc.RpcError) as away:
            reset(simulation, run.tenant_id, worlds[0])
        assert away.value.code() == grpc.StatusCode.UNAVAILABLE  # type: ignore[attr-defined]
        with pytest.raises(grpc.RpcError) as refused:
            reset(simulation, "ten_other", worlds[0])
        assert refused_field(refused.value)[0] == "tasks[0].params.world"


def reset(simulation: Any, tenant_id: str, *worlds: Task) -> Any:
    """Start a session in each world as a worker does for a run of a tenant."""
    with logs.about(tenant_id=tenant_id):
        return simulation.Reset(pb.ResetRequest(tasks=worlds), timeout=60).sessions


CALLS = [json.dumps({"tool": tool, "arguments": arguments}) for tool, arguments in [
    ("add", {"a": 2, "b": 2}), ("divide", {"a": 1, "b": 0}), ("none", {}), ("variables", {})]]


def test_a_session_that_an_older_mcp_server_does_not_know_any_more_is_lost(
    children: Children, interpreters: Mapping[str, str], places: dict[str, Place],
) -> None:
    """Servers of `mcp` below 2 keep sessions, which end with them. The answer of a new one is no tool's error."""
    [port], server = ports.pick(1), str(foreign_packages.MODULES / "mcp_calculator.py")
    places["older"] = Place(protocol="mcp", url=f"http://127.0.0.1:{port}/mcp")
    children.start("older", [interpreters["classic"], server, str(port)], env=foreign_packages.variables())
    task = tasks.make("mcp", {"world": "older"}, 0, {"prompt": "two and two?", "answer": "4"})
    episode: Any = tasks.episode(task)
    with closing(episode):
        children.wait("older", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        episode.reset()
        assert said(episode.step(CALLS[0])) == ["4"]
        children.restart("older")
        children.wait("older", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
        with pytest.raises(EpisodeLost, match="has gone"):
            episode.step(CALLS[0])
        episode.reset()
        assert said(episode.step(CALLS[0])) == ["4"]


def test_tools_of_mcp_servers_are_called_over_pipes_and_http(
    children: Children, interpreters: Mapping[str, str],
) -> None:
    """In an interpreter with the oldest `mcp` that is played."""
    [port], python, server = ports.pick(1), interpreters["current"], str(foreign_packages.MODULES / "mcp_calculator.py")
    children.start("mcp", [python, server, str(port)], env=foreign_packages.variables())
    children.wait("mcp", lambda: ports.answers(f"127.0.0.1:{port}"), timeout_s=60)
    url = f"http://127.0.0.1:{port}"
    cases = {"places": {"pipes": {"command": [python, server]}, "http": {"url": f"{url}/mcp"},
                        "few": {"url": f"{url}/mcp"}, "late": {"url": f"{url}/mcp", "timeout_s": 1},
                        "wrong": {"url": f"{url}/none"}, "away": {"url": "http://127.0.0.1:9/mcp"},
                        "nobody": {"command": ["/dev/null/none"]}},
             "plays": [["pipes", CALLS[3:]], ["http", [*CALLS[:3], "It is 4"]], ["few", CALLS[3:]],
                       ["late", ['{"tool": "wait", "arguments": {}}']], ["wrong", []], ["away", []],
                       ["nobody", []], ["http", ['{"tool": "die", "arguments": {}}']]]}
    pipes, http, few, *failed = json.loads(script(python, "plays_mcp", json.dumps(cases)))
    names = "add,divide,variables,wait,die"
    assert pipes == [names, "none\n"]
    assert http[:2] + http[3:] == [names, "4\n", f"error: no tool none; there are {names.replace(',', ', ')}\n",
                                   "done True"]
    assert "division by zero" in http[2]
    assert few == ["add,divide", "error: no tool variables; there are add, divide\n"]
    kinds = [one[-1].split(":")[0] for one in failed]
    assert kinds == ["EpisodeFailed", "WrongParams", "EpisodeLost", "WrongParams", "EpisodeLost"], failed
