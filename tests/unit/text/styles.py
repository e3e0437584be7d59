"""Small tokenizers and chat templates in the styles of well-known model families, made here."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE, Unigram
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer, UnigramTrainer

CORPUS = [
    "user assistant system tool think answer the quick brown fox jumps over the lazy dog 0123456789 " * 3,
    "What is 12 + 30? The sum is 42. Think first, then answer.\n\nThe answer is 42.\n",
    '{"name": "add", "arguments": {"a": 12, "b": 30}} <tools> </tools> <tool_response> im_end im_start INST',
    "def add(a, b):\n    return a + b\n", "naïve café, Größe, 数学の答え, привет",
]

CHATML = (
    "{%- for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}")
LLAMA3 = (
    "{{- bos_token }}{%- if strftime_now is defined %}{%- set date_string = strftime_now('%d %b %Y') %}{%- else %}"
    "{%- set date_string = '26 Jul 2024' %}{%- endif %}"
    "{%- if messages[0]['role'] == 'system' %}{%- set words = messages[0]['content']|trim %}"
    "{%- set messages = messages[1:] %}{%- else %}{%- set words = '' %}{%- endif %}"
    "{{- '<|start_header_id|>system<|end_header_id|>\n\nToday Date: ' + date_string + '\n\n' + words + '<|eot_id|>' }}"
    "{%- for message in messages %}{%- if 'tool_calls' in message %}"
    "{%- set call = message.tool_calls[0].function %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
    "{{- '{\"name\": \"' + call.name + '\", \"parameters\": ' }}{{- call.arguments | tojson }}{{- '}<|eot_id|>' }}"
    "{%- elif message.role == 'tool' %}"
    "{{- '<|start_header_id|>ipython<|end_header_id|>\n\n' + message.content + '<|eot_id|>' }}"
    "{%- else %}"
    "{{- '<|start_header_id|>' + message['role'] }}"
    "{{- '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}"
    "{%- endif %}{%- endfor %}{%- if add_generation_prompt %}"
    "{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}")
LLAMA2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}"
    "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
    "{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %}"
    "{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
    "{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}"
    "{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"
    "{% set role = message['role'] %}{% endif %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}")
R1 = (
    "{{ bos_token }}{%- for message in messages %}{%- if message['role'] == 'system' %}{{ message['content'] }}"
    "{%- endif %}"
    "{%- if message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}{%- endif %}"
    "{%- if message['role'] == 'assistant' %}{% set content = message['content'] %}{% if '</think>' in content %}"
    "{% set content = content.split('</think>')[-1] %}{% endif %}"
    "{{ '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}{%- endif %}{%- endfor %}"
    "{% if add_generation_prompt %}{{ '<｜Assistant｜><think>\n' }}{% endif %}")
QWEN3 = (
    "{%- if tools %}{{- '<|im_start|>system\n' }}{%- if messages[0].role == 'system' %}"
    "{{- messages[0].content + '\n\n' }}{%- endif %}"
    "{{- '# Tools\n<tools>' }}{%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}"
    "{{- '\n</tools><|im_end|>\n' }}"
    "{%- elif messages[0].role == 'system' %}"
    "{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}"
    "{%- set ns = namespace(last=messages|length - 1, open=true) %}"
    "{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}"
    "{%- if ns.open and message.role == 'user' %}{%- set ns.open = false %}{%- set ns.last = index %}"
    "{%- endif %}{%- endfor %}"
    "{%- for message in messages %}{%- set content = message.content if message.content is string else '' %}"
    "{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}"
    "{{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}"
    "{%- elif message.role == 'assistant' %}{%- set thought = '' %}"
    "{%- if message.reasoning_content is string %}{%- set thought = message.reasoning_content %}"
    "{%- elif '</think>' in content %}"
    "{%- set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\n') %}{%- endif %}"
    "{%- if loop.index0 > ns.last and (loop.last or thought) %}"
    "{{- '<|im_start|>assistant\n<think>\n' + thought.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}"
    "{%- else %}{{- '<|im_start|>assistant\n' + content }}{%- endif %}"
    "{%- if message.tool_calls %}{%- for call in message.tool_calls %}"
    "{%- if (loop.first and content) or not loop.first %}{{- '\n' }}{%- endif %}"
    "{%- if call.function %}{%- set call = call.function %}{%- endif %}"
    "{{- '<tool_call>\n{\"name\": \"' + call.name + '\", \"arguments\": ' }}"
    "{%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}"
    "{%- endif %}{{- '}\n</tool_call>' }}"
    "{%- endfor %}{%- endif %}{{- '<|im_end|>\n' }}"
    "{%- elif message.role == 'tool' %}"
    "{{- '<|im_start|>user\n<tool_response>\n' + content + '\n</tool_response><|im_end|>\n' }}{%- endif %}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}"
    "{%- endif %}{%- endif %}")
MISTRAL_TOOLS = (
    "{{ bos_token }}{%- for message in messages %}{%- if message['role'] == 'user' %}"
    "{%- if tools and loop.last %}{{ '[AVAILABLE_TOOLS] ' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}{%- endif %}"
    "{{ '[INST] ' + message['content'] + '[/INST]' }}"
    "{%- elif message['role'] == 'assistant' and message.tool_calls is defined %}{{ '[TOOL_CALLS] [' }}"
    "{%- for call in message.tool_calls %}{%- if call.id|length != 9 %}"
    "{{ raise_exception('Tool call IDs should have length 9') }}{%- endif %}"
    "{{ call.function | tojson }}{%- endfor %}{{ ']' + eos_token }}"
    "{%- elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}"
    "{%- elif message['role'] == 'tool' %}"
    "{{ '[TOOL_RESULTS] {\"content\": ' + message['content'] + '}[/TOOL_RESULTS]' }}"
    "{%- else %}{{ raise_exception('Only user, assistant and tool roles are supported') }}{%- endif %}{%- endfor %}")
PARTS = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{% for part in message.content %}"
    "{{ part.text }}{% endfor %}<|im_end|>\n"
    "{%- endfor %}{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


@dataclass(frozen=True)
class Style:
    """A style: how its tokenizer is made, its special and other added tokens, its template and named tokens."""

    build: Callable[[], Tokenizer]
    special: tuple[str, ...]
    template: str | None
    named: dict[str, str]
    added: tuple[str, ...] = ()  # not special
    first: str = ""  # the bos that the tokenizer itself puts before a text
    generation: dict[str, Any] = field(default_factory=dict)


@cache
def _byte_level_json() -> str:
    made = Tokenizer(BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(CORPUS, BpeTrainer(
        vocab_size=420, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return str(made.to_str())


def byte_level() -> Tokenizer:
    return Tokenizer.from_str(_byte_level_json())


@cache
def _metaspace_json() -> str:
    made = Tokenizer(BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.train_from_iterator(CORPUS, BpeTrainer(
        vocab_size=420, show_progress=False, max_token_length=8,
        special_tokens=["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]))
    content = json.loads(made.to_str())
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] == "<unk>"]
    return json.dumps(content)


def _metaspace_decoder(strip: int) -> Any:
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                              decoders.Strip(content=" ", left=strip, right=0)])


def llama2() -> Tokenizer:
    """SentencePiece as Llama 2's converter writes it: a space before each section."""
    made = Tokenizer.from_str(_metaspace_json())
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = _metaspace_decoder(1)
    return made


