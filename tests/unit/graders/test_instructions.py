"""IFEval's 25 instructions: a text that follows each and one that does not, and how they are counted."""

from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.instruction_rules import RULES, follows, sentences
from hone.graders.judgement import judged
from hone.graders.specs import checked
from hone.spec.problems import Invalid

ENGLISH, GERMAN = "the dog sleeps under the old tree today", "Der Hund schläft heute unter dem alten Baum."
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["Cat", "a+b"]}, "cats know a+b", "cats know aab"),
    ("keywords:frequency", {"keyword": "x.", "frequency": 2, "relation": "at least"}, "X. and x.", "x. and xy"),
    ("keywords:frequency", {"keyword": "x", "frequency": 2, "relation": "less than"}, "x", "xx"),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "cats", "a Cat!"),
    ("keywords:letter_frequency", {"letter": "A", "let_frequency": 3, "let_relation": "at least"}, "aAa", "aa"),
    ("language:response_language", {"language": "de"}, GERMAN, ENGLISH),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "One. Two!",
     "Mr. A. Bee, 3.5."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "*** a\n***\nb ***", "a\n\nb"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "two words", "it's me"),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Well"},
     'a\n\n"well, b', "a\n\nwelling"),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[a] [b c]", "[a] [b\n]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "a\np. s. b", "a ps b"),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "a P.P.S b", "a P.S. b"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n - b\n**c**", "* a\n* b\n* c"),
    ("detectable_format:constrained_response", {}, "My answer is maybe.", "My answer is perhaps."),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a b* and **c**", "*a* and * *"),
    ("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 2},
     "SECTION 1 a\nSECTION 2 b", "SECTION 1 a"),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', '{"a": 1'),
    ("detectable_format:title", {}, "a\n<<b>>", "<< >> <b>"),
    ("combination:two_responses", {}, "a ****** b", "a ****** a"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say hello."}, "say Hello. Hello", "Hello"),
    ("startend:end_checker", {"end_phrase": "The end."}, 'It is "the end."', "the end. no"),
    ("startend:quotation", {}, '"a"', 'a "b"'),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}, "THE U.S. one",
     "THE us"),
    ("change_case:english_capital", {}, ENGLISH.upper(), ENGLISH),
    ("change_case:english_capital", {}, f"{ENGLISH.upper()}!", GERMAN.upper()),
    ("change_case:english_lowercase", {}, ENGLISH, ENGLISH.capitalize()),
    ("punctuation:no_comma", {}, "a b", "a, b"),
]


@pytest.mark.parametrize(("name", "arguments", "right", "wrong"), CASES)
def test_each_instruction(name: str, arguments: dict[str, Any], right: str, wrong: str) -> None:
    assert follows(name, right, arguments)
    assert not follows(name, wrong, arguments)


def test_all_25_have_a_case() -> None:
    assert {name for name, *_ in CASES} == RULES.keys()
    assert len(RULES) == 25


@pytest.mark.parametrize(("text", "count"), [
    ("", 0), ("...", 0), ("One", 1), ("One. Two", 2),
    ('He said "no." Then he left!', 2), ("At 3.5 m, e.g. here. So?!", 2),
    ("Dr. J. Smith came. Solve for x. Then stop.", 3), ("これは文です。次の文。", 2), ("a.b.c", 1), ("Wait… what", 2),
    ("Is it no. 5? The answer is no. Yes.", 4), ("* One.\n* Two.", 2),
])
def test_sentences(text: str, count: int) -> None:
    assert sentences(text) == count


def graded(output: str, ids: Any, kwargs: Any, **params: Any) -> Result:
    return judged(checked({"type": "instructions", **params}), {"instruction_id_list": ids, "kwargs": kwargs}, output)


