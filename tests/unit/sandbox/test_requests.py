"""What a keeper answers becomes a response, and what a program wrote is not trusted."""

import pytest

from hone.api.sandbox_pb2 import RunLimits, RunRequest
from hone.rpc.errors import InvalidField
from hone.sandbox import client
from hone.sandbox.program import MEBI, Ended, Limits, Outcome, Program
from services.sandbox import requests
from services.sandbox.requests import Asked, Done
from services.sandbox.view import links


def asked(**limits: float) -> Asked:
    return requests.read(RunRequest(limits=RunLimits(**limits)), 256 * MEBI)  # type: ignore[arg-type]


def test_defaults_are_the_librarys_and_within_what_the_service_allows() -> None:
    assert asked().chosen == Limits(memory_bytes=256 * MEBI)
    assert asked(wall_s=3, processes=1).chosen == Limits(wall_s=3, processes=1, memory_bytes=256 * MEBI)
    with pytest.raises(InvalidField, match=r"limits.memory_bytes: found 268435457, expected a number from 16777216"):
        asked(memory_bytes=256 * MEBI + 1)
    assert asked().limits(100)["space_bytes"] == 100 + 256 * MEBI


def test_a_request_of_the_client_is_read_as_it_was_meant() -> None:
    limits = Limits(call_s=2, memory_bytes=MEBI * 99)
    program = Program("def f(x): pass", {"a/b": b"\x00"}, b"in", "f", [[1, "ä"], []], limits)
    found = requests.read(client.request(program, "t", "r"), 256 * MEBI)
    assert (found.chosen, found.function, found.files) == (program.limits, "f", {"a/b": b"\x00"})
    assert found.parts == [b"def f(x): pass", b"in", b"\x00", b'[1, "\\u00e4"]', b"[]"]


def test_an_answer_keeps_values_and_turns_what_is_no_json_into_an_error() -> None:
    texts = [b"NaN", b'{"a": [1]}', b"Traceback", b"{", b"[" * 100_000, b"\xff", b"1" * 5000]
    header = {"status": "finished", "detail": "", "kinds": "VVXVVVV", "exit_code": 0, "wall_ms": 2.0}
    ran = client.ran(requests.answer(Done(header, [b"o", b"e", *texts])))
    assert (ran.status, ran.stdout, ran.stderr, ran.exit_code, ran.wall_ms) == (Ended.FINISHED, b"o", b"e", 0, 2.0)
    assert ran.outcomes[0].value != ran.outcomes[0].value
    assert ran.outcomes[1:3] == (Outcome({"a": [1]}), Outcome(error="Traceback"))
    assert all(one.error.startswith("it returned what is no JSON") for one in ran.outcomes[3:])


def test_a_failure_of_the_sandbox_is_no_fact_about_the_program() -> None:
    ran = client.ran(requests.answer(requests.failed("it ended")))
    assert (ran.status, ran.detail, ran.exit_code, ran.outcomes) == (Ended.INFRA_ERROR, "it ended", None, ())


def test_an_interpreter_below_a_folder_of_temporary_files_is_shown_there() -> None:
    """Somebody may clone into /tmp."""
    assert {"/tmp", "/dev/shm"} <= links(["/usr/bin/python3"]).keys()
    assert "/tmp" not in links(["/tmp/hone/.venv/lib/python3.11/site-packages", "/usr/bin/python3"])
    assert "/tmp" in links(["/tmpfiles"])
