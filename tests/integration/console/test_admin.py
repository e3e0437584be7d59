"""The place Admin: keys are made and revoked, tenants too; a key that may not do something is told why."""

import pytest
from selenium.webdriver.common.keys import Keys

from hone.client import Client
from hone.client.errors import Unauthenticated
from tests.integration.console.conftest import kept_picture, pick, sign_in
from tests.integration.console.rows import World
from tests.integration.gateway.conftest import Gateway
from tests.servers.chromium import Browser
from tests.support.console.screens import check, check_both


def test_a_key_is_made_shown_once_and_revoked(
    signed_in: Browser, hone: Client, gateway: Gateway,
) -> None:
    name = "dashboard"
    signed_in.look(390, dark=True)
    signed_in.open("/admin", "New key")
    signed_in.find("input[aria-label='Name']").send_keys(name)
    pick(signed_in, "Scope", "read: looks")
    pick(signed_in, "Expires", "in 90 days")
    signed_in.press_twice("Make key")
    signed_in.wait_for(f"The key {name} is made.")
    secret = str(signed_in.find(".secret input").get_attribute("value"))
    kept_picture(signed_in, "keys-390")
    signed_in.button("Make key").click()  # a press too many has no name, and takes no secret away
    signed_in.wait(lambda: signed_in.all(".notice"))
    assert signed_in.find(".secret input").get_attribute("value") == secret
    with gateway.client(secret) as reader:
        assert reader.account().scopes == ["read"]
        made = [key for key in hone.keys().data if key.name == name]
        assert len(made) == 1, "pressed twice, it makes one key"
        signed_in.open("/admin", name)
        assert secret not in signed_in.source()
        signed_in.find(f"button[aria-label='Revoke {name}']").click()
        signed_in.wait_for(f"Revoke the key {name}?")
        kept_picture(signed_in, "key-question-390")
        signed_in.button("Revoke it").click()
        signed_in.wait(lambda: not signed_in.all(f"button[aria-label='Revoke {name}']"))
        with pytest.raises(Unauthenticated):
            reader.account()
    check_both(signed_in, "/admin")


def test_the_words_of_the_gateway_are_shown(signed_in: Browser) -> None:
    signed_in.open("/admin", "New key")
    signed_in.button("Make key").click()
    signed_in.wait_for("name")
    signed_in.wait(lambda: signed_in.all(".notice"))
    assert "at least 1 character" in signed_in.reads(".notice")


def test_a_tenant_is_made_with_its_first_key_and_quotas(
    signed_in: Browser, hone: Client, gateway: Gateway,
) -> None:
    name = "lab"
    signed_in.look(390)
    signed_in.open("/admin/tenants", "New tenant")
    signed_in.find("input[aria-label='Name']").send_keys(name)
    signed_in.button("Make tenant").click()
    signed_in.wait_for(f"A key of the tenant {name}")
    signed_in.all("input[aria-label='Name']")[1].send_keys("first")
    signed_in.button("Make key").click()
    signed_in.wait_for("The key first is made.")
    secret = str(signed_in.find(".secret input").get_attribute("value"))
    signed_in.find(f"button[aria-label='Quotas {name}']").click()
    signed_in.wait_for(f"Quotas of the tenant {name}")
    hone.change_tenant(name, max_runs=5)
    signed_in.find("input[aria-label='Open runs']").send_keys("3")
    kept_picture(signed_in, "quota-form-390")
    signed_in.button("Set quotas").click()
    signed_in.wait_for("another change came first: max_runs is 5 now")
    signed_in.wait(lambda: not signed_in.all(".q-dialog"))
    signed_in.find(f"button[aria-label='Quotas {name}']").click()
    signed_in.wait_for(f"Quotas of the tenant {name}")
    field = signed_in.find("input[aria-label='Open runs']")
    signed_in.wait(lambda: field.get_attribute("value") == "5")
    field.send_keys(Keys.BACKSPACE, "3")
    signed_in.wait(lambda: field.get_attribute("value") == "3")
    signed_in.button("Set quotas").click()
    signed_in.wait_for("3 open runs")
    with gateway.client(secret) as client:
        assert client.account().tenant == name
        signed_in.find(f"button[aria-label='Suspend {name}']").click()
        signed_in.wait_for(f"Suspend the tenant {name}?")
        signed_in.button("Suspend it").click()
        signed_in.find(f"button[aria-label='Resume {name}']")
        with pytest.raises(Unauthenticated):
            client.account()
    kept_picture(signed_in, "tenants-390")
    signed_in.find(f"button[aria-label='Delete {name}']").click()
    signed_in.wait_for(f"Delete the tenant {name}?")
    signed_in.button("Delete it").click()
    signed_in.wait(lambda: not signed_in.all(f"button[aria-label='Delete {name}']"))
    assert name not in {one.name for one in hone.tenants().data}
    check_both(signed_in, "/admin/tenants")


