"""Declared parameters: every kind of field is fed garbage, and one form of sentence comes back."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from luthier.core.params import ParameterError, describe_domain, param, scalar_type, validate


@dataclass(frozen=True)
class Method:
    sweeps: int = param(10, low=1, high=1000, help="passes")
    step: float = param(0.1, low=0, help="size")
    bias: float = param(0.0, help="anything finite")
    share: float = param(0.5, low=0, high=1, help="part")
    order: str = param("up", choices=("up", "down"), help="which way")
    fast: bool = param(False, help="or not")
    limit: int | None = param(None, low=1, help="or none")
    name: str = param("x", help="a text")

    def __post_init__(self) -> None:
        validate(self)


BAD = [
    ("sweeps", 0, "an int in [1, 1000]"),
    ("sweeps", 1001, "an int in [1, 1000]"),
    ("sweeps", 1.0, "an int in [1, 1000]"),
    ("sweeps", True, "an int in [1, 1000]"),
    ("sweeps", "3", "an int in [1, 1000]"),
    ("sweeps", None, "an int in [1, 1000]"),
    ("step", -1e-9, "a float in [0, inf)"),
    ("step", math.nan, "a float in [0, inf)"),
    ("step", math.inf, "a float in [0, inf)"),
    ("step", "0.1", "a float in [0, inf)"),
    ("step", False, "a float in [0, inf)"),
    ("bias", math.inf, "a finite float"),
    ("bias", math.nan, "a finite float"),
    ("share", 1.5, "a float in [0, 1]"),
    ("order", "Up", "one of up, down"),
    ("order", None, "one of up, down"),
    ("fast", 1, "a bool"),
    ("fast", "yes", "a bool"),
    ("limit", 0, "an int in [1, inf) or None"),
    ("limit", 2.0, "an int in [1, inf) or None"),
    ("name", 3, "a str"),
    ("name", None, "a str"),
]


@pytest.mark.parametrize("name, value, domain", BAD)
def test_garbage_is_refused_in_one_form_of_sentence(name, value, domain):
    with pytest.raises(ParameterError) as caught:
        Method(**{name: value})
    assert str(caught.value) == f"the {name!r} parameter of test_params must be {domain}, got {value!r}"


@pytest.mark.parametrize(
    "name, value",
    [("sweeps", 1), ("sweeps", 1000), ("step", 0), ("step", 10**6), ("bias", -1e300), ("share", 1),
     ("order", "down"), ("fast", True), ("limit", None), ("limit", 5), ("name", "")],
)  # fmt: skip
def test_the_ends_of_a_domain_belong_to_it(name, value):
    assert getattr(Method(**{name: value}), name) == value


def test_an_infinite_bound_that_is_declared_can_be_reached():
    @dataclass(frozen=True)
    class Open:
        width: float = param(math.inf, low=0, high=math.inf, help="how wide")

    validate(Open())
    with pytest.raises(ParameterError):
        validate(Open(-math.inf))


def test_unknown_parameters_are_errors():
    with pytest.raises(TypeError):
        Method(sweep=3)


def test_plain_types():
    assert scalar_type(int | None) == (int, True)
    assert scalar_type(tuple[str, ...]) == (tuple, False)
    assert describe_domain(int, {"low": None, "high": 3}) == "an int in (-inf, 3]"


def test_a_tuple_of_texts_holds_texts_and_another_tuple_what_it_likes():
    @dataclass(frozen=True)
    class Named:
        names: tuple[str, ...] = param((), help="names")
        numbers: tuple[int, ...] = param((0,), help="numbers")

    validate(Named(("a",), (1, 2)))
    for names in ((1,), "a", None):
        with pytest.raises(ParameterError, match=r"the 'names' parameter of .* must be a tuple of texts"):
            validate(Named(names))
