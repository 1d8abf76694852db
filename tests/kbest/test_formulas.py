"""Formulas: what they come to, against Python's own arithmetic, and all that is refused."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.kbest.derived import formula_values
from luthier.kbest.serving.formula import Formula

leaves = st.sampled_from(["a", "b", "'a'", "2", "0.5", "1e-3"])
formulas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(st.sampled_from(["log", "exp", "-", "+"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
    ),
    max_leaves=6,
)


@given(formulas, st.integers(1, 4), st.integers(-3, 3))
def test_values_are_those_of_python(text, a, b):
    found = formula_values(Formula(text), {"a": np.array([float(a)]), "b": np.array([float(b)])})
    alone = Formula(text).number({"a": float(a), "b": float(b)})
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":  # plain Python takes NumPy's own functions
        assert found.reshape(-1) == pytest.approx([alone], rel=1e-12, nan_ok=True)
    else:
        assert np.array_equal(found.reshape(-1), [alone], equal_nan=True)
    names = {"a": float(a), "b": float(b), "log": math.log, "exp": math.exp, "min": min, "max": max}
    try:
        expected = eval(text.replace("'a'", "a"), {"__builtins__": {}}, names)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return  # NumPy says infinite, or not a number where Python resumes complex ones
    if not isinstance(expected, complex):
        assert found == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "text",
    ["", "a +", "a; b", "a.b", "a[0]", "f(a)", "min(a)", "log(a, b)", "exp()", "lambda: a", "a if b else c", "a == b",
     "a // b", "a % b", "True", "None", "__import__('os')", "min", "a and b", "[a]", "1j", "b'x'", "max(a, key=b)",
     "1e999", "9" * 320, "(" * 150 + "a" + ")" * 150 + "+", "a" * 301, "a := 1", "f'{a}'", "*a", "a\x00"],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(LuthierError, match="expected a formula"):
        Formula(text)


def test_names_and_constants():
    formula = Formula("lm / max(words, 1) ** alpha - 'my lm'")
    assert formula.names == ("lm", "words", "alpha", "my lm")
    there = formula.with_value("alpha", 0.6)
    assert there.names == ("lm", "words", "my lm")
    assert there.number({"lm": 4.0, "words": 0.0, "my lm": 1.0}) == 3.0
    assert formula.with_value("my lm", -1.5).number({"lm": 0.0, "words": 1.0, "alpha": 2.0}) == 1.5
    assert np.isinf(formula_values(Formula("1/a"), {"a": np.zeros(2)})).all()
