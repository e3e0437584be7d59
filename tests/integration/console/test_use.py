"""The actions of a person: sign in, search, steer a run, work without a mouse."""

import json
import tarfile
from functools import partial
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.keys import Keys

from hone.client import Client
from tests.integration.console import rows
from tests.integration.console.conftest import kept_picture, pick, sign_in
from tests.integration.console.rows import World
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.servers.chromium import Browser
from tests.servers.judge import KEY, listening
from tests.servers.postgres import TestDatabase

_GRADER_A, _GRADER_B = "textarea[aria-label='Grader A']", "textarea[aria-label='Grader B, or nothing']"


@pytest.mark.usefixtures("world")
def test_who_has_no_key_is_asked_for_one_and_brought_back(browser: Browser, tenant: str) -> None:
    browser.open("/usage", "Sign in")
    assert browser.path() == "/sign-in"
    browser.find("input[type=password]").send_keys(tenant + Keys.ENTER)
    browser.wait(lambda: browser.path() == "/usage")
    browser.wait_for("By key")


def test_sign_in_leads_back_with_what_the_address_asked_for(browser: Browser, world: World, tenant: str) -> None:
    browser.open(f"/runs/{world.running.id}/samples?step=7", "Sign in")
    browser.find("input[type=password]").send_keys(tenant + Keys.ENTER)
    browser.wait_for("No sample fits")


def test_a_wrong_key_is_refused_in_words(browser: Browser) -> None:
    for key, expected in (("", "Enter a key"), ("tml-wrong", "This key is not in use"), ("nö", "This is not a key")):
        field = browser.find("input[type=password]")
        field.send_keys(Keys.CONTROL + "a", Keys.BACKSPACE)
        field.send_keys(key)
        browser.button("Sign in").click()
        browser.wait_for(expected)
    kept_picture(browser, "sign-in-refused")
    assert browser.complaints() == []


def test_the_key_stays_on_the_server(signed_in: Browser, tenant: str) -> None:
    signed_in.open("/runs", "sort six digits")
    assert tenant not in signed_in.source()
    cookies = signed_in.cookies()
    assert cookies
    assert all(tenant not in str(cookie) and cookie["httpOnly"] for cookie in cookies)


@pytest.mark.usefixtures("world")
def test_no_address_leads_out_of_the_console(browser: Browser, tenant: str) -> None:
    for wanted in ("//example.org", "https://example.org", "/\\example.org"):
        browser.open(f"/sign-in?to={wanted}", "Sign in")
        browser.find("input[type=password]").send_keys(tenant + Keys.ENTER)
        browser.wait(lambda: browser.path() == "/runs")
        browser.forget()


def test_sign_out_forgets_the_key(signed_in_anew: Browser) -> None:
    signed_in_anew.button("Sign out").click()
    signed_in_anew.wait(lambda: signed_in_anew.path() == "/sign-in")
    signed_in_anew.open("/runs", "Sign in")


def test_an_open_page_notices_a_sign_out_elsewhere(signed_in_anew: Browser) -> None:
    signed_in_anew.open("/runs", "sort six digits")
    cookies = {one["name"]: one["value"] for one in signed_in_anew.cookies()}
    answer = httpx.post(f"{signed_in_anew.url}/sign-out", cookies=cookies)
    assert answer.status_code == 303
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    signed_in_anew.wait(lambda: signed_in_anew.path() == "/sign-in")
    signed_in_anew.wait_for("You were signed out")


def test_a_key_that_was_revoked_is_said_and_another_leads_back(
    browser: Browser, hone: Client, world: World, tenant: str,
) -> None:
    key = hone.create_key("short-lived")
    sign_in(browser, key.secret)
    browser.open(f"/runs/{world.fresh.id}/events", "was created")
    hone.revoke_key(key.id)
    browser.wait_for("the key is not accepted any more")
    kept_picture(browser, "signed-out")
    browser.find("input[type=password]").send_keys(tenant + Keys.ENTER)
    browser.wait(lambda: browser.path() == f"/runs/{world.fresh.id}/events")


