"""A model's text in a process of its own: the same ids as in this one, and limits that nothing of a model can leave."""

import json
import os
import re
import signal
from typing import Any

import pytest

from hone.text.confined import ConfinedTokenizer
from hone.text.files import TokenizerError, Unbounded
from hone.text.model_text import Prompt
from hone.text.rules import TextRules
from hone.text.table import TokenTable
from hone.text.tokenizer import Tokenizer
from tests.unit.text.styles import CHATML, STYLES, files

RULES = TextRules(date="2026-01-31")
USER = {"role": "user", "content": "What is 12 + 30? naïve café 数学"}
LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = b %}{% endfor %}{% endfor %}"
GROWS = "{% set x = namespace(t='a') %}{% for a in range(60) %}{% set x.t = x.t + x.t %}{% endfor %}{{ x.t }}"


@pytest.mark.parametrize("name", ["chatml", "llama2", "none", "unigram"])
def test_ids_and_texts_are_those_of_the_tokenizer_in_this_process(name: str) -> None:
    ours, confined = Tokenizer(files(STYLES[name]), RULES), ConfinedTokenizer(files(STYLES[name]), RULES)
    prompt, said = ours.prompt_ids([USER]), ours.encode(" The sum <think> 42.\n")
    assert confined.facts == ours.facts
    assert confined.prompt_ids([USER]) == prompt
    assert confined.encode(" The sum <think> 42.\n") == said
    assert confined.next_prompt_ids([USER], prompt, [*said, ours.eos_id], [USER]) == (
        ours.next_prompt_ids([USER], prompt, [*said, ours.eos_id], [USER]))
    assert confined.answer_ids([USER], {"role": "assistant", "content": "42"}) == (
        ours.answer_ids([USER], {"role": "assistant", "content": "42"}))
    assert confined.answered([USER], prompt, said) == ours.answered([USER], prompt, said)
    assert confined.pieces([*prompt, *said]) == ours.pieces([*prompt, *said])
    assert confined.decode(said, after=prompt) == ours.decode(said, after=prompt)
    assert confined.unused_ids(600) == ours.unused_ids(600)
    assert confined.highest == ours.highest
    confined.close()


LIMIT_S = 0.2


def changed(template: str = CHATML, **parts: Any) -> dict[str, bytes]:
    """Return the files of a chatml model with another template, or other parts of its tokenizer.json."""
    found = files(STYLES["chatml"])
    whole = {**json.loads(found["tokenizer.json"]), **parts}
    return {**found, "chat_template.jinja": template.encode(), "tokenizer.json": json.dumps(whole).encode()}


def words(count: int) -> dict[str, Any]:
    """Return a model of tokenizer.json with so many tokens."""
    return {"type": "WordLevel", "vocab": {f"t{id}": id for id in range(count)}, "unk_token": "t0"}


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def on_a_word(body: str) -> str:
    """Return a template that does something only where a message holds the word trap."""
    return CHATML + "{% if 'trap' in messages[0].content %}" + body + "{% endif %}"


@pytest.mark.parametrize(("body", "reason"), [
    (LOOPS, "it did not finish within 0.2 s on a conversation of 4 characters"),
    (GROWS, "on a conversation of 4 characters"),
    ("{{ 'abc' * 9000000 }}", "it made 27000"),
    ("{{ 'a' * 9000000000 }}", "it needs too much memory"),
    ("{{ 7 ** 90000000 }}", "chat_template: it did not finish within 0.2 s"),
    ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "chat_template: maximum recursion depth exceeded"),
], ids=["loops", "grows", "long", "memory", "power", "recursion"])
def test_a_template_that_loops_or_grows_is_given_up_and_the_next_prompt_is_made(body: str, reason: str) -> None:
    confined = ConfinedTokenizer(changed(on_a_word(body)), limit_s=LIMIT_S)
    with pytest.raises(TokenizerError, match=re.escape(reason)):
        confined.prompt_ids([{"role": "user", "content": "trap"}])
    assert confined.prompt_ids([USER]) == Tokenizer(files(STYLES["chatml"])).prompt_ids([USER])
    confined.close()


