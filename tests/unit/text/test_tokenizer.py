"""Tokenizing: templates, stops and ends, from the files alone; the same ids as transformers where it can be asked."""

import json
from typing import Any

import pytest
from tokenizers import Tokenizer as Vocabulary
from tokenizers import decoders
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing

from hone.models import toy
from hone.text.rules import TextRules
from hone.text.tokenizer import Tokenizer, TokenizerError

CHAT = (
    "{%- for message in messages %}{{ '<bos>' }}{% if message.role == 'user' %}+{% else %}-{% endif %}"
    "{{ message['content'] }}{{ eos_token }}\n{%- endfor %}{% if add_generation_prompt %}<bos>={% endif %}")


def files(**changes: Any) -> dict[str, bytes]:
    """The toy model's files; a keyword replaces a file's keys (`None`: the file is not there)."""
    found = {name: data for name, data in toy.files().items() if name.endswith(".json")}
    for stem, change in changes.items():
        name = f"{stem}.json"
        if change is None:
            found.pop(name, None)
        else:
            found[name] = json.dumps({**json.loads(found.get(name, b"{}")), **change}).encode()
    return found


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def ids(text: str) -> list[int]:
    return [toy.SYMBOLS.index(symbol) for symbol in text]


def test_without_a_template_contents_are_joined() -> None:
    tokenizer = Tokenizer(files())
    assert tokenizer.prompt_ids(user("s529170=")) == ids("s529170=")
    assert tokenizer.prompt_ids([*user("12"), {"role": "assistant", "content": "34"}]) == ids("1234")


def test_without_a_template_earlier_answers_of_training_data_end_as_sampled_ones() -> None:
    tokenizer, answer = Tokenizer(files()), {"role": "assistant", "content": "34"}
    first, sampled = tokenizer.answer_ids(user("12"), answer)
    later, last = tokenizer.answer_ids([*user("12"), answer, *user("5")], {"role": "assistant", "content": "6"})
    assert later == tokenizer.next_prompt_ids(user("12"), first, sampled, user("5"))
    assert (later, last) == ([*ids("1234"), toy.EOS, *ids("5")], [*ids("6"), toy.EOS])
    assert tokenizer.answer_ids([*user("12"), answer], {"role": "assistant", "content": "5"}) == (
        ids("1234"), [*ids("5"), toy.EOS]), "an answer that is continued has not ended"


def test_a_plain_prompt_gets_what_the_tokenizer_itself_puts_around_it() -> None:
    vocabulary = Vocabulary.from_str(files()["tokenizer.json"].decode())
    vocabulary.post_processor = TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", toy.BOS)])
    tokenizer = Tokenizer({**files(), "tokenizer.json": vocabulary.to_str().encode()})
    assert tokenizer.prompt_ids(user("12")) == [toy.BOS, *ids("12")]
    assert tokenizer.answer_ids(user("12"), {"role": "assistant", "content": "34"}) == (
        [toy.BOS, *ids("12")], [*ids("34"), toy.EOS])


def test_a_chat_template_makes_the_prompt() -> None:
    tokenizer = Tokenizer(files(tokenizer_config={"chat_template": CHAT}))
    assert tokenizer.prompt_ids([*user("12"), {"role": "assistant", "content": "3"}, *user("4")]) == [
        toy.BOS, *ids("+12"), toy.EOS, toy.BOS, *ids("-3"), toy.EOS, toy.BOS, *ids("+4"), toy.EOS, toy.BOS, *ids("=")]


def test_a_template_file_goes_before_the_config() -> None:
    found = {**files(tokenizer_config={"chat_template": CHAT}), "chat_template.jinja": b"1{{ messages[0].content }}"}
    assert Tokenizer(found).prompt_ids(user("2")) == ids("12")


def test_of_several_templates_the_default_is_taken() -> None:
    several = [{"name": "tools", "template": "9"}, {"name": "default", "template": "7"}]
    assert Tokenizer(files(tokenizer_config={"chat_template": several})).prompt_ids(user("2")) == ids("7")


