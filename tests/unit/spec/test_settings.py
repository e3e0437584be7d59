"""Settings: every field has a variable and a meaning, and a wrong variable is refused by its name."""

from pathlib import Path

import pytest

from hone.spec.problems import Invalid
from hone.spec.settings import VARIABLES, Settings, load, read, resolved


def test_nothing_given_is_the_default() -> None:
    assert read({"PATH": "/usr/bin"}) == Settings()


def test_variables_of_a_group_are_read_into_it() -> None:
    found = read({"HONE_ENGINE": "vllm", "HONE_ENGINE_MAX_TOKENS": "64", "HONE_VLLM_EAGER": "false",
                  "HONE_REWARD_ADDRESS": "reward:1", "HONE_TRACE_STEPS": "1", "HONE_LEASE_S": "2"})
    assert (found.engine.kind, found.engine.max_tokens, found.vllm.eager) == ("vllm", 64, False)
    assert (found.addresses.reward, found.telemetry.trace_steps, found.lease_s) == ("reward:1", 1, 2.0)
    assert found.addresses.value == Settings().addresses.value


def test_every_wrong_value_is_refused_by_its_variable() -> None:
    with pytest.raises(Invalid) as refused:
        read({"HONE_LEASE_S": "soon", "HONE_ENGINE_SLOTS": "0"})
    assert [problem.field for problem in refused.value.problems] == ["HONE_LEASE_S", "HONE_ENGINE_SLOTS"]
    assert 'HONE_ENGINE_SLOTS: found "0", expected greater than or equal to 1' in str(refused.value)


@pytest.mark.parametrize(("name", "expected"), [
    ("HONE_LEASES", "HONE_LEASE_S"), ("HONE_ENGINE_KIND", "HONE_ENGINE"), ("HONE_XYZZY", "docs/settings.md")])
def test_an_unknown_variable_is_refused_by_its_name(name: str, expected: str) -> None:
    with pytest.raises(Invalid, match=f"{name}: found a variable that does not exist, expected .*{expected}"):
        read({name: "1"})


def test_other_variables_are_left_alone() -> None:
    assert read({"HONE_URL": "http://x", "HONE_CRASH_DIR": "/x", "HONE_TEST_PORT": "1"}) == Settings()


def test_a_refusal_shows_no_password() -> None:
    with pytest.raises(Invalid) as refused:
        read({"HONE_SINKS": "mlflow:ftp://me:secret@host"})
    assert "secret" not in str(refused.value)


def test_every_field_has_a_meaning() -> None:
    for *group, name in VARIABLES.values():
        model = type(Settings.model_fields[group[0]].default) if group else Settings
        assert str(model.model_fields[name].description).endswith((".", ")."))


def test_a_value_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://me:secret@host/hone\n")
    (tmp_path / "slots").write_text("8\n\n")
    given = {"HONE_DATABASE_URL_FILE": str(tmp_path / "url"), "HONE_ENGINE_SLOTS_FILE": str(tmp_path / "slots"),
             "HONE_OWNER_DATABASE_URL_FILE": str(tmp_path / "url"), "PATH_FILE": "/x"}
    found = read(given)
    assert (found.database_url, found.engine.slots) == ("postgresql://me:secret@host/hone", 8)
    assert resolved(given) == {
        "HONE_DATABASE_URL": found.database_url, "HONE_ENGINE_SLOTS": "8",
        "HONE_OWNER_DATABASE_URL": found.database_url, "PATH_FILE": "/x"}


def test_every_setting_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "value").write_text("x")
    given = {f"{name}_FILE": str(tmp_path / "value") for name in VARIABLES}
    assert resolved(given) == dict.fromkeys(VARIABLES, "x")


def test_a_value_and_its_file_at_once_are_refused(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("x")
    with pytest.raises(Invalid, match="HONE_DATABASE_URL_FILE: found HONE_DATABASE_URL as well, expected only HONE"):
        read({"HONE_DATABASE_URL_FILE": str(tmp_path / "url"), "HONE_DATABASE_URL": "y"})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(Invalid) as refused:
        read({"HONE_DATABASE_URL_FILE": str(tmp_path / "absent"), "HONE_BROKER_URL_FILE": str(tmp_path / "bytes")})
    assert [str(problem) for problem in refused.value.problems] == [
        f"HONE_BROKER_URL_FILE: found {tmp_path}/bytes: no text, expected a text file that can be read",
        f"HONE_DATABASE_URL_FILE: found {tmp_path}/absent: No such file or directory, expected a text file that can be "
        "read"]


def test_a_refusal_of_a_files_content_names_the_file_and_does_not_show_it(tmp_path: Path) -> None:
    (tmp_path / "lease").write_text("secret")
    with pytest.raises(Invalid) as refused:
        read({"HONE_LEASE_S_FILE": str(tmp_path / "lease")})
    assert str(refused.value).startswith(f"HONE_LEASE_S_FILE: found the content of {tmp_path}/lease, expected")


def test_an_other_variable_has_no_file(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="HONE_VLLM_PYTHON_FILE: found a variable that does not exist"):
        read({"HONE_VLLM_PYTHON_FILE": str(tmp_path)})


@pytest.mark.parametrize("token", ["short", "with a space in it", "with-an-umlaut-äöü"])
def test_a_token_that_no_call_can_show_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(Invalid) as refused:
        read({"HONE_STACK_TOKEN": token})
    assert "HONE_STACK_TOKEN" in str(refused.value)
    assert token not in str(refused.value)


def test_a_process_names_the_setting_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    load.cache_clear()
    monkeypatch.setenv("HONE_STACK_TOKEN", "")
    with pytest.raises(Invalid, match="HONE_STACK_TOKEN: found nothing"):
        load("stack_token")
    monkeypatch.setenv("HONE_STACK_TOKEN", "0123456789abcdef")
    assert load("stack_token").stack_token == "0123456789abcdef"
    load.cache_clear()
