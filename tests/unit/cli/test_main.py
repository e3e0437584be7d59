"""The command line without a server."""

import json
from collections.abc import Iterator
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from hone.cli.loading import Listed
from hone.cli.main import app
from hone.environments.catalogue import ENVIRONMENTS

SPEC = {"name": "x", "model": {"base": "m"}, "task": {"environment": "sort_digits"}, "steps": 3}


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HONE_URL", "HONE_API_KEY", "HONE_DATABASE_URL", "HONE_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def hone(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def written(tmp_path: Path, **changes: object) -> str:
    (tmp_path / "spec.yaml").write_text(json.dumps({**SPEC, **changes}))
    return str(tmp_path / "spec.yaml")


def test_doctor_tries_an_object_store_alone(tmp_path: Path) -> None:
    tried = hone("doctor", "--objects", f"file://{tmp_path}/objects")
    assert tried.exit_code == 0, tried.output
    assert {line.split(": ")[0] for line in tried.output.splitlines()} == {"ok       objects"}
    assert len(tried.output.splitlines()) > 5


def test_validate_says_what_the_border_says(tmp_path: Path) -> None:
    assert hone("validate", written(tmp_path)).exit_code == 0
    part = hone("validate", written(tmp_path, algorithm="sdar", contexts={"privileged": [{"text": "Hm."}]}))
    assert part.stdout.splitlines()[1].startswith("note: preset sdar runs without skills that are written")
    homeless = hone("validate", written(tmp_path, algorithm="hipif", batch={"samples": 2}))
    assert "hipif runs without subgoals, their records and the penalties of their steps: harness folding has them, "\
        "and chat has not" in homeless.stdout
    refused = hone("validate", written(tmp_path, stepz=1, steps="x"))
    assert refused.exit_code == 1
    assert 'error: steps: found "x", expected a valid integer' in refused.stderr
    assert "error: stepz: found unknown key with value 1, expected one of" in refused.stderr


def test_a_dry_run_prints_a_spec_that_means_the_same(tmp_path: Path) -> None:
    printed = hone("train", "--dry-run", written(tmp_path, optimizer={"lr": 2e-4}))
    assert printed.exit_code == 0
    (tmp_path / "printed.yaml").write_text(printed.stdout)
    assert hone("train", "--dry-run", str(tmp_path / "printed.yaml")).stdout == printed.stdout
    assert "name: ppo_clip" in printed.stdout


@pytest.mark.parametrize("words", [["runs", "list"], ["keys", "list"], ["health"], ["export", "run_1", "--to", "x"]])
def test_without_a_gateway_it_says_what_to_do(words: list[str]) -> None:
    refused = hone(*words)
    assert refused.exit_code == 1
    assert "hone up" in refused.stderr
    assert refused.exception is None or isinstance(refused.exception, SystemExit)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    refused = hone("validate", str(tmp_path / "absent.yaml"))
    assert (refused.exit_code, "absent.yaml: found No such file" in refused.stderr) == (1, True)


def test_catalogs_need_no_server() -> None:
    environments = hone("environments").stdout
    assert "task (required): Name of a reasoning-gym task" in environments
    assert "rules (optional): Rules that grade each turn" in environments
    assert "grpo" in hone("algorithms", "list").stdout
    assert "name: ppo_clip" in hone("algorithms", "show", "grpo").stdout
    assert "did you mean grpo?" in hone("algorithms", "show", "grop").stderr


def test_an_environment_says_whom_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = [name for name, one in ENVIRONMENTS.items() if one.asked_roles == {"user"}]
    assert {"dialogue", "tau2"} <= set(asking)
    assert hone("environments").stdout.count("may request answers of the roles: user\n") == len(asking)
    asks = copy(ENVIRONMENTS["sort_turns"])
    monkeypatch.setattr(asks, "asked_roles", frozenset({"user", "expert"}), raising=False)
    monkeypatch.setitem(ENVIRONMENTS, "sort_turns", asks)
    assert "    may request answers of the roles: expert, user\n" in hone("environments").stdout


def test_a_method_is_shown_with_its_source_its_formula_and_its_parameters() -> None:
    shown = hone("algorithms", "show", "maspo").stdout
    assert "preset maspo" in shown
    assert "loss maspo: MASPO" in shown
    assert "arXiv 2602.17550" in shown
    assert "alpha (default 0.3)" in shown
    shown = hone("algorithms", "show", "scope").stdout
    assert "teacher_path (default in_advantage; one of in_advantage, in_loss, in_loss_top_k): " in shown


def test_presets_are_listed_by_what_is_their_own_and_by_what_they_need() -> None:
    lines = hone("algorithms", "list").stdout.splitlines()
    assert lines[0].startswith("presets, each with its differences from builder=rollouts ")
    presets = pairwise(lines[1:lines.index("") + 1])
    listed = {line.split()[0]: (line.split()[1:], after.strip()) for line, after in presets}
    assert listed["maspo"][0] == ["loss=maspo"]
    assert listed["pgpo"][0] == ["filter=length_band", "advantage=grpo(std_ddof=0)", "loss=clip_higher"]
    assert listed["sdar"][0] == ["regularizers=kl(coefficient=0.01)+sdar"]
    assert listed["heavyskill"][1].startswith("a spec needs a harness whose calls are of its kinds; it runs without a ")
    assert listed["memocr"][1] == ("needs: a harness whose calls are of the kinds draft, read_std, read_augM, "
                                   "read_augQ, which no run has yet")
    assert listed["trust_sql"][1] == "a spec needs a grader of named components, a harness that names spans"
    assert listed["aopd"][1] == "a spec needs roles.teacher or contexts.privileged, its top_k"
    assert listed["dpo"][1] == "a spec needs a dataset with chosen and rejected"
    assert listed["gspo"][1].startswith("cispo ")
    assert "it runs without tables as images" in listed["pgpo"][1]


def test_a_spec_to_begin_with_is_printed() -> None:
    shown = hone("algorithms", "spec", "dapo", "--base", "toy", "--dataset", "sums").stdout
    assert {"model: {base: toy}", "task: {dataset: sums}", "algorithm: dapo"} <= set(shown.splitlines())
    assert "did you mean grpo?" in hone("algorithms", "spec", "grop").stderr


def test_the_address_of_the_running_stack_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from hone.cli import connection

    record = {"identity": "i", "password": "p", "gateway_password": "g", "worker_password": "w",
              "gateway_url": "http://127.0.0.1:1", "api_key": "tml-first"}
    (tmp_path / ".hone").mkdir()
    (tmp_path / ".hone" / "stack.json").write_text(json.dumps(record))
    assert connection.client()._transport.base_url == "http://127.0.0.1:1"
    monkeypatch.setenv("HONE_URL", "http://elsewhere")
    with pytest.raises(connection.Unconfigured, match="set HONE_API_KEY too"):  # the stack's own is not sent there
        connection.client()
    monkeypatch.setenv("HONE_API_KEY", "tml-theirs")
    assert connection.client()._transport.base_url == "http://elsewhere"


def test_what_users_wrote_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    from hone.cli import output

    output.say('{"text": "a:b:c :100: [/INST]"}')
    output.table(["text"], [["a [b] c [/INST] :100:"]])
    shown = capsys.readouterr().out
    assert '{"text": "a:b:c :100: [/INST]"}' in shown
    assert "a [b] c [/INST] :100:" in shown


def test_an_option_has_one_meaning_in_every_command() -> None:
    kinds: dict[str, set[Any]] = {}
    for command in _commands(typer.main.get_command(app)):
        for option in command.params:
            for name in option.opts if option.param_type_name == "option" else ():
                kinds.setdefault(name, set()).add(option.type_descriptor.annotation)
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
    assert kinds["--state"] == {Path}


def _commands(listed: Any) -> Iterator[Any]:
    command = listed.loaded() if isinstance(listed, Listed) else listed
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from _commands(inner)


def test_a_member_is_described_with_its_parameters_and_an_example() -> None:
    described = hone("describe", "grader.math").stdout
    assert "boxed (`required`, `optional`; default \"required\")" in described
    assert described.endswith("example\n    grader:\n      type: math\n      reference: '{{ item.answer }}'\n")
    assert "did you mean math?" in hone("describe", "grader.mth").stderr


def test_the_schema_of_a_spec_is_printed_as_json() -> None:
    assert json.loads(hone("schema").stdout)["required"] == ["name", "model", "task", "steps"]