def test_special_tokens_may_be_objects_and_generation_marks_mean_nothing() -> None:
    template = "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{{ eos_token }}{% endfor %}"
    tokenizer = Tokenizer(files(tokenizer_config={
        "chat_template": template, "eos_token": {"content": "<eos>", "lstrip": False}}))
    assert tokenizer.prompt_ids(user("1")) == [*ids("1"), toy.EOS]


@pytest.mark.parametrize(("template", "reason"), [
    ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
    ("{% for %}", "chat_template"),
    ("{{ messages.__class__.__mro__ }}", "unsafe"),
    ("{{ messages.append(1) }}", "unsafe"),
])
def test_a_template_that_refuses_or_reaches_out_is_an_error(template: str, reason: str) -> None:
    with pytest.raises(TokenizerError, match=reason):
        Tokenizer(files(tokenizer_config={"chat_template": template})).prompt_ids(user("1"))


@pytest.mark.parametrize(("generation", "config", "own", "expected"), [
    ({"eos_token_id": [7, 5]}, {"eos_token_id": 3}, {"eos_token": "<eos>"}, [7, 5, 3, toy.EOS]),
    ({"eos_token_id": 9}, {"eos_token_id": 9}, {"eos_token": "<eos>"}, [9, toy.EOS]),
    (None, {"eos_token_id": 3}, {"eos_token": None}, [3]),
    (None, {"eos_token_id": None}, {"eos_token": "<eos>"}, [toy.EOS]),
])
def test_every_end_counts_wherever_it_is_declared(
        generation: dict[str, Any] | None, config: dict[str, Any], own: dict[str, Any], expected: list[int]) -> None:
    tokenizer = Tokenizer(files(generation_config=generation, config=config, tokenizer_config=own))
    assert tokenizer.stop_ids == expected


@pytest.mark.parametrize("end", [99, "2", True, -1, [2, 10**6]])
def test_an_end_that_no_token_has_is_refused(end: Any) -> None:
    with pytest.raises(TokenizerError, match=r"generation_config.json: eos_token_id: found .*, expected"):
        Tokenizer(files(generation_config={"eos_token_id": end}))


@pytest.mark.parametrize("several", [
    [{"name": "rag", "template": "9"}], [{"name": "default"}], ["9"], 7])
def test_several_templates_without_a_default_are_refused(several: Any) -> None:
    with pytest.raises(TokenizerError, match=r"chat_template: (found|expected)"):
        Tokenizer(files(tokenizer_config={"chat_template": several}))


def test_a_template_writes_the_runs_date_and_variables() -> None:
    found = files(tokenizer_config={"chat_template": "{{ strftime_now('%Y') }}{{ messages[0].content * times }}"})
    assert Tokenizer(found, TextRules(date="2031-05-04", template={"times": 2})).prompt_ids(user("7")) == ids("203177")
    with pytest.raises(TokenizerError, match="the template writes a date"):
        Tokenizer(found).prompt_ids(user("7"))


def test_training_data_ends_with_the_tokenizers_own_end() -> None:
    assert Tokenizer(files(generation_config={"eos_token_id": [7, toy.EOS]})).eos_id == toy.EOS
    assert Tokenizer(files(generation_config={"eos_token_id": 7}, tokenizer_config={"eos_token": None})).eos_id == 7


def test_text_goes_without_the_stop_and_hides_nothing() -> None:
    tokenizer = Tokenizer(files())
    assert tokenizer.decode([*ids("012579"), toy.EOS]) == "012579"
    assert tokenizer.decode(ids("0125")) == "0125"
    assert tokenizer.decode([*ids("01"), toy.PAD, *ids("2"), toy.EOS]) == "01<pad>2"
    assert tokenizer.decode([]) == ""
    assert tokenizer.decode([toy.EOS]) == ""


