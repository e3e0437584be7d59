r"""Numbers in answers, as a table that reads as documentation: the reference, the output, and whether it is paid."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.specs import spec


def grade(reference: Any, output: str, **params: Any) -> Result:
    return judged(spec(json.dumps({"type": "numeric", **params})), {"answer": reference}, output)


RIGHT = [
    # Which number counts: after ####, else in the last box, else in the last <answer>, else the last one.
    ("42", "#### 42\nI checked it 3 times."),
    ("42", r"\boxed{7}, so #### 42"),
    ("42", r"\boxed{42}, checked 3 times"),
    ("42", r"First \boxed{7}. Wait, no: \boxed{42}"),
    ("42", "<answer>42</answer> in 3 steps"),
    ("42", "She has 70, no, 42 apples."),
    ("42", "#### Step 3\nso \\boxed{42}"),
    ("42", "#### 2. Add them\n40 + 2 = 42"),
    ("42", "#### The answer is 42 apples"),
    ("42", "**42**"),
    ("Janet sells 16 - 3 - 4 = 9 eggs, at $2.\n#### 18", "It is $18.00"),
    (r"So it is $\boxed{18}$ after 3 days", "18"),
    (5, "7-5"),
    # Lists: the same numbers in the same order.
    ("8.124, 12.852", "8.124, 12.852"),
    ("8.124, 12.852", "The roots are 8.124 and 12.852."),
    ("8.124, 12.852", "x = 8.124, y = 12.852"),
    ("8.124, 12.852", r"\boxed{8.124} and \boxed{12.852}"),
    ("8.124 and 12.852", r"\boxed{8.124, 12.852}"),
    ("[1, 2, 3]", "1, 2, 3"),
    ([1, 2, 3], "[1,2,3]"),
    ("(3, 4)", r"$\boxed{(3, 4)}$"),
    ("5, -5", r"\boxed{\pm 5}"),
    ("5 cm, 3 cm", "5 cm and 3 cm"),
    # Sizes: whole numbers are exact, small ones are not zero.
    ("9007199254740993", "9007199254740993"),
    ("123456789012345678901234567890", "123,456,789,012,345,678,901,234,567,890"),
    ("1e-9", "0.000000001"),
    ("0", "0.0"),
    ("0.3", str(0.1 + 0.2)),
    ("1/3", "0.3333333"),
    ("-5", "it is -5"),
    # Ways of writing.
    ("1234.5", "1,234.5"),
    ("1234.5", "1.234,5"),
    ("1234.5", "1 234,5"),
    ("1234567", "about 1.234.567."),
    ("1234", "1 234"),
    ("1234", "1\u202f234"),
    ("1234", "1'234"),
    ("1,234", r"\boxed{1{,}234}"),
    ("12345", r"\boxed{12,\!345}"),
    ("0.5", "p=.5"),
    ("42", "٤٢"),
    ("42", "答案是42。"),
    ("42", "４２"),
    ("-5", "x = −5"),
    ("-5", "x = –5"),
    ("-5", "x = - 5"),
    ("-5", "it is minus 5"),
    ("-5", "Negative $5"),
    ("2", "5 minus 3 leaves 2"),
    ("-5", "-$5"),
    ("1000000", "10^6"),
    ("1000000", "10⁶"),
    ("1000000", "$10^{6}$"),
    ("1500", "1.5×10^3"),
    ("1500", r"1.5 \times 10^{3}"),
    ("1.5e3", "1.5 * 10^3"),
    ("0.0015", "1.5E-3"),
    ("16", "2^4"),
    ("0.5", "1/2"),
    ("0.5", "½"),
    ("2.5", "2 1/2"),
    ("2.5", r"2\frac{1}{2}"),
    ("-0.25", r"\boxed{-\dfrac14}"),
    ("3000000", "3 million"),
    ("50", "50%"),
    ("50%", "0.5"),
    ("50%", r"\boxed{50\%}"),
    # What stands beside the number in a box.
    ("5", r"\boxed{x = 5}"),
    ("7", r"\boxed{3 + 4 = 7}"),
    ("5", r"\boxed{5\text{ cm}^2}"),
    ("5", r"\boxed{5 m/s^2}"),
    ("5", r"\boxed{\$5}"),
    ("5", r"\boxed{\text{5 apples}}"),
    ("3.14", r"\boxed{x \approx 3.14}"),
    ("3", "its area is 3 cm^2"),
]
WRONG = [
    ("5", "minus 5"),
    ("8.124, 12.852", "99, 12.852"),
    ("8.124, 12.852", "12.852, 8.124"),
    ("8.124, 12.852", "12.852"),
    ("8.124, 12.852", "8.124, 12.852, 99"),
    ("8.124, 12.852", "Of 8.124 eggs she sold 12.852"),
    ("42", r"#### 42 and \boxed{7}"),
    ("7", r"#### 42, not \boxed{7}"),
    ("3", r"\boxed{3} or \boxed{5}"),
    ("5", r"\boxed{3} or \boxed{5}"),
    ("5", r"\boxed{3}, maybe \boxed{5}"),
    ("5", r"\boxed{3 \text{ or } 5}"),
    ("5", r"\boxed{3, 5}"),
    ("73", "72 or 73"),
    ("5", "±5"),
    ("9007199254740993", "9007199254740992"),
    ("123456789012345678901234567890", "123456789012345678901234567891"),
    ("1e-9", "0"),
    ("0", "1e-9"),
    ("1e-9", "2e-9"),
    ("3", "3.00001"),
    ("1.234", "1,234"),
    ("1234", "1.234"),
    ("1/2", "2"),
    ("2", "1/2"),
    ("50%", "5%"),
    ("3", "3 million"),
    ("2", r"\boxed{\sqrt{2}}"),
    ("2", r"\boxed{2\pi}"),
    ("2", r"the area is 2\pi"),
    ("2", "√2"),
    ("4", r"\boxed{3+4}"),
    ("5", r"\boxed{5x}"),
    ("5", r"\boxed{10 - 5}"),
    ("5", r"\boxed{x > 5}"),
    ("2", "H2O"),
    ("7", "v7.0.1"),
    ("1", "1e999999999"),
]


@pytest.mark.parametrize(("reference", "output"), RIGHT)
def test_right_answers_are_paid(reference: Any, output: str) -> None:
    result = grade(reference, output)
    assert (result.status, result.score) == (Status.OK, 1.0), result.reasons


@pytest.mark.parametrize(("reference", "output"), WRONG)
def test_wrong_answers_are_not(reference: Any, output: str) -> None:
    assert grade(reference, output).score == 0.0


@pytest.mark.parametrize(("output", "extracted", "decided_by"), [
    ("She has 70, no, 72 apples.", "72", "last-number"), ("72 or 73", "73", "last-number"),
    ("x = −5", "−5", "last-number"), ("50%", "50", "last-number"), ("about 1,234,567.", "1,234,567", "last-number"),
    (r"so \boxed{x = 72}", "x = 72", "marked"), ("#### 72 apples", "72 apples", "marked"),
])
def test_the_answer_is_shown_as_written(output: str, extracted: str, decided_by: str) -> None:
    result = grade("72", output)
    assert (result.extracted, result.decided_by) == (extracted, decided_by)


@pytest.mark.parametrize("output", ["four", r"\boxed{4", r"\boxed{4} and \boxed{5", r"\boxed{\text{none}}",
                                    "<think>4", "<think>4</think>"])
def test_no_answer(output: str) -> None:
    result = grade("4", output)
    assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)
    assert result.reasons


@pytest.mark.parametrize("reference", [
    "four", "1e999", "3 apples, so 3 + 4 pears", "2x + 3", r"\sqrt{2}", r"\boxed{4", True,
])
def test_a_reference_that_is_no_number_and_no_list_is_our_fault(reference: Any) -> None:
    result = grade(reference, "4")
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)


@pytest.mark.parametrize(("tolerances", "output", "score"), [
    ({"abs_tolerance": 0.5}, "100.5", 1.0), ({"abs_tolerance": 0.5}, "100.6", 0.0), ({"abs_tolerance": 0}, "100", 1.0),
    ({"rel_tolerance": 0.01}, "101", 1.0), ({"rel_tolerance": 0.01}, "101.1", 0.0),
    ({}, "100.0000009", 1.0), ({}, "100.0000011", 0.0),
])
def test_tolerance(tolerances: dict[str, float], output: str, score: float) -> None:
    assert grade("100", output, **tolerances).score == score


@pytest.mark.parametrize(("written", "value"), [
    ("0,5", "1/2"), ("1.234", "1234"), ("1.234,5", "1234,5"), ("1,234.5", "1234,5"), ("1 234,5", "1234,5"),
])
def test_the_comma_may_be_the_decimal_mark(written: str, value: str) -> None:
    assert grade(value, written, decimal_mark="comma").score == 1.0


@pytest.mark.parametrize("piece", [
    "1", "1,", "1,234,", "1.234", "1 ", "1 234 ", "1/", "1 1/", "-", "½", "1e", "10^", "9^9^", "$", "#### ", "#### (",
    "\\boxed{", "\\boxed{1} ", "\\frac{1}", "\\sqrt{", "x = ", "{", "or ", "<answer>", "<think>", "٣", "1 or ",
])
def test_long_outputs_are_read_once(piece: str) -> None:
    assert grade("-7", piece * (150_000 // len(piece.encode()))).score == 0.0
