"""`python -m services.inference.grammar_worker`: the process in which grammars are compiled for the first time.

It reads lines of JSON from its standard input, each a grammar, and answers each with what is wrong with it, or "". A
grammar that takes too long, or too much memory, ends the process.
"""

import json
import os
import signal
import sys
from typing import Any

import llguidance

from hone.process.confined import confine, ended

CHECK_S = 2.0
"""Seconds of processor time for a grammar."""
_MEMORY_BYTES = 2**30
"""Address space of the process."""


def limits() -> Any:
    """Return the limits of a grammar: to be compiled, and for each of its steps."""
    return llguidance.LLParserLimits(
        initial_lexer_fuel=1_000_000, step_lexer_fuel=100_000, step_max_items=20_000, max_lexer_states=20_000,
        max_grammar_size=100_000, verbose_errors=False, precompute_large_lexemes=False)


def main() -> None:
    confine(_MEMORY_BYTES)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, whose end closes our input
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # prints of a library must not look like an answer
    for line in sys.stdin.buffer:
        with ended(CHECK_S):
            error = llguidance.LLMatcher.validate_grammar(json.loads(line), limits=limits())
        answers.write(json.dumps(error).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
