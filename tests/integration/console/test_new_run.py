"""The page New run: a preset becomes a spec, the gateway reads what is written, and one run starts of it."""

import pytest
from selenium.webdriver.common.keys import Keys

from hone.client import Client
from tests.integration.console.conftest import choose, kept_picture, write
from tests.integration.console.rows import World
from tests.servers.chromium import Browser
from tests.support.console.screens import SCREENS

FINE = "A run can have this spec."


@pytest.fixture
def signed_in(signed_in_anew: Browser) -> Browser:
    """A session keeps the draft of a spec: each test begins without one."""
    return signed_in_anew


def test_a_run_starts_once_from_a_preset_a_model_and_tasks(signed_in: Browser, hone: Client) -> None:
    signed_in.open("/runs", "New run")
    signed_in.find("a[href='/runs/new']").click()
    signed_in.wait_for("Choose a preset")
    choose(signed_in, "Preset", "dapo")
    signed_in.find("input[aria-label='Preset']").send_keys(Keys.CONTROL + "a", "memocr")
    signed_in.wait(lambda: not signed_in.all(".q-menu .q-item"), lambda: "a preset that no run can have is offered")
    signed_in.press(Keys.ESCAPE)
    signed_in.wait_for("algorithm: dapo")
    choose(signed_in, "Model", "toy-text")
    choose(signed_in, "Tasks", "dataset sums")
    signed_in.wait_for("whose 40 rows make 1 task")
    choose(signed_in, "Tasks", "environment even_digits")
    signed_in.wait_for("task: {environment: even_digits}")
    signed_in.wait_for(FINE)
    kept_picture(signed_in, "new-run-1280")
    signed_in.button("Start run").click()
    signed_in.wait_for("Start the run dapo run?")
    signed_in.wait_for("25.6 k, at most 6.55 M tokens")
    signed_in.press_twice("Start it")
    signed_in.wait(lambda: signed_in.path().startswith("/runs/run_"))
    signed_in.wait_for("dapo run")
    started = hone.runs(search="dapo run").data
    assert [(run.base, run.algorithm, run.step) for run in started] == [("toy-text", "dapo", 0)]
    signed_in.open("/runs/new", "Choose a preset")
    assert signed_in.complaints() == []
    assert signed_in.foreign_requests() == []


def test_problems_are_beside_their_lines_while_one_writes(signed_in: Browser) -> None:
    signed_in.look(390, dark=True)
    signed_in.open("/runs/new", "New run")
    write(signed_in, "name: typed\nmodel: {base: absent}\ntask: {environment: sort_digits}\nsteps: -3\n")
    signed_in.wait_for("2 problems")
    signed_in.wait(lambda: signed_in.count(".cm-line.wrong") == 2)
    wrong = [one.text for one in signed_in.all(".cm-line.wrong")]
    assert [one.split("found")[0].strip() for one in wrong] == ["model: {base: absent}", "steps: -3"]
    assert 'found -3, expected greater than or equal to 0' in wrong[1]
    signed_in.wait_for("line 4")
    kept_picture(signed_in, "new-run-problems-390")
    assert signed_in.path() == "/runs/new", "the keys of the page are text in the editor"
    write(signed_in, "name: typed\n" + "# a line\n" * 40)
    signed_in.wait(lambda: signed_in.find(".editor .code").rect["height"] > 500)
    for width, dark in reversed(SCREENS):
        signed_in.look(width, dark=dark)
        signed_in.wait(lambda: signed_in.find(".editor .code").rect["height"] > 500)
        code, status = signed_in.find(".editor .cm-editor").rect, signed_in.find(".editor .status").rect
        assert code["y"] + code["height"] <= status["y"], "a long text does not cover what the gateway says"
    write(signed_in, "name: x: y")
    signed_in.wait_for("expected YAML")
    signed_in.button("Start run").click()
    signed_in.wait_for("1 problem")
    assert "Start it" not in signed_in.text()
    for width, dark in SCREENS:
        signed_in.look(width, dark=dark)
        assert signed_in.overflow() <= 0
    assert signed_in.complaints() == []
    write(signed_in, "")


def test_a_clone_is_short_has_its_own_name_and_survives_a_reload(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.failed.id}", "Clone")
    signed_in.button("Clone").click()
    signed_in.wait_for("name: sort six digits, hot copy")
    signed_in.wait_for(FINE)
    text = signed_in.find(".cm-content").text
    assert "algorithm: rdpo" in text
    assert "keep_versions" not in text
    signed_in.find(".cm-content").send_keys(Keys.CONTROL + Keys.END)
    signed_in.find(".cm-content").send_keys("seed: 41")
    signed_in.wait_for(FINE)
    signed_in.open("/runs/new", "seed: 41")
    assert "sort six digits, hot copy" in signed_in.text()
    choose(signed_in, "Preset", "grpo")
    signed_in.wait_for("Begin again with grpo?")
    signed_in.button("Leave it").click()
    signed_in.wait_for("seed: 41")
    for answer, expected in (("Keep my draft", "seed: 41"), ("Replace my draft", "name: digits by turns copy")):
        signed_in.open(f"/runs/new?run={world.fresh.id}", "Replace your draft by the copy?")
        signed_in.button(answer).click()
        signed_in.wait(lambda: not signed_in.all(".q-dialog"))
        signed_in.wait_for(expected)
    signed_in.open(f"/runs/new?run={world.failed.id}", "sort six digits, hot copy")
    assert not signed_in.all(".q-dialog"), "a copy that nobody changed is no draft to be asked about"
    assert signed_in.complaints() == []


def test_the_keyboard_leaves_the_editor(signed_in: Browser) -> None:
    signed_in.open("/runs/new", "New run")
    signed_in.find(".cm-content").click()
    signed_in.press(Keys.ESCAPE)
    signed_in.press(Keys.TAB)
    signed_in.press(Keys.TAB)
    assert signed_in.focused().text in ("Start run", "Look at it first")
