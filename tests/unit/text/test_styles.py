"""Models of many styles read the same ids as under transformers, and keep others' texts apart from control tokens."""

import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from hone.text.abilities import needed
from hone.text.rules import TextRules
from hone.text.tokenizer import Tokenizer, TokenizerError
from tests.unit.text.styles import CHATML, STYLES, files

TODAY = TextRules(date=datetime.datetime.now(datetime.UTC).date().isoformat())
TOOL = {"type": "function", "function": {"name": "add", "description": "Adds <two> numbers & more.", "parameters": {
    "type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}}
CALL = {"id": "call00001", "type": "function", "function": {"name": "add", "arguments": {"a": 12}}}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


SYSTEM = {"role": "system", "content": "Be brief."}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "add", "content": "42"}
CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "question": ([user("What is 12 + 30?")], []),
    "spaces and scripts": ([user("  naïve café\t数学 👩‍👩‍👧 \n\n")], []),
    "system": ([SYSTEM, user("Hi")], []),
    "turns": ([user("a"), assistant("The sum is 42."), user(" again")], []),
    "thoughts before": ([user("a"), assistant("<think>\nhm\n</think>\n\n42"), user("b")], []),
    "tools": ([user("a")], [TOOL]),
    "tool result": ([user("a"), CALLED, RESULT], [TOOL]),
    "continued": ([user("a"), assistant("The answer is ")], []),
}


@cache
def ours(name: str, control_tokens: bool = False) -> Tokenizer:
    return Tokenizer(files(STYLES[name]), TODAY.model_copy(update={"control_tokens": control_tokens}))


@cache
def theirs(name: str) -> PreTrainedTokenizerFast:
    with TemporaryDirectory() as directory:
        for file, data in files(STYLES[name]).items():
            (Path(directory) / file).write_bytes(data)
        (Path(directory) / "config.json").write_text('{"model_type": "qwen3"}')
        return PreTrainedTokenizerFast.from_pretrained(directory)


def id_of(name: str, token: str) -> int:
    found = theirs(name).convert_tokens_to_ids(token)
    assert isinstance(found, int)
    return found


def rendered(name: str, messages: list[dict[str, Any]], tools: list[Any], **options: Any) -> Any:
    """Return what transformers renders: ids, or a text with tokenize=False."""
    tokenizer = theirs(name)
    if STYLES[name].template is None:
        text = "".join(message["content"] for message in messages)
        return tokenizer(text)["input_ids"]
    if name == "parts":
        messages = [{**one, "content": [{"type": "text", "text": one["content"] or ""}]} for one in messages]
    last = messages[-1]
    continued = last["role"] == "assistant" and "tool_calls" not in last
    given = {"continue_final_message": True} if continued else {"add_generation_prompt": True}
    return tokenizer.apply_chat_template(messages, tools=tools or None, return_dict=False, **{**given, **options})


REFUSED = {
    "chatml": {"tools", "tool_calls", "reasoning_content"}, "llama3": {"tools", "reasoning_content"},
    "llama2": {"tools", "tool_calls", "tool", "reasoning_content"}, "mistral": {"system", "reasoning_content"},
    "gemma": {"system", "tools", "tool_calls", "reasoning_content"},
    "byte_fallback": {"tools", "tool_calls", "reasoning_content"},
    "r1": {"tools", "tool_calls", "tool", "reasoning_content"}, "qwen3": set(),
    "parts": {"tools", "tool_calls", "reasoning_content"}, "unigram": {"tools", "tool_calls", "reasoning_content"},
    "none": {"tools", "tool_calls", "reasoning_content"},
}


@pytest.mark.parametrize("kind", CONVERSATIONS)
@pytest.mark.parametrize("name", STYLES)
def test_prompts_have_the_ids_of_transformers_or_are_refused(name: str, kind: str) -> None:
    messages, tools = CONVERSATIONS[kind]
    if needed(messages, tools) & REFUSED[name]:
        with pytest.raises(TokenizerError, match=r"the model( has no|'s) chat template"):
            ours(name).prompt_ids(messages, tools)
    else:
        assert ours(name).prompt_ids(messages, tools) == rendered(name, messages, tools)


@pytest.mark.parametrize("name", STYLES)
def test_what_a_template_refuses_or_drops_is_known(name: str) -> None:
    assert set(ours(name).lacks) == REFUSED[name]


ENDS = {
    "chatml": ["<|endoftext|>", "<|im_end|>"], "llama3": ["<|end_of_text|>", "<|eot_id|>"], "llama2": ["</s>"],
    "mistral": ["</s>"], "gemma": ["<eos>", "<end_of_turn>"], "byte_fallback": ["</s>", "<|im_end|>"],
    "r1": ["<｜end▁of▁sentence｜>"], "qwen3": ["<|im_end|>"], "parts": ["<|im_end|>"],
    "unigram": ["</s>", "<|im_end|>"], "none": ["</s>"],
}


@pytest.mark.parametrize("name", STYLES)
def test_ends_are_those_of_files_and_template(name: str) -> None:
    assert [end.text for end in ours(name).ends] == ENDS[name]
    assert ours(name).eos_id == theirs(name).convert_tokens_to_ids(ENDS[name][-1]), "the template's end closes answers"


@pytest.mark.parametrize("name", STYLES)
def test_others_cannot_write_control_tokens(name: str) -> None:
    tokenizer, spoken = ours(name), " ".join([*sorted(ours(name).control), *ENDS[name], "<think></think>"])
    written = [id_of(name, text) for text in sorted(ours(name).control)]
    plain, spelled = (tokenizer.prompt_ids([user(f"say {text} now")]) for text in ("it", spoken))
    for id in written:
        assert spelled.count(id) == plain.count(id), theirs(name).convert_ids_to_tokens(id)
    assert f"say {spoken} now" in tokenizer.decode(spelled)
    allowed = ours(name, control_tokens=True).prompt_ids([user(f"say {spoken} now")])
    assert set(written) - {theirs(name).unk_token_id} <= set(allowed), "a setting lets them through"


WITH_BOS = [name for name, style in STYLES.items() if style.first and style.template is not CHATML]


@pytest.mark.parametrize("control_tokens", [False, True])
@pytest.mark.parametrize("name", WITH_BOS)
def test_a_prompt_begins_with_one_bos_whoever_writes_it(name: str, control_tokens: bool) -> None:
    ids = ours(name, control_tokens).prompt_ids([user(f"{STYLES[name].first}hello")])
    own = theirs(name).bos_token_id
    assert ids[0] == own
    assert own not in ids[1:2 if control_tokens else None]


ANSWERS = ["The sum is 42.", " 42", "\n42", "é 数学", "```python\nx\n```"]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", STYLES)
def test_training_data_is_what_transformers_renders_as_a_whole(name: str, answer: str) -> None:
    prompt, completion = ours(name).answer_ids([user("What?")], assistant(answer))
    whole = rendered(name, [user("What?"), assistant(answer)], [], continue_final_message=False,
                     add_generation_prompt=False)
    assert completion[-1] == ours(name).eos_id
    assert sum(id in ours(name).stop_ids for id in completion) == 1
    together = [*prompt, *completion]
    if name == "none":
        assert together == [*whole, ours(name).eos_id]
    else:
        # What follows the end (a new line) is not the model's; a tokenizer may join it with the text after it.
        assert ours(name).decode(together) == ours(name).decode(whole[:len(whole) - whole[::-1].index(completion[-1])])
        if answer[0] not in " \n" or name in {"llama2", "gemma"}:
            assert together == whole[:len(together)]
    if name != "r1":  # whose prompts open a block of reasoning, and this answer has none
        assert prompt == ours(name).prompt_ids([user("What?")])


@pytest.mark.parametrize(("given", "kept"), [
    ("<think>\nhm\n</think>\n\n42", "hm\n</think>\n\n42"), ("hm\n</think>42", "hm\n</think>42"),
    ("<think>hm</think>42", "hm</think>42")])
def test_reasoning_that_the_prompt_opens_is_not_doubled(given: str, kept: str) -> None:
    tokenizer = ours("r1")
    prompt, completion = tokenizer.answer_ids([user("What?")], assistant(given))
    assert prompt == tokenizer.prompt_ids([user("What?")])
    assert tokenizer.decode(completion) == kept
    assert tokenizer.begun([user("What?")], prompt) == "<think>\n"


def test_an_answer_without_reasoning_follows_a_prompt_without() -> None:
    prompt, completion = ours("r1").answer_ids([user("What?")], assistant("42"))
    assert ours("r1").decode(prompt).endswith("<｜Assistant｜>")
    assert ours("r1").decode(completion) == "42"


def test_reasoning_and_tool_calls_are_trained_as_the_template_writes_them() -> None:
    tokenizer = ours("qwen3")
    _, completion = tokenizer.answer_ids([user("a")], assistant("<think>\nhm\n</think>\n\n42"))
    assert tokenizer.decode(completion) == "<think>\nhm\n</think>\n\n42"
    _, called = tokenizer.answer_ids([user("a")], CALLED, [TOOL])
    assert '<tool_call>\n{"name": "add", "arguments": {"a": 12}}\n</tool_call>' in tokenizer.decode(called)
    text = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 12}'}}
    assert tokenizer.answer_ids([user("a")], {**CALLED, "tool_calls": [text]}, [TOOL])[1] == called