def test_pause_resume_cancel(signed_in: Browser, hone: Client) -> None:
    run = hone.create_run(rows.spec("toy-text", "to be cancelled", 0))
    signed_in.open(f"/runs/{run.id}", "Pause")
    signed_in.button("Pause").click()
    signed_in.button("Resume")
    assert hone.run(run.id).desired == "pause"
    signed_in.wait_for("→ paused")
    signed_in.button("Resume").click()
    signed_in.button("Pause")
    assert hone.run(run.id).desired == "run"
    signed_in.button("Cancel").click()
    signed_in.button("Cancel the run").click()
    signed_in.wait(lambda: hone.run(run.id).desired == "cancel")
    signed_in.wait_for("→ cancelled")
    assert signed_in.complaints() == []


def test_cancelling_is_asked_about_first(signed_in: Browser, hone: Client, world: World) -> None:
    signed_in.open(f"/runs/{world.fresh.id}", "Cancel")
    signed_in.button("Cancel").click()
    question = f"Cancel the run {world.fresh.name}?"
    signed_in.wait_for(question)
    signed_in.button("Keep it running").click()
    signed_in.wait(lambda: question not in signed_in.text())
    assert hone.run(world.fresh.id).desired == "run"


def test_an_export_is_downloaded_whole_and_by_file(
    signed_in: Browser, hone: Client, world: World, postgres: TestDatabase, gateway: Gateway, tmp_path: Path,
    other_tenant: str,
) -> None:
    export = hone.create_export(world.running.id)
    files = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 12288}
    seed.finish_export(postgres.owner_url, gateway.objects, export.id, files)
    signed_in.save_to(tmp_path)
    signed_in.open(f"/runs/{world.running.id}/versions", "Download all")
    kept_picture(signed_in, "exports")
    signed_in.find("a[download$='.tar']").click()
    saved = tmp_path / f"{export.id}.tar"
    signed_in.wait(saved.exists, lambda: f"no {saved.name} in {[one.name for one in tmp_path.iterdir()]}")
    with tarfile.open(saved) as archive:
        members = {Path(name).name: archive.extractfile(name) or BytesIO() for name in archive.getnames()}
        assert {name: member.read() for name, member in members.items()} == files
    signed_in.find("summary").click()
    signed_in.find("a[download='model.safetensors']").click()
    single = tmp_path / "model.safetensors"
    signed_in.wait(single.exists)
    assert single.read_bytes() == files["model.safetensors"]
    signed_in.find("button[aria-label='Export version 95']").click()
    signed_in.wait(lambda: hone.exports(world.running.id).data[0].id != export.id)
    versions = {one.id: one.number for one in hone.checkpoints(world.running.id).data}
    assert versions[hone.exports(world.running.id).data[0].version_id] == 95
    _refused_to_others(signed_in, export.id, other_tenant)


def _refused_to_others(browser: Browser, export_id: str, other_tenant: str) -> None:
    """Without a session a browser is sent to the sign-in page. For another tenant the export does not exist."""
    place = f"{browser.url}/exports/{export_id}/archive"
    assert httpx.get(place, cookies={}).headers["location"].startswith("/sign-in")
    browser.forget()
    browser.open("/sign-in", "Sign in")
    sign_in(browser, other_tenant, "No runs yet")
    answer = httpx.get(place, cookies={one["name"]: one["value"] for one in browser.cookies()})
    assert (answer.status_code, answer.text) == (404, f"There is no export {export_id}.")


def test_runs_are_searched(signed_in: Browser) -> None:
    signed_in.open("/runs", "waiting for a trainer")
    signed_in.find("input[aria-label='Search by name, id or base']").send_keys("HOT")
    signed_in.wait(lambda: "waiting for a trainer" not in signed_in.text())
    assert "sort six digits, hot" in signed_in.text()


