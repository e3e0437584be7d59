"""Privileged contexts: the text in the system message, and the ids that the policy's own prompts continue with."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from hone.graders.templates import filled
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.chat import Chat, ChatParams
from hone.harnesses.contexts import PrivilegedContexts, with_text
from hone.harnesses.seat import Seat
from hone.models import toy
from hone.text.tokenizer import Tokenizer
from hone.trajectory.order import PrivilegedText
from hone.trajectory.records import Call, Context, Turn
from services.rollout.branches import Episode
from tests.support.rollout.episodes import COUNT, ORDER, TOKENIZER, Local, Script, every_played
from tests.support.rollout.groups import claim

CHAT = Tokenizer({
    **{name: data for name, data in toy.files(vocab_size=128, symbols=toy.TEXT).items() if name.endswith(".json")},
    "chat_template.jinja": b"{% for one in messages %}[{{ one.role }}] {{ one.content }}\n{% endfor %}"
                           b"{% if add_generation_prompt %}[assistant] {% endif %}"})
ASKED = [{"role": "user", "content": "How many LAMPS are there?"}]
SYSTEM = {"role": "system", "content": "Mind the lamps."}


def text(words: str, match: str | None = None) -> PrivilegedText:
    return PrivilegedText(text=words, match=match)


def call(prompt_ids: list[int], words: str = "12") -> Call:
    ids = [*TOKENIZER.encode(words), TOKENIZER.eos_id]
    return Call(0, prompt_ids, ids, [-1.0] * len(ids), "stop", [], words, [True] * len(ids))


def first(texts: list[PrivilegedText], asked: list[dict[str, str]], tokenizer: Tokenizer = CHAT, positions: int = 512,
          item: dict[str, Any] | None = None) -> list[Context]:
    """Return the contexts of a first call that answers `asked`."""
    contexts = PrivilegedContexts(filled(texts, item or {}), tokenizer, positions)
    made = call(tokenizer.prompt_ids(asked))
    return contexts.of(contexts.opening(asked, made), asked, made)


def read(contexts: list[Context], tokenizer: Tokenizer = CHAT) -> str:
    [context] = contexts
    return tokenizer.decode(context.prompt_ids)


def test_the_text_stands_in_the_system_message_which_is_made_where_there_is_none() -> None:
    question = "[user] How many LAMPS are there?\n[assistant] "
    assert read(first([text("Count twice.")], ASKED)) == f"[system] Count twice.\n{question}"
    assert read(first([text("Count twice.")], [SYSTEM, *ASKED])) == (
        f"[system] Mind the lamps.\n\nCount twice.\n{question}")
    assert read(first([text("Count twice.")], ASKED, TOKENIZER), TOKENIZER) == (
        "Count twice.\nHow many LAMPS are there?")


def test_a_text_is_added_without_changing_the_messages() -> None:
    asked = [dict(SYSTEM), *ASKED]
    with_text(asked, "more", CHAT)
    assert asked == [SYSTEM, *ASKED]


def test_its_source_is_the_texts_digest() -> None:
    [context] = first([text("a"), text("b")], ASKED)
    assert (context.name, context.source) == ("privileged", hashlib.sha256(b"a\n\nb").hexdigest())


@pytest.mark.parametrize(("texts", "found"), [
    ([text("a", "lamps"), text("b", "chairs"), text("c")], "a\n\nc"),
    ([text("a", "MANY lamps ARE")], "a"),
    ([text("{{ item.hint }}!"), text("{{ item.other }}"), text("{{ item.deep.x }}")], "odd!\n\n3"),
])
def test_matching_texts_are_joined_in_order_with_the_items_fields(texts: Any, found: str) -> None:
    read_text = read(first(texts, ASKED, item={"hint": "odd", "deep": {"x": 3}}))
    assert read_text.startswith(f"[system] {found}\n[user]")


@pytest.mark.parametrize("texts", [[], [text("a", "mind")], [text("a", "chairs")], [text("{{ item.none }}")]])
def test_without_a_text_that_fits_there_is_no_context(texts: Any) -> None:
    assert first(texts, [SYSTEM, *ASKED]) == []


def test_a_context_that_an_engine_cannot_hold_is_left_out_and_never_cut() -> None:
    whole = len(read(first([text("Count twice.")], ASKED))) + len([*TOKENIZER.encode("12"), TOKENIZER.eos_id])
    assert first([text("Count twice.")], ASKED, positions=whole - 1) == []
    assert len(first([text("Count twice.")], ASKED, positions=whole)) == 1


def step_text(words: str, match: str | None = None) -> PrivilegedText:
    return PrivilegedText(text=words, match=match, at="step")


def test_the_text_of_a_step_stands_at_its_last_message() -> None:
    asked = [SYSTEM, *ASKED, {"role": "assistant", "content": "ten"}, {"role": "tool", "content": "Shelf B."}]
    texts = [text("Whole."), step_text("Count B.", "shelf b"), step_text("No.", "lamps")]
    contexts = PrivilegedContexts(texts, CHAT, 512)
    made = call(CHAT.prompt_ids(asked))
    opening = contexts.opening(asked, made)
    assert read(contexts.of(opening, asked, made)) == (
        "[system] Mind the lamps.\n\nWhole.\n[user] How many LAMPS are there?\n[assistant] ten\n"
        "[tool] Shelf B.\n\nCount B.\n[assistant] ")


async def test_each_step_reads_what_matches_it_and_the_stored_dialogue_stays_clean() -> None:
    plain = await played([], Local())
    episode = await played([step_text("Look.", "Highest"), step_text("Say 3.", "1")], Local())
    assert [call.prompt_ids for call in episode.calls] == [call.prompt_ids for call in plain.calls]
    first, second, third = (call.contexts for call in episode.calls)
    assert read(first, TOKENIZER) == "Look.\nhighest price of c?\n"
    assert second == []
    assert read(third, TOKENIZER).endswith("<eos>Say 3.\n12\n")


async def played(texts: list[PrivilegedText], local: Local, **changes: Any) -> Episode:
    """Return an episode of three calls of the policy in an environment with a query tool."""
    group = claim(**ORDER, privileged=texts, **changes)
    return (await every_played(local, Script("query: SELEC", [COUNT, "12"]), group))[0]


async def test_later_prompts_go_on_with_the_same_ids_after_the_privileged_opening() -> None:
    episode = await played([text("Use {{ item.tool }}.")], Local(), task={"item": {"tool": "query"}})
    plain = episode.calls[0].prompt_ids
    opening = TOKENIZER.encode(f"Use query.\n{TOKENIZER.decode(plain)}")
    assert [call.contexts[0].prompt_ids for call in episode.calls] == [
        [*opening, *call.prompt_ids[len(plain):]] for call in episode.calls]
    assert len({call.contexts[0].source for call in episode.calls}) == 1


class Summing(Chat):
    """Shows a summary of its own after the first answer."""

    async def play(self, seat: Seat, params: ChatParams) -> None:  # noqa: ARG002
        await seat.ask(seat.opening, tools=[])
        await seat.ask([{"role": "user", "content": "summary"}], tools=[])


async def test_a_later_prompt_that_is_rendered_anew_gets_the_text_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HARNESSES, "summing", Summing())
    group = claim(sampling={"max_tokens": 64}, privileged=[text("Look.")], harness="summing")
    [episode] = await every_played(Local(), Script("x", ["12"]), group)
    assert read(episode.calls[-1].contexts, TOKENIZER) == "Look.\nsummary"


async def test_calls_that_an_earlier_attempt_journaled_have_the_same_contexts() -> None:
    before = await played([text("Look.")], Local())
    kept = {(0, str(number)): Turn(replace(call, contexts=[]), [
        step for step in before.steps if step.call == number - 1]) for number, call in enumerate(before.calls[:2])}
    again = await played([text("Look.")], Local(), journaled=kept)
    assert [call.contexts for call in again.calls[:2]] == [call.contexts for call in before.calls[:2]]


async def test_a_group_without_texts_has_no_contexts() -> None:
    episode = await played([], Local())
    assert [call.contexts for call in episode.calls] == [[]] * 3


async def test_samples_of_a_group_share_the_opening() -> None:
    episodes = await every_played(Local(), Script("12", []), claim(**ORDER, n=2, privileged=[text("Look.")]))
    first, second = (episode.calls[0].contexts for episode in episodes)
    assert first == second != []
    assert episodes[0].start.contexts is episodes[1].start.contexts is not None
