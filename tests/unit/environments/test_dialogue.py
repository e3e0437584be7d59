"""Dialogues: how scripted agents rank, users of rows, what is asked of a model, and what a sample's item has."""

import json
from pathlib import Path
from typing import Any

import pytest

from hone.environments import row_json
from hone.environments.contract import EpisodeFailed, EpisodeOver, Transition, WrongParams
from hone.environments.dialogues.episode import DialogueEpisode
from hone.environments.dialogues.orders import FAMILIES
from hone.environments.dialogues.scenario import as_expected
from hone.environments.rows import Sieve
from hone.environments.tasks import episode, make
from hone.environments.tools import ToolCall

RULES = {"repetition": 1.0, "compliance": 0.5, "identity": 2.0, "length": 1.0}


def dialogue(seed: int = 0, item: dict[str, Any] | None = None, **params: Any) -> DialogueEpisode:
    one = episode(make("dialogue", params, seed, item))
    assert isinstance(one, DialogueEpisode)
    one.reset()
    return one


def played(one: DialogueEpisode, actions: list[str]) -> Transition:
    """Take actions until the dialogue is over, and return the last transition."""
    for action in actions:
        taken = one.step(action)
        if taken.done:
            break
    return taken


def desk(family: str, difficulty: int, seed: int = 0, **params: Any) -> DialogueEpisode:
    return dialogue(seed, orders={"families": [family], "difficulties": [difficulty]}, **params)