def test_samples_are_filtered(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.running.id}/samples", "albums")
    signed_in.find("input[aria-label*='first 120 characters']").send_keys("9 8")
    signed_in.wait(lambda: "albums" not in signed_in.text())
    assert "1 2 3 5 9 8" in signed_in.text()
    signed_in.find("input[aria-label='Score from']").send_keys("0.5")
    signed_in.wait_for("No sample fits")


def test_tokens_are_coloured_by_log_prob_and_by_advantage(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.running.id}/samples/{world.group}/0", "a warmer colour is less likely")
    token = signed_in.find(".call .tokens:not(.context) > span")
    assert "log-prob -" in str(token.get_attribute("title"))
    assert "advantage +0.866" in str(token.get_attribute("title"))
    signed_in.find(".q-select").click()
    signed_in.wait(lambda: [one for one in signed_in.all(".q-item") if one.text == "advantage"])
    next(one for one in signed_in.all(".q-item") if one.text == "advantage").click()
    signed_in.wait_for("blue is better")
    token = signed_in.find(".call .tokens:not(.context) > span")
    assert "40, 150, 240" in str(token.get_attribute("style"))


def test_tokens_that_differ_have_advantages_of_their_own(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.running.id}/samples/{world.turns}/0", "by gigpo")
    titles = [str(one.get_attribute("title")) for one in signed_in.all(".call .tokens:not(.context) > span")]
    assert len({title.partition("advantage ")[2] for title in titles}) == 3


@pytest.mark.parametrize("width", [1280, 390])
def test_the_figures_of_tokens_are_reached_by_tab(signed_in: Browser, world: World, width: int) -> None:
    signed_in.look(width, dark=width == 390)
    signed_in.open(f"/runs/{world.running.id}/samples/{world.turns}/0", "Figures of 34 tokens")
    for _ in range(40):
        signed_in.press(Keys.TAB)
        if "Figures of" in signed_in.focused().text:
            break
    assert signed_in.focused().get_attribute("aria-expanded") == "false"
    signed_in.press(Keys.ENTER)
    signed_in.wait(lambda: signed_in.all("[aria-label='Tokens of call 0']"))
    assert signed_in.focused().get_attribute("aria-expanded") == "true"
    signed_in.press(Keys.TAB)
    assert signed_in.focused().get_attribute("aria-label") == "Tokens of call 0"
    assert "Log-prob" in signed_in.focused().text
    assert signed_in.overflow() <= 0
    kept_picture(signed_in, f"tokens-{width}")
    signed_in.find("input[aria-label='Search in calls and steps']").send_keys("albums")
    signed_in.wait(lambda: signed_in.all(".hit"))
    assert signed_in.all("[aria-label='Tokens of call 0']"), "what is open stays open"
    assert signed_in.complaints() == []


def test_the_figures_of_a_long_call_come_in_pages(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.running.id}/samples/{world.group}/4", "Figures of 73 tokens")
    signed_in.button("expand_more\nFigures of 73 tokens").click()
    signed_in.wait_for("0 to 49 of 73")
    assert signed_in.button("← previous tokens").get_attribute("disabled")
    signed_in.button("next tokens →").click()
    signed_in.wait_for("50 to 72 of 73")
    assert signed_in.button("next tokens →").get_attribute("disabled")
    assert len(signed_in.all("[aria-label='Tokens of call 0'] tbody tr")) == 23
    assert signed_in.complaints() == []


def test_no_neighbour_is_offered_where_the_group_ends(signed_in: Browser, world: World) -> None:
    for index, offered in ((0, ["next →"]), (1, ["← previous", "next →"]), (4, ["← previous"])):
        signed_in.open(f"/runs/{world.running.id}/samples/{world.group}/{index}", "Rewards")
        assert [one.text for one in signed_in.all(".run-head .pager a")] == offered
        signed_in.press("?")
        signed_in.wait_for("These keys")
        listed = signed_in.reads(".dialog")
        assert ("Next sample" in listed, "Previous sample" in listed) == ("next →" in offered, "← previous" in offered)


