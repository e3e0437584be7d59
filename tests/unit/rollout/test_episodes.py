"""Episodes of several turns against the real simulation servicer, with prepared answers."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, cast

import pytest

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import Ask, EnvironmentParams, Message, Observation, Transition
from hone.models import toy
from hone.text.tokenizer import Tokenizer
from hone.trajectory import journal
from hone.trajectory.records import Span, Turn
from services.rollout import start
from services.rollout.tokenizers import RoleTokenizers, Unreadable
from tests.support.rollout.episodes import COUNT, GROUP, LINE, ORDER, TOKENIZER, Local, Script, played
from tests.support.rollout.groups import claim

OTHERS = [*toy.SPECIALS, *reversed(toy.TEXT[len(toy.SPECIALS):])]
OTHER = Tokenizer({name: data for name, data in toy.files(vocab_size=128, symbols=OTHERS).items()
                   if name.endswith(".json")})
SALE = ["tea?", "no, milk", "sold"]


async def test_calls_and_steps_follow_each_other_until_the_environment_ends() -> None:
    script = Script("query: SELEC", [COUNT, "12"])
    episode = await played(Local(), script)
    assert [call.text for call in episode.calls] == ["query: SELEC", COUNT, "12"]
    assert [(step.call, step.valid) for step in episode.steps] == [(0, False), (1, True), (2, True)]
    assert (episode.ended, episode.steps[1].said) == ("done", [{"role": "tool", "content": "12\n"}])
    (second, before_second), (third, before_third) = script.asked
    assert (second.ask.number, third.ask.number, [call.turn for call in episode.calls]) == ("1", "2", [0, 1, 2])
    assert [before_second, before_third] == [episode.steps[:1], episode.steps[1:2]]
    first = episode.calls[0]
    assert second.prompt_ids == [
        *first.prompt_ids, *first.completion_ids, *TOKENIZER.encode(episode.steps[0].said[0]["content"])]
    assert third.prompt_ids[:len(second.prompt_ids)] == second.prompt_ids


async def test_several_calls_in_one_answer_are_several_steps_of_one_call() -> None:
    episode = await played(Local(), Script(f"{COUNT}\n{COUNT}", ["1"]))
    assert [step.call for step in episode.steps] == [0, 0, 1]
    assert TOKENIZER.decode(episode.calls[1].prompt_ids).endswith("12\n12\n")


async def test_a_lost_session_is_rebuilt_from_its_actions() -> None:
    undisturbed = await played(Local(), Script(COUNT, [COUNT, "12"]))
    local = Local()
    episode = await played(local, Script(COUNT, [COUNT, "12"], before=local.restart))
    assert (episode.calls, episode.steps, episode.ended) == (undisturbed.calls, undisturbed.steps, "done")
    assert len(local.taken) > len(episode.steps)


async def test_a_session_that_comes_back_different_masks_its_sample() -> None:
    local = Local()

    def elsewhere() -> None:
        local.restart()
        local.seed += 1

    episode = await played(local, Script(COUNT, [COUNT, "12"], before=elsewhere))
    assert episode.ended == "diverged"
    assert len(episode.calls) == 2


async def test_journaled_calls_of_an_earlier_attempt_are_not_made_again() -> None:
    before = await played(Local(), Script(COUNT, [COUNT, "12"]))
    kept = {(0, str(number)): Turn(call, [step for step in before.steps if step.call == number - 1])
            for number, call in enumerate(before.calls[:2])}
    script = Script(COUNT, ["12"])
    again = await played(Local(), script, replace(GROUP, attempt=2, journaled=kept))
    assert (again.calls, again.steps, again.ended) == (before.calls, before.steps, "done")
    assert [question.ask.number for question, _ in script.asked] == ["2"]


async def test_a_turns_rule_scores_are_part_of_its_step_also_after_a_change_of_session_or_worker() -> None:
    params = {"digits": 3, "slack": 2, "rules": {"right": 1.0, "repetition": 0.25, "length": 0.5}}
    group, local = claim(sampling={"max_tokens": 64}), Local("sort_turns", params=params)
    episode = await played(local, Script("x", ["x", "abc", "x", "x"], before=local.restart), group)
    assert episode.ended == "done"
    assert [step.rules for step in episode.steps[:3]] == [
        {"right": -1.0, "repetition": 0.0, "length": 0.0}, {"right": -1.0, "repetition": -1.0, "length": 0.0},
        {"right": -1.0, "repetition": 0.0, "length": -1.0}]
    assert {tuple(step.rules) for step in episode.steps} == {("length", "repetition", "right")}
    assert [step.reward for step in episode.steps] == [-1.0, -1.25, -1.5, -1.25, -1.25]
    kept = {(0, str(number)): journal.decode(journal.encode({0: Turn(call, episode.steps[max(0, number - 1):number])}))[
        0] for number, call in enumerate(episode.calls)}
    again = await played(Local("sort_turns", params=params), Script("x", []), replace(group, journaled=kept))
    assert (again.calls, again.steps, again.ended) == (episode.calls, episode.steps, "done")
    fresh = await played(Local("sort_turns", params={"digits": 3, "slack": 2}), Script("x", []),
                         replace(group, journaled=kept))
    assert fresh.ended == "diverged", "what rules gave is compared as well"


async def test_named_spans_are_stored_with_the_policys_calls_also_by_another_worker() -> None:
    marks = [{"name": "name", "start": "sel", "end": ":"},
             {"name": "query", "start": "SELECT", "end": "\n", "weight": 2.0}]
    group = claim(**{**ORDER, "harness_params": {**LINE, "spans": marks}})
    episode = await played(Local(), Script(f"{COUNT}\n", [f"{COUNT}\n", "12"]), group)
    query = Span("query", len("query: "), len(COUNT) + 1, 2.0)
    assert [call.spans for call in episode.calls] == [[query], [query], []]
    assert TOKENIZER.decode(episode.calls[0].completion_ids[query.start:query.end]) == "SELECT count(*) FROM items\n"
    kept = {(0, str(number)): journal.decode(journal.encode({0: Turn(replace(call, spans=[]), [
        step for step in episode.steps if step.call == number - 1])}))[0] for number, call in enumerate(episode.calls)}
    again = await played(Local(), Script(f"{COUNT}\n", []), replace(group, journaled=kept))
    assert (again.calls, again.steps) == (episode.calls, episode.steps)
    plain = await played(Local(), Script(f"{COUNT}\n", [f"{COUNT}\n", "12"]))
    assert [replace(call, spans=[]) for call in episode.calls] == plain.calls


async def test_a_journaled_turn_that_does_not_follow_masks_its_sample() -> None:
    before = await played(Local(), Script(COUNT, [COUNT, "12"]))
    kept = {(0, "1"): Turn(before.calls[1], [replace(before.steps[0], state_hash="another")])}
    assert (await played(Local(), Script(COUNT, []), replace(GROUP, journaled=kept))).ended == "diverged"


@pytest.mark.parametrize(("params", "ended", "calls"), [
    ({"max_turns": 1}, "max_turns", 1), ({"max_turns": 2}, "max_turns", 2), ({"max_context": 110}, "max_context", 1),
    ({}, "done", 4)])
async def test_a_harness_ends_an_episode_at_its_limits(params: dict[str, int], ended: str, calls: int) -> None:
    group = claim(**{**ORDER, "harness_params": {**LINE, **params}})
    episode = await played(Local(), Script(COUNT, [COUNT] * 3), group)
    assert (episode.ended, len(episode.calls)) == (ended, calls)


class Shop:
    """An environment that asks for a customer's words, and ends when the policy has sold."""

    summary, params, harness = "A shop.", EnvironmentParams, "chat"

    def content(self, *_: Any) -> Any:
        return "shop"

    def episode(self, *_: Any) -> Any:
        return Visit()