def metaspace_first() -> Tokenizer:
    """SentencePiece as newer converters write it: a space before the first section only."""
    made = Tokenizer.from_str(_metaspace_json())
    made.normalizer = None
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    made.decoder = _metaspace_decoder(1)
    return made


def gemma() -> Tokenizer:
    """SentencePiece without any added space."""
    made = Tokenizer.from_str(_metaspace_json())
    made.decoder = _metaspace_decoder(0)
    return made


@cache
def _unigram_json() -> str:
    made = Tokenizer(Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="first")
    made.train_from_iterator(CORPUS, UnigramTrainer(
        vocab_size=300, show_progress=False, unk_token="<unk>", special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=list("<>/|_[]imendstar")))
    return str(made.to_str())


def unigram() -> Tokenizer:
    return Tokenizer.from_str(_unigram_json())


IM = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QWEN = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
S = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
STYLES: dict[str, Style] = {
    "chatml": Style(byte_level, IM, CHATML, QWEN, generation={"eos_token_id": "<|endoftext|>"}),
    "llama3": Style(byte_level, ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                                 "<|eot_id|>", "<|python_tag|>"), LLAMA3,
                    {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}, first="<|begin_of_text|>"),
    "llama2": Style(llama2, ("<s>", "</s>"), LLAMA2, S, first="<s>"),
    "mistral": Style(metaspace_first, ("<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]",
                                       "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"), MISTRAL_TOOLS, S,
                     first="<s>"),
    "gemma": Style(gemma, ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"), GEMMA,
                   {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}, first="<bos>"),
    "byte_fallback": Style(metaspace_first, ("<s>", "</s>", "<|im_start|>", "<|im_end|>"), CHATML, S, first="<s>"),
    "r1": Style(byte_level, ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"), R1,
                {"bos_token": "<｜begin▁of▁sentence｜>", "eos_token": "<｜end▁of▁sentence｜>"},
                added=("<｜User｜>", "<｜Assistant｜>", "<think>", "</think>"), first="<｜begin▁of▁sentence｜>"),
    "qwen3": Style(byte_level, IM, QWEN3, QWEN,
                   added=("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")),
    "parts": Style(byte_level, IM, PARTS, QWEN),
    "unigram": Style(unigram, ("<s>", "</s>", "<|im_start|>", "<|im_end|>"), CHATML, S, first="<s>"),
    "none": Style(llama2, ("<s>", "</s>"), None, S, first="<s>"),
}
"""Every style by its name."""


def files(style: Style, **config: Any) -> dict[str, bytes]:
    """Return the files of a model in a style; `config` has further keys of tokenizer_config.json."""
    made = style.build()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in style.special])
    made.add_tokens([AddedToken(token, special=False, normalized=False) for token in style.added])
    if style.first:
        made.post_processor = TemplateProcessing(
            single=f"{style.first} $A", special_tokens=[(style.first, made.token_to_id(style.first))])
    generation = {name: made.token_to_id(token) for name, token in style.generation.items()}
    found = {"tokenizer.json": made.to_str(), "generation_config.json": json.dumps(generation), "tokenizer_config.json":
             json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **style.named, **config}),
             "config.json": "{}"}
    if style.template is not None:
        found["chat_template.jinja"] = style.template
    return {name: text.encode() for name, text in found.items()}