def test_a_sample_is_searched(signed_in: Browser, world: World) -> None:
    signed_in.open(f"/runs/{world.running.id}/samples/{world.turns}/0", "Call 2")
    signed_in.find("input[aria-label='Search in calls and steps']").send_keys("there are 347")
    signed_in.wait(lambda: "Call 0" not in signed_in.text())
    assert "".join(one.text for one in signed_in.all(".hit")).replace(" ", "") == "Thereare347"


def test_keys_lead_everywhere(signed_in: Browser) -> None:
    signed_in.open("/runs", "sort six digits")
    for letter, path in (("m", "/models"), ("d", "/datasets"), ("a", "/graders"), ("s", "/services"), ("u", "/usage"),
                         ("r", "/runs")):
        signed_in.press("g")
        signed_in.press(letter)
        signed_in.wait(partial(_is_at, signed_in, path))
        signed_in.wait(lambda: signed_in.all(".content h1"))
        signed_in.listens()
    signed_in.wait_for("sort six digits")
    signed_in.press("/")
    signed_in.wait(lambda: signed_in.focused().get_attribute("aria-label") == "Search by name, id or base")
    signed_in.press("gm")
    assert signed_in.path() == "/runs"


def test_help_lists_the_keys(signed_in: Browser) -> None:
    signed_in.open("/models", "toy-text")
    signed_in.press("?")
    signed_in.wait_for("These keys")
    kept_picture(signed_in, "keys")


def test_everything_is_reached_by_tab(signed_in: Browser) -> None:
    signed_in.open("/runs", "sort six digits")
    reached = []
    for _ in range(25):
        signed_in.press(Keys.TAB)
        focused = signed_in.focused()
        reached.append(focused.text or focused.get_attribute("aria-label"))
    for name in ("Skip to content", "Usage", "Sign out", "Search by name, id or base", "State", "sort six digits"):
        assert any(name in (one or "") for one in reached), (name, reached)


def test_the_theme_follows_the_system_until_it_is_chosen(signed_in_anew: Browser) -> None:
    signed_in_anew.look(dark=True)
    signed_in_anew.open("/models", "toy-text")
    signed_in_anew.wait(lambda: "body--dark" in str(signed_in_anew.find("body").get_attribute("class")))
    for expected in (True, False):
        signed_in_anew.find("button[aria-label^='Theme']").click()
        signed_in_anew.wait(partial(_is_dark, signed_in_anew, expected))
    signed_in_anew.open("/usage", "By key")
    signed_in_anew.wait(lambda: "body--light" in str(signed_in_anew.find("body").get_attribute("class")))


def test_what_people_write_is_text_and_leaves_room_for_the_rest(signed_in: Browser, hone: Client) -> None:
    hone.create_run(rows.spec("toy-text", "W" * 150, 0))
    run = hone.create_run(rows.spec("toy-text", "<img src=x onerror=alert(1)>", 0))
    signed_in.open(f"/runs/{run.id}", "<img src=x onerror=alert(1)>")
    signed_in.open("/runs", "<img src=x onerror=alert(1)>")
    assert not signed_in.all("img[src=x]")
    last = signed_in.find("thead th:last-child").rect
    assert last["x"] + last["width"] <= 1280, "a long name pushes no column away"


def test_signing_in_again_replaces_the_key(signed_in_anew: Browser, other_tenant: str) -> None:
    signed_in_anew.open("/sign-in", "Sign in")
    sign_in(signed_in_anew, other_tenant, "No runs yet")


