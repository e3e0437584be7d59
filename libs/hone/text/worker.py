"""`python -m hone.text.worker`: the process in which one model's template and tokenizer run.

It reads lines of JSON from its standard input. The first holds the model's files and the rules; the answer is what is
known of the model's text. Each further one is a list of requests, each a method with its arguments; the answer is a
list of what they return.
"""

import base64
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, BinaryIO

from hone.process.confined import confine, ended
from hone.text.files import TokenizerError, Unbounded
from hone.text.rules import TextRules
from hone.text.tokenizer import Tokenizer

MEMORY_BYTES = 3 * 2**30
"""Address space of the process."""
LIMIT_S, OPEN_S = 5.0, 30.0
"""Seconds of processor time for one rendering, and for reading the files."""
ASK = 2
"""Times the limit of one rendering that a request may take in all: it renders twice at most, or else tokenizes."""


def main() -> None:
    limit_s = float(sys.argv[1])
    confine(MEMORY_BYTES)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, whose end closes our input
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of a library must not look like an answer
    opened = list[Tokenizer]()
    with ended(OPEN_S):
        given = json.loads(sys.stdin.buffer.readline())
        _send(answers, answered(partial(known, opened, given, limit_s)))
    for line in sys.stdin.buffer:
        _send(answers, answers_of(opened[0], json.loads(line), ASK * limit_s))


_METHODS: Mapping[str, Callable[..., Any]] = {
    "prompt_ids": Tokenizer.prompt_ids, "next_prompt_ids": Tokenizer.next_prompt_ids,
    "answer_ids": Tokenizer.answer_ids, "rated_ids": Tokenizer.rated_ids, "own_space": Tokenizer.own_space,
    "encode": Tokenizer.encode,
}


def known(opened: list[Tokenizer], given: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
    """Add the tokenizer of the given files and rules to `opened`, and return what is known of it."""
    files = {name: base64.b64decode(data) for name, data in given["files"].items()}
    opened.append(Tokenizer(files, TextRules.model_validate(given["rules"]), limit_s))
    facts, texts = opened[0].facts, opened[0].texts
    return {"facts": {**asdict(facts), "control": sorted(facts.control)}, "decoder": opened[0].decoder,
            "ids": list(texts), "texts": list(texts.values())}


def answers_of(tokenizer: Tokenizer, requests: Sequence[Sequence[Any]], limit_s: float) -> list[dict[str, Any]]:
    """Return the answers to requests, each of which may take so much time; up to the first that left its limits."""
    found = list[dict[str, Any]]()
    for method, *arguments in requests:
        with ended(limit_s):
            found.append(answered(partial(_METHODS[method], tokenizer, *arguments)))
        if "unbounded" in found[-1]:
            break
    return found


def answered(work: Callable[[], Any]) -> dict[str, Any]:
    """Return the outcome of some work as an answer."""
    try:
        return {"value": work()}
    except Unbounded as error:
        return {"unbounded": str(error)}
    except TokenizerError as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"unbounded": f"tokenizer.json: it needs more than {MEMORY_BYTES >> 20} MiB of memory"}


def _send(answers: BinaryIO, message: Any) -> None:
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
