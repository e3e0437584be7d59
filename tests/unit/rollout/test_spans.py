"""Named spans of a completion as token ranges, for tokenizers that split the text differently."""

from tokenizers import Tokenizer as Vocabulary
from tokenizers import decoders, models, pre_tokenizers

from hone.harnesses.spans import Marks, token_spans
from hone.text.tokenizer import Tokenizer
from hone.trajectory.records import Span

MARKS = [Marks(name="inner", start="(", end=")", weight=2.0), Marks(name="sum", start="=", end="\n")]


def byte_level(*merges: tuple[str, str]) -> Tokenizer:
    """A tokenizer over bytes in GPT-2's notation, with an end token."""
    symbols = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges), "</s>"]
    made = Vocabulary(models.BPE({symbol: number for number, symbol in enumerate(symbols)}, list(merges)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return Tokenizer({"tokenizer.json": made.to_str().encode(), "tokenizer_config.json": b'{"eos_token": "</s>"}'})


def test_a_token_belongs_to_a_span_if_any_of_its_text_does() -> None:
    tokenizer = byte_level(("a", "("), (")", "c"))
    ids = tokenizer.encode("xa(b)cd")
    assert len(ids) == 5
    assert token_spans(ids, MARKS, tokenizer) == [Span("inner", 1, 4, 2.0)]


def test_a_character_of_several_tokens_is_inside_with_all_of_them() -> None:
    tokenizer = byte_level()
    ids = tokenizer.encode("é(é€)é")
    assert len(ids) == 11
    assert token_spans(ids, MARKS, tokenizer) == [Span("inner", 2, 9, 2.0)]
    euro = [Marks(name="euro", start="€", end="€")]
    assert token_spans(tokenizer.encode("é€é€é"), euro, tokenizer) == [Span("euro", 2, 10)]


def test_bytes_that_are_no_text_break_nothing() -> None:
    tokenizer = byte_level()
    broken = [*tokenizer.encode("(é")[:2], *tokenizer.encode("b)c"), *tokenizer.encode("€")[:1]]
    assert token_spans(broken, MARKS, tokenizer) == [Span("inner", 0, 4, 2.0)]


def test_spans_come_kind_after_kind_and_one_without_end_goes_through_the_stop() -> None:
    tokenizer = byte_level()
    ids = [*tokenizer.encode("=(1)(2)"), tokenizer.eos_id]
    assert token_spans(ids, MARKS, tokenizer) == [
        Span("inner", 1, 4, 2.0), Span("inner", 4, 7, 2.0), Span("sum", 0, len(ids))]
    assert ids[-1] == tokenizer.eos_id
    assert token_spans([], MARKS, tokenizer) == token_spans(ids, [], tokenizer) == []