@pytest.mark.parametrize(("changes", "reason"), [
    ({"tokenizer": None}, "tokenizer.json: found nothing"),
    ({"generation_config": None, "config": {"eos_token_id": None}, "tokenizer_config": {"eos_token": None}}, "eos"),
])
def test_missing_files_are_named(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(TokenizerError, match=reason):
        Tokenizer(files(**changes))


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_files_that_are_no_json_are_named(name: str) -> None:
    broken = {**files(generation_config=None), name: b"[oops"}
    with pytest.raises(TokenizerError, match=name):
        Tokenizer(broken)


def test_padding_and_truncation_that_a_file_brings_along_are_switched_off() -> None:
    vocabulary = Vocabulary.from_str(files()["tokenizer.json"].decode())
    vocabulary.enable_truncation(2)
    vocabulary.enable_padding(length=9)
    tokenizer = Tokenizer({**files(), "tokenizer.json": vocabulary.to_str().encode()})
    assert tokenizer.prompt_ids(user("12345")) == ids("12345")


def turned(tokenizer: Tokenizer, completion: list[int], *added: dict[str, str]) -> tuple[list[int], list[int]]:
    """Return the first prompt, and the next one without prompt and completion."""
    first = tokenizer.prompt_ids(user("12"))
    following = tokenizer.next_prompt_ids(user("12"), first, completion, added)
    assert following[:len(first) + len(completion)] == [*first, *completion]
    return first, following[len(first) + len(completion):]


def test_a_conversation_goes_on_from_the_very_ids_that_were_sampled() -> None:
    tool = {"role": "tool", "content": "5"}
    assert turned(Tokenizer(files()), [*ids("34"), toy.EOS], tool)[1] == ids("5")
    with_template = CHAT.replace("{% else %}-{% endif %}", "{% elif message.role == 'tool' %}*{% else %}={% endif %}")
    templated = Tokenizer(files(tokenizer_config={"chat_template": with_template}))
    rest = [toy.BOS, *ids("*5"), toy.EOS, toy.BOS, *ids("=")]
    assert turned(templated, [*ids("34"), toy.EOS], tool)[1] == rest, "the template's end is not repeated"
    assert turned(templated, ids("34"), tool)[1] == [toy.EOS, *rest], "an answer that was cut off gets its end"


def test_ids_are_kept_even_where_the_text_would_be_tokenized_in_another_way() -> None:
    _, rest = turned(Tokenizer(files()), [toy.UNK, *ids("3"), toy.EOS], {"role": "user", "content": "4"})
    assert rest == ids("4")


def test_a_template_that_rewrites_what_came_before_is_rendered_anew() -> None:
    without_nines = "{% for message in messages %}{{ message.content | replace('9', '') }}{% endfor %}="
    tokenizer = Tokenizer(files(tokenizer_config={"chat_template": without_nines}))
    added = [{"role": "user", "content": "7"}]
    assert tokenizer.next_prompt_ids(user("12"), ids("12="), [*ids("394"), toy.EOS], added) == ids("12347=")


def test_a_template_that_drops_what_came_before_is_refused_where_it_would_drop_something() -> None:
    tokenizer = Tokenizer(files(tokenizer_config={"chat_template": "{{ messages[-1].content }}="}))
    assert tokenizer.prompt_ids(user("12")) == ids("12=")
    with pytest.raises(TokenizerError, match="turns: the model's chat template drops this"):
        tokenizer.next_prompt_ids(user("12"), ids("12="), [*ids("3"), toy.EOS], user("7"))


def test_pieces_are_what_each_id_adds() -> None:
    tokenizer = Tokenizer(files())
    found = tokenizer.pieces([*ids("s12"), toy.EOS])
    assert found == ["s", "1", "2", "<eos>"]
    assert tokenizer.pieces([]) == []


def test_a_character_of_several_ids_stands_at_the_last_of_them() -> None:
    vocabulary = Vocabulary(BPE(vocab={letter: place for place, letter in enumerate(ByteLevel.alphabet())}, merges=[]))
    vocabulary.pre_tokenizer, vocabulary.decoder = ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = Tokenizer({**files(config={"eos_token_id": 0}), "tokenizer.json": vocabulary.to_str().encode()})
    assert tokenizer.pieces(tokenizer.encode("aé€ b")) == ["a", "", "é", "", "", "€", " ", "b"]
    assert tokenizer.pieces(tokenizer.encode("€")[:2]) == ["", "\ufffd"]