def test_only_the_operator_sees_tenants(browser: Browser, other_tenant: str) -> None:
    sign_in(browser, other_tenant)
    browser.open("/admin/tenants", "This needs an admin key of the operator")
    check(browser, "/admin/tenants")


def test_a_key_that_reads_sees_everything_and_buttons_say_what_it_lacks(
    browser: Browser, hone: Client, world: World,
) -> None:
    sign_in(browser, hone.create_key("reader", ["read"]).secret)
    reason = "This needs a key with the scope run; your key reader has read."
    browser.open(f"/runs/{world.running.id}", "Pause")
    for name in ("Pause", "Cancel", "Delete"):
        assert browser.button(name).get_attribute("disabled")
        assert browser.button(name).get_attribute("title") == reason
    browser.open(f"/runs/new?run={world.running.id}", reason)
    assert browser.button("Start run").get_attribute("disabled")
    browser.open(f"/runs/{world.running.id}/versions", "Export the newest version")
    assert browser.button("Export the newest version").get_attribute("disabled")
    browser.open("/judges", "This needs a key with the scope admin; your key reader has read.")
    for name in ("Set judge", "Change", "Delete"):
        assert browser.button(name).get_attribute("disabled")
    browser.open("/admin", "This needs a key with the scope admin; your key reader has read.")
    kept_picture(browser, "keys-reader")
    check(browser, "/admin")


def test_prices_and_a_budget_are_set_and_a_start_says_what_it_costs(
    signed_in: Browser, hone: Client, world: World,
) -> None:
    signed_in.open("/admin/prices", "Price list")
    signed_in.button("Change prices").click()
    signed_in.wait_for("Prices of the stack")
    _fill(signed_in, "Generated tokens, a million", "2.5")
    _fill(signed_in, "Currency", "CHF")
    kept_picture(signed_in, "prices-form")
    signed_in.button("Set prices").click()
    signed_in.wait_for("2.50 CHF")
    assert (hone.prices().completion_tokens, hone.prices().trained_tokens) == (2.5, 0.0)
    signed_in.open(f"/runs/{world.fresh.id}", "Budget")
    signed_in.button("Budget").click()
    signed_in.wait_for(f"Budget of the run {world.fresh.name}")
    _fill(signed_in, "Money, CHF", "12")
    signed_in.button("Set budget").click()
    signed_in.wait(lambda: hone.run(world.fresh.id).budget == 12)
    signed_in.wait_for("of a budget of 12.00 CHF")
    signed_in.open(f"/runs/new?run={world.fresh.id}", "A run can have this spec.")
    signed_in.button("Start run").click()
    signed_in.wait_for("CHF for these tokens")
    kept_picture(signed_in, "start-question")
    signed_in.button("Not yet").click()
    check(signed_in, "/runs/new")


def test_the_audit_log_is_narrowed(signed_in: Browser, world: World) -> None:
    signed_in.open("/admin/audit", "runs.create")
    pick(signed_in, "Action", "runs.create")
    signed_in.wait(lambda: "datasets.upload" not in signed_in.text())
    signed_in.find("input[aria-label='Search every column']").send_keys(world.failed.id)
    signed_in.wait(lambda: world.running.id not in signed_in.text())
    signed_in.wait_for(world.failed.id)
    signed_in.find("input[aria-label='Search every column']").send_keys("x")
    signed_in.wait_for("No entry fits")
    check(signed_in, "/admin/audit")


def _fill(browser: Browser, label: str, text: str) -> None:
    field = browser.find(f"input[aria-label='{label}']")
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys(text)