@pytest.mark.usefixtures("reward")
def test_judges_are_set_a_grader_asks_one_and_samples_are_graded_again(
    signed_in: Browser, hone: Client, world: World,
) -> None:
    with listening() as judge:
        signed_in.open("/judges", "Set a judge")
        _fill(signed_in, "Name of the secret", "scripted")
        _fill(signed_in, "Value", KEY)
        signed_in.button("Set secret").click()
        signed_in.wait_for("scripted")
        assert KEY not in signed_in.source()
        for label, text in (("Name", "strict"), ("Address before the path", judge.url), ("Model there", "m")):
            _fill(signed_in, label, text)
        pick(signed_in, "Secret", "scripted")
        signed_in.button("Set judge").click()
        signed_in.find("button[aria-label='Change strict']").click()
        signed_in.find(".terms .q-item").click()
        signed_in.wait(lambda: signed_in.find("input[aria-label='at_once']").is_displayed())
        _fill(signed_in, "at_once", "4")
        kept_picture(signed_in, "judge-form-1280")
        signed_in.button("Set judge").click()
        signed_in.wait_for("at_once 4")
        assert (hone.judge("strict").secret, hone.judge("strict").terms.at_once) == ("scripted", 4)
        _try_graders(signed_in, world)
    _grade_again(signed_in, world)
    signed_in.open("/judges", "strict")
    signed_in.find("button[aria-label='Delete strict']").click()
    signed_in.button("Delete it").click()
    signed_in.wait(lambda: "strict" not in {one.name for one in hone.judges().data})


def _try_graders(browser: Browser, world: World) -> None:
    """Fill the form with a stored sample; a judge asks about it, and a check finds it wrong."""
    browser.open(f"/runs/{world.running.id}/samples/{world.group}/1", "Try graders on it")
    browser.find("a[href^='/graders/try']").click()
    answer = browser.find("textarea[aria-label='Answer']")
    browser.wait(lambda: answer.get_attribute("value") == "1 2 3 5 9 8")
    browser.wait(lambda: "environment" in str(browser.find(_GRADER_A).get_attribute("value")))
    scored = {"type": "score_model", "name": "s", "model": "strict", "fence": False, "input": [
        {"role": "user", "content": f"{rows.HOSTILE} {{{{ sample.output_text }}}} JUDGE: number 0.25"}]}
    check = {"type": "string_check", "name": "c", "operation": "equal", "input": "{{ sample.output_text }}",
             "reference": "{{ item.answer }}"}
    for selector, text in ((_GRADER_A, json.dumps(scored)), (_GRADER_B, '{"type"')):
        _fill_area(browser, selector, text)
    browser.button("Grade").click()
    browser.wait_for("Line 1, column 8")
    _fill_area(browser, _GRADER_B, json.dumps(check))
    browser.button("Grade").click()
    browser.wait_for("grader.operation: found")
    _fill_area(browser, _GRADER_B, json.dumps({**check, "operation": "eq"}))
    browser.button("Grade").click()
    browser.wait_for("Grader B gives -0.25 against grader A.")
    browser.wait_for(f"{rows.HOSTILE} 1 2 3 5 9 8")
    kept_picture(browser, "grader-tried-1280")
    assert not browser.all("img[src=x]")
    assert browser.overflow() <= 0


def _grade_again(browser: Browser, world: World) -> None:
    browser.open(f"/runs/{world.running.id}/samples", "Grade again")
    browser.find("a[href$='/regrades']").click()
    browser.wait_for("Most groups")
    _fill_area(browser, "textarea[aria-label='Grader, as JSON']", '{"type": "exact", "reference": "1 2 3 5 9 8"}')
    browser.button("Grade again").click()
    browser.wait_for("of 6")
    browser.wait_for("-1")
    kept_picture(browser, "regraded-1280")
    browser.find(".q-checkbox").click()
    browser.wait(lambda: 0 < browser.count("tbody tr") < 7)
    assert (browser.overflow(), browser.cut_off()) == (0, [])


def _fill(browser: Browser, label: str, text: str) -> None:
    field = browser.find(f"input[aria-label='{label}']")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys(text)


def _fill_area(browser: Browser, selector: str, text: str) -> None:
    area = browser.find(selector)
    area.send_keys(Keys.CONTROL + "a", Keys.BACKSPACE)
    area.send_keys(text)


def _is_at(browser: Browser, path: str) -> bool:
    return browser.path() == path


def _is_dark(browser: Browser, expected: bool) -> bool:
    return ("body--dark" in str(browser.find("body").get_attribute("class"))) == expected
