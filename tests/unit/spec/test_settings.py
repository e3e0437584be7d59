"""Settings: every field has a variable and a meaning, and a wrong variable is refused by its name."""

import pytest

from hone.spec.problems import Invalid
from hone.spec.settings import VARIABLES, Settings, read


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
    with pytest.raises(Invalid, match=f"{name}: found a variable that is no setting, expected .*{expected}"):
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