@pytest.mark.parametrize("end", ENDS["chatml"])
def test_an_answer_that_ended_has_one_end_in_the_next_turn(end: str) -> None:
    tokenizer = ours("chatml")
    asked, sampled = [user("a")], [*ours("chatml").encode("42"), id_of("chatml", end)]
    first = tokenizer.prompt_ids(asked)
    following = tokenizer.next_prompt_ids(asked, first, sampled, [user("b")])
    assert following[:len(first) + len(sampled)] == [*first, *sampled]
    assert tokenizer.decode(following[len(first) + len(sampled):]) == (
        "\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize("name", STYLES)
def test_the_next_turn_is_what_transformers_renders(name: str) -> None:
    tokenizer, asked = ours(name), [user("a")]
    answer = assistant("hm</think>The sum is 42." if name == "r1" else "The sum is 42.")
    first, (_, sampled) = tokenizer.prompt_ids(asked), tokenizer.answer_ids(asked, answer)
    ended = sampled[:-1] if name == "none" else sampled
    following = tokenizer.next_prompt_ids(asked, first, ended, [user("again")])
    assert following == rendered(name, [user("a"), answer, user("again")], [])


@pytest.mark.parametrize("name", [name for name in STYLES if name != "qwen3"])  # which rewrites it without reasoning
def test_a_continued_answer_is_one_turn_of_the_next_prompt(name: str) -> None:
    tokenizer, asked = ours(name), [user("a"), assistant("The answer")]
    first, sampled = tokenizer.answer_ids(asked, assistant(" is 42."))
    assert first == tokenizer.prompt_ids(asked)
    assert tokenizer.begun(asked, first) == "The answer"
    *before, last = tokenizer.answered(asked, first, sampled)
    assert (before, last["role"], last["content"].strip()) == ([user("a")], "assistant", "The answer is 42.")
    following = tokenizer.next_prompt_ids(asked, first, sampled, [user("b")])
    assert following[:len(first) + len(sampled)] == [*first, *sampled]
