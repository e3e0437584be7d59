"""Products with packed weights equal plain ones, and a row's bits depend on that row alone."""

import pytest
import torch

from services.inference.native import matrix
from services.inference.native.matrix import Matrix, takes_bfloat16

SHAPES = ((16, 32), (96, 40), (256, 513))


@pytest.fixture(params=[True, False], ids=["packed", "plain"])
def packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param and not matrix._PACKED:
        pytest.skip("torch comes without oneDNN here")
    monkeypatch.setattr(matrix, "_PACKED", request.param)
    return bool(request.param)


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize(("inner", "outer"), SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_every_product_equals_its_formula(inner: int, outer: int, with_bias: bool) -> None:
    torch.manual_seed(0)
    weight, rows, other = torch.randn(outer, inner), torch.randn(7, inner), torch.randn(7, outer)
    bias = torch.randn(outer) if with_bias else None
    made = Matrix(weight, bias)
    plain = rows.double() @ weight.double().t() + (0 if bias is None else bias.double())
    for found, wanted in (
        (made.times(rows), plain), (made.silu_times(rows), plain * torch.sigmoid(plain)),
        (made.times_by(rows, other.clone()), plain * other), (made.times_plus(rows, other.clone()), plain + other),
    ):
        torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-4)


def test_a_bias_of_minus_infinity_comes_out_as_it_is() -> None:
    bias = torch.tensor([0.0, -torch.inf])
    assert Matrix(torch.ones(2, 4), bias).times(torch.ones(3, 4)).tolist() == [[4.0, -torch.inf]] * 3


@pytest.mark.usefixtures("packed")
@pytest.mark.parametrize(("inner", "outer"), SHAPES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_in_bfloat16_every_product_equals_its_formula_up_to_its_roundings(
    inner: int, outer: int, with_bias: bool
) -> None:
    if matrix._PACKED and not takes_bfloat16():
        pytest.skip("oneDNN has no bfloat16 on this processor")
    torch.manual_seed(0)
    half = torch.bfloat16
    weight, rows, other = torch.randn(outer, inner).to(half), torch.randn(7, inner).to(half), torch.randn(7, outer)
    bias = torch.randn(outer).to(half) if with_bias else None
    made = Matrix(weight, bias, half)
    plain = rows.double() @ weight.double().t() + (0 if bias is None else bias.double())
    found = {"times": made.times(rows.float()), "plus": made.times_plus(rows.float(), other.clone())}
    assert {one.dtype for one in found.values()} == {torch.float32}
    for one, wanted in ((found["times"], plain), (found["plus"] - other, plain),
                        (made.silu_times(rows), plain * torch.sigmoid(plain)),
                        (made.times_by(rows, other.to(half)), plain * other.to(half).double())):
        torch.testing.assert_close(one.double(), wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("inner", "outer"), SHAPES)
def test_a_rows_bits_do_not_depend_on_how_many_rows_there_are(inner: int, outer: int) -> None:
    if not matrix._PACKED:
        pytest.skip("torch comes without oneDNN here: measuring then finds the row counts that are safe")
    torch.manual_seed(0)
    made, rows = Matrix(torch.randn(outer, inner)), torch.randn(256, inner)
    whole = made.silu_times(rows)
    for count in (1, 2, 3, 8, 17, 64, 255):
        assert torch.equal(made.silu_times(rows[:count].clone()), whole[:count])