@pytest.mark.parametrize(("given", "reason"), [
    (changed(LOOPS), "chat_template: it did not finish within 0.2 s"),
    (changed("{% if x %}"), "chat_template: Unexpected end of template"),
    (changed("{{ x" + "(" * 5000), "chat_template: "),
    (changed(decoder={"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}), "decoder: found Replace"),
    (changed(decoder={"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}), "decoder: found Replace"),
    (changed(decoder={"type": "Sequence", "decoders": [{"type": "Fuse"}] * 9}), "decoder: found Fuse, Fuse"),
    (changed(decoder=3), "tokenizer.json: "),
    ({**changed(), "tokenizer.json": b"[" * 10**6}, "tokenizer.json: "),
    ({**changed(), "tokenizer_config.json": b"[" * 10**6}, "tokenizer_config.json: "),
    ({**changed(), "chat_template.jinja": b"\xff"}, "chat_template.jinja: "),
    ({**changed(), "generation_config.json": json.dumps({"eos_token_id": [*range(129)]}).encode()},
     "eos_token_id: found 130 ends in all files, expected at most 128"),
    ({**changed(), "generation_config.json": b'{"eos_token_id": 1' + b"0" * 10**5 + b"}"}, "generation_config.json: "),
    (changed(model=words(2**20 + 1)), "tokenizer.json: found 104"),
])
def test_files_that_cannot_be_used_are_refused_with_the_reason(given: dict[str, bytes], reason: str) -> None:
    with pytest.raises(TokenizerError, match=re.escape(reason)):
        ConfinedTokenizer(given, limit_s=LIMIT_S)


def test_prompts_that_are_made_together_have_the_ids_that_they_have_alone_up_to_the_first_that_fails() -> None:
    confined = ConfinedTokenizer(changed(on_a_word("{{ raise_exception('trapped') }}")), limit_s=LIMIT_S)
    asked = [[{"role": "user", "content": text}] for text in ("a", "b", "trap", "c")]
    prompts: list[Prompt] = [(one, ()) for one in asked]
    assert confined.all_prompt_ids(prompts) == [confined.prompt_ids(asked[0]), confined.prompt_ids(asked[1])]
    [refused] = confined.all_prompt_ids(prompts[2:])
    assert str(refused) == "chat_template: trapped"
    assert confined.all_prompt_ids(prompts[3:]) == [confined.prompt_ids(asked[3])]
    confined.close()


def test_a_prompt_that_loops_among_others_is_given_up_once_and_the_others_are_made() -> None:
    confined = ConfinedTokenizer(changed(on_a_word("{{ 7 ** 90000000 }}")), limit_s=LIMIT_S)
    asked = [[{"role": "user", "content": text}] for text in ("trap", "a", "b")]
    [looped] = confined.all_prompt_ids([(one, ()) for one in asked])
    assert "it did not finish" in str(looped)
    assert confined.all_prompt_ids([(one, ()) for one in asked[1:]]) == [confined.prompt_ids(one) for one in asked[1:]]
    confined.close()


def test_after_two_prompts_that_were_given_up_no_other_is_tried() -> None:
    confined = ConfinedTokenizer(changed(on_a_word(LOOPS)), limit_s=LIMIT_S)
    for _ in range(2):
        with pytest.raises(Unbounded, match="on a conversation of 4 characters"):
            confined.prompt_ids([{"role": "user", "content": "trap"}])
    confined.close()
    with pytest.raises(Unbounded, match="on a conversation of 4 characters"):
        confined.prompt_ids([USER])


def test_a_catastrophic_expression_in_a_tokenizer_is_given_up() -> None:
    confined = ConfinedTokenizer(changed(pre_tokenizer=split("(x+x+)+y")), limit_s=LIMIT_S)
    with pytest.raises(Unbounded, match="on a conversation of 5000 characters"):
        confined.prompt_ids([{"role": "user", "content": "x" * 5000}])
    assert confined.encode("a")
    confined.close()


def test_a_process_that_somebody_killed_is_started_again() -> None:
    confined = ConfinedTokenizer(files(STYLES["chatml"]))
    before = confined.prompt_ids([USER])
    assert confined._child is not None
    os.kill(confined._child.pid, signal.SIGKILL)
    assert confined.prompt_ids([USER]) == before
    confined.close()


def test_a_table_refuses_a_token_of_endless_length() -> None:
    with pytest.raises(TokenizerError, match="the token with id 7 has 5000 characters, expected at most 4096"):
        TokenTable({7: "a" * 5000}, None)
