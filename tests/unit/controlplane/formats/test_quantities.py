"""Amounts against a table of Kubernetes quantities, and the laws of their order."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.formats.quantities import QUANTITY, amount

SCALES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
LEGAL = [
    ("0", "0"),
    ("2", "2"),
    ("007", "7"),
    ("500m", "0.5"),
    ("1500m", "1.5"),
    ("0.5", "0.5"),
    (".5", "0.5"),
    ("1.", "1"),
    ("1.Ki", "1024"),
    (".5Gi", "536870912"),
    ("2Gi", "2147483648"),
    ("1.5Gi", "1610612736"),
    ("128974848", "128974848"),
    ("129e6", "129000000"),
    ("129M", "129000000"),
    ("123Mi", "128974848"),
    # The letter alone is ten to the eighteenth; with digits after it, it is an exponent.
    ("1E", "1000000000000000000"),
    ("1Ei", "1152921504606846976"),
    ("1E3", "1000"),
    ("1e3", "1000"),
    ("1e+3", "1000"),
    ("1e-3", "0.001"),
    ("1E-3", "0.001"),
    ("1.5e3", "1500"),
    (".5e1", "5"),
    ("1e0", "1"),
    ("1n", "0.000000001"),
    ("1u", "0.000001"),
]
ILLEGAL = [
    *("", " ", ".", "m", "Gi", "e3", "E", ".e3", ".Ki"),
    *("1 Gi", " 1", "1 ", "1\n", "1\t", "1 000", "1,5", "1_000"),
    *("-1", "+1", "--1", "-0", "-1Gi", "-500m"),
    *("NaN", "nan", "Infinity", "inf", "-Infinity", "true", "null", "x", "0x10", "1/2"),
    *("1e", "1e+", "1e1000", "1e-1000", "1e1.5", "1e3k", "1e3Ki", "1ee3"),
    *("1gi", "1GI", "1ki", "1K", "1g", "1t", "1N", "1U", "1mi", "1ni", "1ui", "1GiB", "1B", "1kk", "1KiKi"),
    *("1..5", "1.5.5", "..5", "1.5.", "0.5.Gi"),
    *("١", "１", "1٢", "²", "½", "1\u00a0Gi", "1Gі"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), LEGAL)
def test_a_quantity_has_the_amount_that_kubernetes_gives_it(text, value):
    assert amount(text) == Decimal(value)


@pytest.mark.parametrize(("suffix", "scale"), SCALES.items(), ids=[scale or "none" for scale in SCALES])
def test_each_suffix_stands_for_its_scale(suffix, scale):
    assert Fraction(amount(f"1{suffix}")) == scale
    assert Fraction(amount(f"2.5{suffix}")) == scale * Fraction(5, 2)


@pytest.mark.parametrize("exponent", [-99, -18, -1, 0, 1, 9, 18, 99])
@pytest.mark.parametrize("letter", ["e", "E"])
def test_an_exponent_is_a_power_of_ten(letter, exponent):
    assert Fraction(amount(f"3{letter}{exponent}")) == 3 * Fraction(10) ** exponent


@pytest.mark.parametrize("text", ILLEGAL)
def test_what_kubernetes_does_not_write_or_nobody_sets_has_no_amount(text):
    assert amount(text) is None


@pytest.mark.parametrize("value", [None, True, False, [], ["1"], {}, {"cpu": "1"}, b"1"])
def test_what_is_neither_number_nor_text_has_no_amount(value):
    assert amount(value) is None


@pytest.mark.parametrize(
    ("number", "value"), [(0, "0"), (2, "2"), (-3, "-3"), (0.1, "0.1"), (1e22, "1e22"), (10**20, "1e20")]
)
def test_a_number_is_its_own_amount_as_it_is_written(number, value):
    assert amount(number) == Decimal(value)


def test_a_text_that_is_too_long_to_be_meant_has_no_amount():
    assert amount("1" * 64) is not None
    assert amount("1" * 65) is None


@pytest.mark.parametrize("text", [*(text for text, _ in LEGAL), *(text for text in ILLEGAL if text != "1\n")])
def test_schemas_take_exactly_what_has_an_amount(text):
    # The dollar of Python, and not that of JSON Schema, allows one line feed at the end.
    assert (re.search(QUANTITY, text) is not None) == (amount(text) is not None)


# Amounts are exact to 28 digits; these stay within, even as Ei.
_whole = st.integers(0, 10**6)
_tail = st.integers(0, 999)
_written = st.tuples(_whole, _tail, st.sampled_from([*SCALES, "e3", "E-2", "e+1", "e0"]))


def text_of(written: tuple[int, int, str]) -> str:
    return f"{written[0]}.{written[1]:03}{written[2]}"


def exact(written: tuple[int, int, str]) -> Fraction:
    whole, tail, suffix = written
    scale = SCALES[suffix] if suffix in SCALES else Fraction(10) ** int(suffix[1:])
    return (whole + Fraction(tail, 1000)) * scale


@given(_written)
def test_no_digit_is_lost(written):
    assert Fraction(amount(text_of(written))) == exact(written)


@given(_written, _written)
def test_amounts_are_ordered_as_what_they_stand_for(quantity, other):
    ours, theirs = amount(text_of(quantity)), amount(text_of(other))

    assert (ours < theirs) == (exact(quantity) < exact(other))
    assert (ours == theirs) == (exact(quantity) == exact(other))


@given(_whole, st.sampled_from([("m", ""), ("", "k"), ("k", "M"), ("M", "G")]))
def test_a_thousand_of_a_suffix_are_one_of_the_next(number, suffixes):
    smaller, larger = suffixes

    assert amount(f"{number}000{smaller}") == amount(f"{number}{larger}") == amount(f"0{number}.0{larger}")


@given(_whole, st.sampled_from([("", "Ki"), ("Ki", "Mi"), ("Mi", "Gi"), ("Pi", "Ei")]))
def test_1024_of_a_binary_suffix_are_one_of_the_next(number, suffixes):
    smaller, larger = suffixes

    assert amount(f"{number * 1024}{smaller}") == amount(f"{number}{larger}")


@given(st.integers(-(10**15), 10**15))
def test_a_number_and_the_quantity_of_the_same_digits_are_equal(number):
    assert amount(number) == (amount(str(number)) if number >= 0 else -amount(str(-number)))


@given(st.text(max_size=6))
def test_any_text_has_an_amount_or_none_and_never_fails(text):
    parsed = amount(text)

    assert parsed is None or parsed >= 0
