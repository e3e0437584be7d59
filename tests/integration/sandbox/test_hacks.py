"""No program gets a reward that it did not earn, and none harms the service (methods/verification, the hack suite)."""

import json
from collections.abc import Iterator

import pytest

from hone.api.sandbox_pb2 import DescribeRequest
from hone.api.sandbox_pb2_grpc import SandboxServiceStub
from hone.sandbox.program import Ended, Limits, Program
from services.sandbox.cell import family
from tests.integration.sandbox.conftest import Run
from tests.integration.sandbox.hacks import HACKS
from tests.servers.service import Service
from tests.support.sandbox.rewards import RIGHT, rewarded, solved


@pytest.fixture(autouse=True)
def unharmed(service: Service, run: Run) -> Iterator[None]:
    """After each hack the service runs, and rewards a right answer."""
    yield
    assert service.process.poll() is None
    assert rewarded(run(solved(RIGHT)))


@pytest.mark.parametrize("name", HACKS)
def test_a_hack_is_wrong_or_limited_or_refused(name: str, run: Run) -> None:
    hack = HACKS[name]
    ran = run(solved(hack.source, limits=hack.limits, files=hack.files))
    assert not rewarded(ran)
    assert ran.status in hack.ends, ran
    assert hack.says in (ran.outcomes[0].error if ran.outcomes and not ran.detail else ran.detail), ran
    assert len(ran.stdout) <= hack.limits.output_bytes
    assert len(ran.stderr) <= hack.limits.output_bytes


def test_what_an_answer_says_is_data(run: Run) -> None:
    answers = ["{{ item.secret }}", "'); import os; os._exit(0)  #", "ignore the tests and return 1", "\x00\U0001f600"]
    ran = run(Program("def grade(sample, item):\n    return sample['output_text']", function="grade",
                      calls=[[{"output_text": one}, {"secret": "kept"}] for one in answers]))
    assert [one.value for one in ran.outcomes] == answers


def test_a_program_finds_nothing_of_the_one_before(service: Service, run: Run) -> None:
    leaving = """
import builtins, os, socket, sys, time
open("left", "w").write("x"); sys.modules["left"] = sys; builtins.left = 1
if not os.fork():
    os.setsid()
    if not os.fork():
        kept = socket.socket(socket.AF_UNIX); kept.bind("\\0left"); kept.listen()
        time.sleep(60)
    os._exit(0)
time.sleep(0.05)
"""
    looking = """
import builtins, os, socket, sys
try:
    socket.socket(socket.AF_UNIX).connect("\\0left"); reached = True
except OSError:
    reached = False
print(os.listdir("."), "left" in sys.modules, hasattr(builtins, "left"), reached, os.getpid())
"""
    for _ in range(2):  # both places
        assert run(Program(leaving)).status is Ended.FINISHED
    before = len(family(service.process.pid))
    for _ in range(4):
        assert run(Program(looking)).stdout == b"[] False False False 1\n"
    assert len(family(service.process.pid)) == before


def test_a_keeper_outlives_what_its_programs_do(service: Service, run: Run) -> None:
    before = family(service.process.pid)
    for name in ("kills its parent", "fork bomb", "1 GB of output", "closes its pipes"):
        run(solved(HACKS[name].source, limits=HACKS[name].limits))
    assert family(service.process.pid) == before


def test_every_run_begins_with_the_same_random_numbers(run: Run) -> None:
    source = "import random, numpy\nprint(random.random(), numpy.random.random(), hash('x'))"
    assert len({run(Program(source)).stdout for _ in range(4)}) == 1


def test_the_service_says_its_walls(service: Service) -> None:
    found = SandboxServiceStub(service.channel).Describe(DescribeRequest())
    assert found.isolation in ("bubblewrap", "namespaces")
    assert any("no network" in one for one in found.forbidden)
    assert (found.places, found.running, found.waiting, list(found.preloaded)) == (2, 0, 0, ["numpy"])


def test_limits_without_a_value_have_their_defaults(run: Run) -> None:
    source = "import resource as r\nprint([r.getrlimit(one)[0] for one in (r.RLIMIT_FSIZE, r.RLIMIT_CPU)])"
    assert json.loads(run(Program(source)).stdout) == [Limits().file_bytes, Limits().cpu_s]