def test_prompt_and_instruction_accuracy() -> None:
    comma, title, quoted = "punctuation:no_comma", "detectable_format:title", "startend:quotation"
    prompts = [("<<a>>", [comma, title, quoted]), ("<<a>>", [title]), ('"a, b"', [comma, quoted])]
    strict = [graded(output, ids, [{}] * len(ids)) for output, ids in prompts]
    followed = [value for result in strict for value in result.components.values()]
    assert followed == [1, 1, 0, 1, 0, 1]
    assert sum(result.score or 0 for result in strict) / 3 == pytest.approx(1 / 3)
    assert sum(followed) / 6 == pytest.approx(2 / 3)
    shares = [graded(output, ids, [{}] * len(ids), score="fraction").score for output, ids in prompts]
    assert shares == [2 / 3, 1, 1 / 2]
    assert strict[0].reasons == ("startend:quotation: not followed",)


@pytest.mark.parametrize(("output", "strict", "loose"), [
    ('"a"', 1, 1), ('Sure:\n"a"', 0, 1), ('"a"\nDone.', 0, 1), ('Sure:\n"a"\nDone.', 0, 1), ('**"a"**', 0, 1),
    ('*Sure*\n*"a"*\nDone.', 0, 1), ('Well.\nSure:\n"a"', 0, 0), ("a", 0, 0),
])
def test_loose_takes_any_of_eight_variants(output: str, strict: float, loose: float) -> None:
    for mode, score in (("strict", strict), ("loose", loose)):
        assert graded(output, ["startend:quotation"], [{}], mode=mode).score == score


def test_an_id_that_stands_twice_has_one_component() -> None:
    words = "length_constraints:number_words"
    kwargs = [{"num_words": 2.0, "relation": "at least", "keywords": None}, {"num_words": 2, "relation": "less than"}]
    result = graded("one two", [words, words], kwargs, score="fraction")
    assert (result.score, dict(result.components)) == (0.5, {words: 0.5})


WRONG: list[tuple[Any, Any, str]] = [
    (["punctuation:no_coma"], [{}], "did you mean punctuation:no_comma?"), ([5], [{}], "not 5"),
    ([], [], "1 to 64 ids"), ("no", [], "JSON for {{ item.instruction_id_list }}"),
    (["startend:quotation"], [], "as many objects in kwargs"),
    (["startend:quotation"], [{"end_phrase": "x"}], "nothing at kwargs[0] for startend:quotation, not end_phrase"),
    (["startend:end_checker"], [{"end_phrase": None}], "end_phrase at kwargs[0] for startend:end_checker, not nothing"),
    (["startend:end_checker"], [{"end_phrase": 5}], "a text at kwargs[0].end_phrase, not 5"),
    (["startend:end_checker"], [None], "an object at kwargs[0]"),
    (["language:response_language"], [{"language": "xx"}], "at kwargs[0].language, not \"xx\""),
    (["length_constraints:number_words"], [{"num_words": 1, "relation": "at most"}],
     "kwargs[0].relation, not \"at most\""),
    (["length_constraints:number_words"], [{"num_words": True, "relation": "at least"}], "a whole number from 0 on"),
    (["keywords:letter_frequency"], [{"letter": "ab", "let_frequency": 1, "let_relation": "at least"}], "one letter"),
    (["keywords:existence"], [{"keywords": []}], "a list of texts at kwargs[0].keywords"),
]


@pytest.mark.parametrize(("ids", "kwargs", "problem"), WRONG)
def test_a_wrong_instruction_is_named_and_masks_the_sample(ids: Any, kwargs: Any, problem: str) -> None:
    result = graded("a", ids, kwargs)
    assert result.status is Status.INVALID_SPEC
    assert problem in result.reasons[0]
    if isinstance(ids, list) and all(isinstance(one, str) for one in ids) and None not in kwargs:
        with pytest.raises(Invalid) as refused:
            checked({"type": "instructions", "instruction_id_list": ids, "kwargs": kwargs})
        assert problem in str(refused.value)


@pytest.mark.parametrize("text", ["[" * 200_000, "*" * 200_000, "<<" * 100_000, "\n" * 199_000 + "a", ". " * 100_000])
def test_long_texts_take_no_time_worth_mentioning(text: str) -> None:
    for name, arguments, _, _ in CASES:
        follows(name, text, arguments)