@pytest.mark.parametrize("difficulty", [1, 2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_agents_at_the_order_desk_rank_as_they_should(family: str, difficulty: int) -> None:
    for seed in range(12):
        one = desk(family, difficulty, seed)
        gold = one.solution()
        found = played(one, gold)
        assert (found.done, one.verify(), found.observation.item["reason"]) == (True, 1.0, "goal")
        lazy = desk(family, difficulty, seed)
        assert played(lazy, ["Well, I see.", "I understand.", "Go on.", "Anything else?"] * 10).done
        assert lazy.verify() == 0.0
        calls = [action for action in gold if action.startswith("{")]
        assert played(desk(family, difficulty, seed), calls).observation.item["components"]["communication"] == 0.0
        mute = [action for action in gold if not action.startswith("{")]
        talker = desk(family, difficulty, seed)
        played(talker, mute)
        assert talker.verify() == float(family in ("status", "late")), "the last text has what only a call can know"


def test_an_agent_that_does_not_ask_learns_no_order_number() -> None:
    one = desk("cancel", 2)
    said = [one.step(text).observation.messages[0]["content"] for text in ("Well.", "I see.", "Go on.")]
    [number] = [json.loads(action)["arguments"]["order"] for action in one.solution() if "get_order" in action]
    assert not any(number in words for words in said)
    assert number in one.step("What is the order number?").observation.messages[0]["content"]


def test_a_wrong_change_fails_although_the_user_is_content() -> None:
    one, other = desk("cancel", 1), desk("cancel", 1, seed=1)
    wrong = [action.replace("no longer needed", "x").replace("ordered by mistake", "no longer needed").replace(
        "x", "ordered by mistake") if "cancel_order" in action else action for action in other.solution()]
    assert played(other, wrong).observation.item["components"]["goal"] == 1.0
    assert other.verify() == 0.0
    assert played(one, one.solution()).observation.item["components"]["state"] == 1.0


def call(one: DialogueEpisode, tool: str, **arguments: Any) -> str:
    taken = one.step(ToolCall(tool, arguments).action())
    assert taken.observation.messages[0]["role"] == "tool"
    return str(taken.observation.messages[0]["content"])


def test_tools_keep_the_rules_of_the_desk() -> None:
    one = desk("late", 1)
    tables = one.snapshot()["tables"]
    [late] = [key for key, row in tables["orders"].items() if row["status"] == "delivered"]
    email = tables["customers"]["C10"]["email"]
    assert call(one, "return_order", order=late, refund="card") == (
        "error: find the customer of this order by e-mail address first\n")
    assert json.loads(call(one, "find_customer", email=email.upper()))["customer"] == "C10"
    assert "more than 30" in call(one, "return_order", order=late, refund="card")
    assert call(one, "cancel_order", order=late, reason="no longer needed") == (
        "error: the order is delivered, not pending\n")
    assert call(one, "cancel_order", order=late, reason="bored").startswith("error: reason: ")
    assert call(one, "get_order", order="W1") == "error: there is no order W1\n"
    assert call(one, "fly") == ("error: no tool fly; there are find_customer, list_orders, get_order, list_variants, "
                                "cancel_order, change_address, return_order, exchange_item, transfer_to_human\n")
    assert one.snapshot()["tables"]["orders"] == tables["orders"]


def test_an_item_out_of_stock_is_not_exchanged() -> None:
    row = {"goal": "Another one.", "knowledge": [], "database": {
        "customers": {"C1": {"email": "a@b.c"}},
        "items": {name: {"product": product, "variant": name, "price": 2, "stock": int(name != "I2")}
                  for name, product in (("I1", "lamp"), ("I2", "lamp"), ("I3", "desk"))},
        "orders": {"W1": {"customer": "C1", "item": "I1", "status": "delivered", "price": 2, "days": 1}}}}
    one = dialogue(item=row)
    call(one, "find_customer", email="a@b.c")
    assert "out of stock" in call(one, "exchange_item", order="W1", item="I2")
    assert "no variant" in call(one, "exchange_item", order="W1", item="I3")


def test_columns_are_compared_by_their_class() -> None:
    found = {"t": {"1": {"street": "Park  Lane 3", "note": "a", "price": 1.0}}}
    classes: dict[str, Any] = {"t": {"street": "semantic", "note": "exempt"}}
    assert as_expected(found, {"t": {"1": {"street": "Lane 3 Park", "note": "b", "price": 1}}}, classes)
    assert not as_expected(found, {"t": {"1": {"street": "Park Lane 3", "note": "a", "price": 2}}}, classes)
    assert not as_expected(found, {"t": {}}, classes)
    assert not as_expected({"t": {}}, found, classes)


PITCH = {"price": "It is cheap.", "quality": "The network is good.", "service": "Our hotline helps.",
         "freedom": "You can cancel at any time."}


def sold(seed: int, *texts: str, **params: Any) -> float:
    one = dialogue(seed, domain="sales", **params)
    return float(played(one, list(texts)).observation.item["components"]["conversion"])


CLOSES = ["Shall I order it?", "Will you buy it?", "May I sign you up?", "Shall I call you back?"]


def attending(seed: int, **params: Any) -> float:
    """Return whether a seller converts who asks what matters, and speaks of it first."""
    one = dialogue(seed, domain="sales", **params)
    [said] = one.step("What matters to you?").observation.messages
    topic = next(topic for topic, words in (
        ("price", "price"), ("quality", "network"), ("quality", "speed"), ("service", "help"), ("freedom", "leave"))
        if words in said["content"])
    others = [text for name, text in PITCH.items() if name != topic]
    more = [text for pair in zip(others, CLOSES[1:], strict=True) for text in pair]
    last = played(one, [PITCH[topic], CLOSES[0], *more])
    return float(last.observation.item["components"]["conversion"])


def test_sellers_rank_as_they_should() -> None:
    close, calm = "Shall I order it?", {"hazard": 0.0}
    good = [sold(seed, *PITCH.values(), close, sales=calm) for seed in range(60)]
    attentive = [attending(seed, sales=calm) for seed in range(60)]
    lazy = [sold(seed, close, "Will you buy it?", *["Hm."] * 30, sales=calm) for seed in range(60)]
    assert sum(lazy) == 0.0
    assert 10 < sum(good) < sum(attentive) <= 60
    once = [sold(seed, PITCH["price"], close, sales=calm) for seed in range(60)]
    assert 0 < sum(once) < sum(good)
    hasty = [sold(seed, *PITCH.values(), close, sales={"hazard": 0.3}) for seed in range(60)]
    assert sum(hasty) < sum(good)


def test_a_session_has_its_persona_its_rules_and_why_it_ended() -> None:
    one = dialogue(3, domain="sales", rules=RULES, sales={"hazard": 0.0, "notices": 1.0, "repeats": 0.0})
    said = "We guarantee you the very best network."
    first, second = one.step(said), one.step(said)
    assert first.rules == {"repetition": 0, "compliance": -1, "identity": 0, "length": 0}
    assert second.rules == {"repetition": -1, "compliance": -1, "identity": -1, "length": 0}
    assert (first.reward, second.reward) == (-0.5, -3.5)
    silent = one.step("")
    assert (silent.valid, silent.rules["length"], silent.rules["identity"]) == (False, -1, 0)
    item = silent.observation.item
    assert item["turn_rules"] == [one.rules for one in (first, second, silent)]
    assert (item["simulator_seed"], item["reason"]) == (3, "")
    assert item["components"] == {"conversion": 0.0, "repetition": 1.0, "identity": 1.0}


def test_tasks_of_other_seeds_are_other_tasks_and_rows_are_what_they_ask() -> None:
    drawn = {make("dialogue", {"domain": "sales"}, seed).content_hash for seed in range(40)}
    assert len(drawn) == 40
    assert make("dialogue", {}, 1, ROW).content_hash == make("dialogue", {}, 2, ROW).content_hash
    assert make("dialogue", {}, 1, {**ROW, "expected": {}}).content_hash == make("dialogue", {}, 1, ROW).content_hash


def test_texts_outside_the_band_break_the_rule_of_length() -> None:
    one = dialogue(0, domain="sales", rules={"length": 1.0}, shortest=2, longest=3)
    assert [one.step(text).rules["length"] for text in ("Well.", "Well, well.", "one two three four")] == [-1, 0, -1]
    chinese = dialogue(0, domain="sales", rules={"length": 1.0}, shortest=4, tokens="characters")
    assert [chinese.step(text).rules["length"] for text in ("你好 吗", "你们好吗")] == [-1, 0]


def test_a_call_has_no_rules_of_texts() -> None:
    one = desk("status", 1, rules={"length": 1.0})
    taken = one.step(ToolCall("get_order", {"order": "W1"}).action())
    assert (taken.rules, taken.reward, taken.observation.item["turn_rules"]) == ({"length": 0.0}, 0.0, [])


def test_turns_that_are_used_up_end_a_dialogue() -> None:
    one = dialogue(turns=2)
    assert [one.step("Well.").done, one.step("I see.").done] == [False, True]
    with pytest.raises(EpisodeOver):
        one.step("Hm.")


@pytest.mark.parametrize("params", [{}, {"domain": "sales", "rules": RULES}, {"words": "model"}])
def test_a_fork_goes_its_own_way_and_a_snapshot_leads_back(params: dict[str, Any]) -> None:
    trunk = dialogue(7, **params)
    trunk.step("What is your e-mail address, and what matters to you?")
    kept, other = json.loads(json.dumps(trunk.snapshot())), trunk.fork()
    before = trunk.state_hash()
    trunk.step("Well.")
    assert trunk.state_hash() != before == other.state_hash()
    other.step("Well.")
    assert other.state_hash() == trunk.state_hash()
    trunk.restore(kept)
    assert trunk.state_hash() == before


def test_a_model_that_contradicts_the_user_is_asked_again_and_then_given_up() -> None:
    one = desk("cancel", 2, words="model", most_retries=1)
    asked = one.step("What is the order number?")
    assert asked.observation.ask is not None
    assert (asked.observation.ask.role, asked.observation.messages, asked.done) == ("user", [], False)
    again = one.step("It is W1.")
    assert again.observation.ask is not None
    assert (again.valid, again.observation.turns_left) == (False, asked.observation.turns_left)
    assert "That is refused" in again.observation.ask.messages[0]["content"]
    with pytest.raises(EpisodeFailed, match="contradicted the user 2 times"):
        one.fork().step("I do not know.")
    [number] = [json.loads(action)["arguments"]["order"] for action in one.solution() if "get_order" in action]
    said = one.step(f"It is {number}.")
    assert (said.observation.ask, said.observation.messages[0]["content"]) == (None, f"It is {number}.\n")


def test_a_user_of_a_model_says_its_last_words_before_the_dialogue_is_over() -> None:
    one = dialogue(item={"goal": {"text": "Mend it.", "hears": ["mended"]}, "knowledge": []}, domain="talk",
                   words="model")
    assert not one.step("It is mended.").done
    last = one.step("Great, thank you. ###STOP###")
    assert (last.done, last.observation.item["reason"], one.verify()) == (True, "goal", 1.0)


ROW: dict[str, Any] = {
    "prompt": "It is about W1.", "goal": {"text": "I need a new zip code on W1.", "hears": ["changed"]},
    "knowledge": [{"name": "zip", "value": "777"}], "profile": {"id": "mover", "turns": 5}, "policy": "Be kind.",
    "database": {"orders": {"W1": {"customer": "C1", "item": "I1", "status": "pending", "price": 2, "days": 0}},
                 "customers": {"C1": {"email": "a@b.c"}}},
    "expected": {"orders": {"W1": {"street": "Hill 1", "zip": "777"}}, "desk": {"session": {"customer": "C1"}}},
    "communicate": ["777"]}


def test_a_row_brings_a_user_a_database_and_what_is_expected() -> None:
    one = dialogue(item=ROW)
    assert [message["content"] for message in one.reset().messages] == ["Be kind.\n", "It is about W1.\n"]
    assert one.step("The zip?").observation.messages[0]["content"] == "777\n"
    call(one, "find_customer", email="a@b.c")
    call(one, "change_address", order="W1", street="Hill 1", zip="777")
    last = one.step("It is changed to 777.")
    assert (last.done, one.verify(), last.observation.item["persona"]) == (True, 1.0, "mover")


def test_a_database_alone_says_nothing_of_the_score_and_is_none_where_no_tool_reads_it() -> None:
    row = {name: value for name, value in ROW.items() if name not in ("expected", "communicate")}
    one = dialogue(item=row)
    one.reset()
    assert one.verify() == 0.0, "the user's goal decides"
    one.step("It is changed.")
    assert one.verify() == 1.0
    for field, others in (("database", row), ("expected", {**row, "database": {}, "expected": ROW["expected"]})):
        with pytest.raises(WrongParams, match=f"item.{field}: found 'orders, .*', expected nothing: the domain has no"):
            make("dialogue", {"domain": "talk"}, 0, others)


@pytest.mark.parametrize(("changes", "message"), [
    ({"goal": 3}, "item.goal: found 3, expected "), ({"goal": ""}, "item.goal.text: found ''"),
    ({"knowledge": [{"name": "zip"}]}, "item.knowledge.0.value: found "),
    ({"knowledge": {}}, "item.knowledge: found {}, expected a valid list"),
    ({"profile": {"turns": "5"}}, "item.profile.turns: found '5', expected a valid integer"),
    ({"profile": {"goal": {}}}, "item.profile.goal: found {}, expected nothing: the row has goal itself"),
    ({"prompt": 1}, "item.prompt: found 1, expected a text"),
    ({"messages": []}, "item.messages: found [], expected a prompt instead"),
    ({"profile": {"opening": "Hi."}}, "item.profile.opening: found 'Hi.', expected a prompt instead"),
    ({"profile": []}, "item.profile: found [], expected an object"), ({"policy": 1}, "item.policy: found 1"),
    ({"communicate": "777"}, "item.communicate: found '777', expected a valid list"),
    ({"communicate": [7]}, "item.communicate.0: found 7"),
    ({"database": {"orders": []}}, "item.database.orders: found [], expected rows by their key"),
    ({"database": {"orders": {"W1": 2}}}, "item.database.orders.W1: found 2, expected an object"),
    ({"database": {"orders": {"W1": {"customer": "C1"}}}}, "item.database.orders.W1.item: found None, expected a "),
    ({"expected": {"orders": {"W1": "gone"}}}, "item.expected.orders.W1: found 'gone'"),
])
def test_a_wrong_field_of_a_row_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongParams) as refused:
        make("dialogue", {}, 0, {**ROW, **changes})
    assert message in str(refused.value)


def test_a_column_like_a_field_that_the_row_lacks_is_misspelt_and_others_are_left() -> None:
    misspelt = {("knowlege" if name == "knowledge" else name): value for name, value in ROW.items()}
    with pytest.raises(WrongParams, match=r"item.knowlege: found .*, expected the field knowledge, which the"):
        make("dialogue", {}, 0, misspelt)
    assert make("dialogue", {}, 0, {**ROW, "knowlege": 1, "source": "crm", "goals": 2}).item is not None


def test_rows_of_an_uploaded_dataset_are_tasks_also_with_numbers_as_their_writer_wrote_them() -> None:
    written = json.dumps(ROW).replace('"price": 2', '"price": 2.50').replace('"turns"', '"hang_up": 0.00, "turns"')
    sieve = Sieve("dialogue", {})
    assert sieve.content_hash(row_json.read(written)) == make("dialogue", {}, 0, json.loads(written)).content_hash
    assert sieve.content_hash({**ROW, "goal": 3}) is None
    assert [(one.number, one.key) for one in sieve.first] == [(2, "goal")]


def test_the_row_of_the_documentation_is_a_user() -> None:
    page = (Path(__file__).parents[3] / "docs" / "users.md").read_text()
    one = dialogue(item=json.loads(page.partition("```json\n")[2].partition("```")[0]), domain="talk")
    assert one.reset().messages[0]["content"] == "Hello, it is about my order. I am Ada Berg.\n"
    last = played(one, ["Which order?", "And your email?", "It is cancelled, 12.50 comes back."])
    assert (last.done, one.verify()) == (True, 1.0)


def test_the_domain_talk_needs_rows() -> None:
    with pytest.raises(WrongParams, match="rows with goal and knowledge"):
        make("dialogue", {"domain": "talk"}, 0)


def test_the_first_words_of_a_model_come_before_the_agent_speaks() -> None:
    one = desk("cancel", 1, words="model", opening="model", most_retries=1)
    seen = one.reset()
    assert [message["role"] for message in seen.messages] == ["system"], "the policy alone"
    assert seen.ask is not None
    number = one._scenario.profile.fact("order").value
    refused = one.step("Hello!").observation
    assert refused.ask is not None
    assert refused.item["refused"] == [{"words": "Hello!", "reason": "it does not say the order, as it has to"}]
    other = one.fork()
    other.restore(one.snapshot())
    assert other.state_hash() == one.state_hash()
    with pytest.raises(EpisodeFailed, match="contradicted the user 2 times"):
        other.step("")
    said = one.step(f"Please cancel {number}.")
    assert [message["content"] for message in said.observation.messages] == [f"Please cancel {number}.\n"]
    assert (said.done, said.observation.ask, said.observation.turns_left) == (False, None, seen.turns_left)
    assert one.step("Which order is it?").observation.ask is not None


def test_a_model_finds_the_first_words_only_where_it_finds_the_others() -> None:
    with pytest.raises(WrongParams, match="opening: found model, expected scripted"):
        desk("cancel", 1, opening="model")