class Visit:
    """The customer speaks first, and after each answer that does not sell."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def reset(self) -> Observation:
        return self._seen([{"role": "user", "content": "sell\n"}], asks=True)

    def step(self, action: str) -> Transition:
        self.heard.append(action)
        if action == "sold":
            return Transition(self._seen([]), done=True, valid=True)
        asks = len(self.heard) % 2 == 0
        said = [] if asks else [{"role": "user", "content": f"{action}\n"}]
        return Transition(self._seen(said, asks), done=False, valid=True)

    def _seen(self, said: list[Message], asks: bool = False) -> Observation:
        asked = [{"role": "user", "content": f"you are a customer, {'0' * (1 + len(self.heard))}\n"}]
        return Observation(said, {}, {"type": "exact"}, 9, str(self.heard), ask=Ask("user", asked) if asks else None)


async def test_an_asked_role_answers_in_calls_of_its_own_that_train_nothing(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    group = claim(sampling={"max_tokens": 64})
    local = Local("shop")
    script = Script("good day", SALE, before=local.restart)
    episode = await played(local, script, group)
    assert [call.role for call in episode.calls] == ["user", "policy", "user", "policy"]
    assert [step.action for step in episode.steps] == ["good day", "tea?", "no, milk", "sold"]
    assert [any(call.train_mask) for call in episode.calls] == [False, True, False, True]
    prompts = [TOKENIZER.decode(call.prompt_ids) for call in episode.calls[1:]]
    assert prompts == ["sell\ngood day\n", "you are a customer, 000\n", "sell\ngood day\ntea?<eos>no, milk\n"]
    assert episode.ended == "done"


async def test_another_model_for_a_role_reads_with_a_tokenizer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    local, group = Local("shop"), claim(sampling={"max_tokens": 64})
    tokenizers = RoleTokenizers(TOKENIZER, {"user": OTHER})
    script = Script("good day", SALE)
    await played(local, script, group, tokenizers)
    asked = [*script.began, *(question for question, _ in script.asked)]
    assert [(one.ask.role, one.tokenizer is OTHER) for one in asked] == [
        ("user", True), ("policy", False), ("user", True), ("policy", False)]
    read = [one.tokenizer.decode(one.prompt_ids) for one in asked]
    assert read == ["you are a customer, 0\n", "sell\ngood day\n", "you are a customer, 000\n",
                    "sell\ngood day\ntea?<eos>no, milk\n"]


def refusing(template: bytes) -> Tokenizer:
    files = toy.files(vocab_size=128, symbols=toy.TEXT)
    return Tokenizer({**{name: data for name, data in files.items() if name.endswith(".json")},
                      "chat_template.jinja": template})


@pytest.mark.parametrize(("role", "template"), [
    ("user", b"{{ '000' in messages[0].content and raise_exception('no customers') }}"),
    ("policy", b"{{ messages | length > 1 and raise_exception('no customers') }}")])
async def test_a_role_is_named_if_its_tokenizer_refuses_the_environments_messages(
        monkeypatch: pytest.MonkeyPatch, role: str, template: bytes) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    policy = refusing(template) if role == "policy" else TOKENIZER
    tokenizers = RoleTokenizers(policy, {"user": refusing(template)})
    script = Script("good day", SALE)
    with pytest.raises(Unreadable, match=f"^{role}'s tokenizer refuses: chat_template: no customers$"):
        await played(Local("shop"), script, claim(sampling={"max_tokens": 64}), tokenizers)


@pytest.mark.parametrize(("role", "environment"), [("user", "shop"), ("policy", "sqlite")])
async def test_a_role_is_named_if_its_tokenizer_refuses_the_first_prompt(
        monkeypatch: pytest.MonkeyPatch, role: str, environment: str) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    tokenizer = refusing(b"{{ raise_exception('nothing') }}")
    tokenizers = RoleTokenizers(tokenizer) if role == "policy" else RoleTokenizers(TOKENIZER, {role: tokenizer})
    with pytest.raises(Unreadable, match=f"^{role}'s tokenizer refuses: chat_template: nothing$"):
        await played(Local(environment), Script("good day", SALE), GROUP, tokenizers, 512)


@pytest.mark.parametrize(("positions", "roles"), [
    (87, ["user", "policy"]), (512, ["user", "policy", "user", "policy"]),
    (None, ["user", "policy", "user", "policy"])])
async def test_another_model_is_not_asked_past_its_own_positions(
        monkeypatch: pytest.MonkeyPatch, positions: int | None, roles: list[str]) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    others = {"user": {"model_id": "mod_user", "max_positions": positions}}
    group, script = claim(sampling={"max_tokens": 64}, roles=others), Script("good day", SALE)
    episode = await played(Local("shop"), script, group)
    assert [call.role for call in episode.calls] == roles
    assert episode.ended == ("max_context" if positions == 87 else "done")


@pytest.mark.parametrize(("positions", "ended"), [(86, "max_context"), (512, "done")])
async def test_the_policy_is_not_asked_past_its_own_positions(
        monkeypatch: pytest.MonkeyPatch, positions: int, ended: str) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    group = claim(sampling={"max_tokens": 64}, max_positions=positions)
    episode = await played(Local("shop"), Script("good day", SALE), group)
    assert episode.ended == ended


@pytest.mark.parametrize(("own", "engine", "whose"), [
    (85, 512, "the max_position_embeddings of the user's model"), (86, 512, ""), (None, 512, ""),
    (None, 85, "the positions of an engine"), (512, 85, "the positions of an engine"), (85, 85, "the positions of an")])
async def test_a_first_prompt_that_the_policy_or_an_engine_cannot_hold_is_refused(
        monkeypatch: pytest.MonkeyPatch, own: int | None, engine: int, whose: str) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    group = claim(sampling={"max_tokens": 64}, max_positions=own)
    words = f"^the user's first prompt is too long: found 22 tokens, and 64 of max_tokens, expected at most 85.*{whose}"
    with pytest.raises(Unreadable, match=words) if whose else nullcontext():
        await played(Local("shop"), Script("good day", SALE), group, RoleTokenizers(TOKENIZER), engine)


async def test_a_prompt_of_far_too_many_characters_is_refused_before_it_is_tokenized(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    monkeypatch.setattr(start, "CHARACTERS", 0)
    group = claim(sampling={"max_tokens": 64})
    with pytest.raises(Unreadable, match=r"first prompt is too long: found \d+ characters, expected at most 0"):
        await played(Local("shop"), Script("good day", SALE), group, RoleTokenizers(cast(Any, None)), 512)


@pytest.mark.parametrize("positions", [86, 85])
async def test_a_first_prompt_that_another_model_cannot_read_is_refused(
        monkeypatch: pytest.MonkeyPatch, positions: int) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    others = {"user": {"model_id": "mod_user", "max_positions": positions}}
    group = claim(sampling={"max_tokens": 64}, roles=others)
    words = "^the user's first prompt is too long: found 22 tokens, and 64 of max_tokens, expected at most 85"
    with pytest.raises(Unreadable, match=words) if positions == 85 else nullcontext():
        await played(Local("shop"), Script("good day", SALE), group, RoleTokenizers(TOKENIZER), 512)


@pytest.mark.parametrize(("max_context", "roles"), [
    (80, ["user", "policy"]), (512, ["user", "policy", "user", "policy"])])
async def test_the_prompt_of_an_asked_role_is_within_the_limits_too(
        monkeypatch: pytest.MonkeyPatch, max_context: int, roles: list[str]) -> None:
    monkeypatch.setitem(ENVIRONMENTS, "shop", Shop())  # type: ignore[arg-type]
    limits = {"max_context": max_context, "max_turns": 2}
    episode = await played(Local("shop"), Script("good day", SALE),
                           claim(sampling={"max_tokens": 64}, harness_params=limits))
    assert [call.role for call in episode.calls] == roles
    assert episode.ended == ("done" if len(roles) == 4 else "max_context")
