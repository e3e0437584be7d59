"""The processes of a stack."""

import sys
from pathlib import Path

import pytest

from hone.spec.problems import Invalid
from hone.stack import processes, supervision
from hone.stack.processes import KINDS, Process
from hone.stack.record import Record, load, load_or_create, reachable


@pytest.fixture
def record() -> Record:
    return Record(identity="1", password="p", gateway_password="g", worker_password="w")


def test_one_of_each_kind_in_its_own_slot(record: Record) -> None:
    found = processes.services({}, {}, record, {})
    assert [one.name for one in found] == [f"{kind}-0" for kind in KINDS if KINDS[kind].only_with is None]
    assert all(one.environment["HONE_PROCESS_NAME"] == one.name for one in found)
    assert found[-1].command == (sys.executable, "-m", "services.console")


def test_inference_on_vllm_runs_in_its_own_environment(record: Record, tmp_path: Path) -> None:
    python = tmp_path / "python"
    given = {"HONE_ENGINE": "vllm", "HONE_VLLM_PYTHON": str(python)}
    with pytest.raises(Invalid, match=r"HONE_VLLM_PYTHON.*make vllm"):
        processes.services({}, {}, record, given)
    python.touch()
    commands = {one.name: one.command[0] for one in processes.services({}, {}, record, given)}
    assert commands.pop("inference-0") == str(python)
    assert set(commands.values()) == {sys.executable}


def test_a_stack_with_sinks_has_a_process_for_them(record: Record) -> None:
    found = processes.services({}, {}, record, {"HONE_SINKS": "tensorboard:///runs"})
    assert [one.name for one in found] == [f"{kind}-0" for kind in KINDS]
    assert "sinks-0" in [one.name for one in processes.services({"sinks": 1}, {}, record, {})]


def test_each_of_several_listens_on_a_port_of_its_own(record: Record) -> None:
    found = {one.name: one for one in processes.services({"inference": 2, "rollout": 2}, {}, record, {})}
    assert found["inference-0"].address != found["inference-1"].address
    assert found["inference-1"].environment["HONE_INFERENCE_ADDRESS"] == found["inference-1"].address
    assert found["rollout-1"].address is None
    shared = processes.addresses(list(found.values()))
    assert shared["HONE_INFERENCE_ADDRESS"] == found["inference-0"].address
    assert "HONE_REWARD_ADDRESS" in shared


def test_each_process_serves_its_metrics_at_a_port_of_its_own_and_keeps_it(record: Record) -> None:
    assert not any("HONE_METRICS_ADDRESS" in one.environment for one in processes.services({}, {}, record, {}))
    given = {"HONE_METRICS_ADDRESS": "0.0.0.0:0"}
    first, again = (processes.services({"rollout": 2}, {}, record, given) for _ in range(2))
    reported = [one.environment["HONE_METRICS_ADDRESS"] for one in first]
    assert len(set(reported)) == sum(kind.only_with is None for kind in KINDS.values()) + 1
    assert all(address.startswith("0.0.0.0:") and not address.endswith(":0") for address in reported)
    assert reported == [one.environment["HONE_METRICS_ADDRESS"] for one in again]
    assert record.ports["trainer-0 metrics"]
    assert "HONE_METRICS_ADDRESS" not in processes.addresses(first)


def test_a_trainer_asks_for_large_pages_unless_the_environment_says_otherwise(record: Record) -> None:
    def asking(environment: dict[str, str]) -> dict[str, str]:
        return {one.name: one.environment["GLIBC_TUNABLES"] for one in processes.services({}, {}, record, environment)
                if "GLIBC_TUNABLES" in one.environment}

    assert asking({}) == {"trainer-0": "glibc.malloc.hugetlb=1"}
    assert asking({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"}) == {}


def test_a_given_address_is_the_first_ones(record: Record) -> None:
    environment = {"HONE_INFERENCE_ADDRESS": "0.0.0.0:8080"}
    first, second = (
        one.address for one in processes.services({"inference": 2}, {}, record, environment) if "inference" in one.name)
    assert first == "0.0.0.0:8080"
    assert second is not None
    assert second.startswith("127.0.0.1:")


@pytest.mark.parametrize(("counts", "message"), [
    ({"trainr": 1}, "kind of process: found 'trainr', expected one of inference, "),
    ({"gateway": 2}, "number of gateway processes: found 2, expected 0 or 1"),
    ({"trainer": -1}, "number of trainer processes: found -1, expected 0 or more"),
])
def test_refuses_impossible_counts(record: Record, counts: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        processes.services(counts, {}, record, {})


def test_another_command_takes_a_kinds_place(record: Record) -> None:
    found = processes.services({}, {"reward": ["python", "stub.py"]}, record, {})
    assert [one.command for one in found if one.name == "reward-0"] == [("python", "stub.py")]


def test_configuration_keeps_every_word_of_a_command(tmp_path: Path) -> None:
    process = Process("reward-0", ("python", "a file.py", "100%", "it's"), {"HONE_PROCESS_NAME": "reward-0"})
    text = supervision.configuration(tmp_path, [process], None)
    assert """command = python 'a file.py' 100%% 'it'"'"'s'""" in text
    assert "[group:services]\nprograms = reward-0" in text
    assert "[program:postgres]" not in text


@pytest.mark.parametrize("word", ["two\nlines", "a ;comment"])
def test_configuration_refuses_text_that_supervisord_would_misread(tmp_path: Path, word: str) -> None:
    with pytest.raises(ValueError, match="expected one line"):
        supervision.configuration(tmp_path, [Process("reward-0", ("python", word), {})], None)


def test_a_record_is_its_owners_alone_and_comes_back_whole(tmp_path: Path) -> None:
    record = load_or_create(tmp_path)
    port = record.port("gateway-0")
    record.save(tmp_path)
    assert (tmp_path / "stack.json").stat().st_mode & 0o777 == 0o600
    assert load(tmp_path) == record
    assert load_or_create(tmp_path).port("gateway-0") == port


def test_records_of_two_states_share_no_secret(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    secrets = [
        {record.identity, record.password, record.worker_password, record.gateway_password}
        for record in (load_or_create(tmp_path / "one"), load_or_create(tmp_path / "other"))]
    assert len(secrets[0] | secrets[1]) == 8


@pytest.mark.parametrize(("address", "expected"), [
    ("127.0.0.1:8470", "127.0.0.1:8470"), ("0.0.0.0:8470", "127.0.0.1:8470"), ("[::]:8470", "[::1]:8470"),
    ("gateway.internal:80", "gateway.internal:80"),
])
def test_where_this_machine_reaches_an_address(address: str, expected: str) -> None:
    assert reachable(address) == expected
