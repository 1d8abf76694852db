"""Features that are made of others by a formula: lengths, length penalties, differences of scores.

``words`` and ``chars`` of a hypothesis can be used in formulas, and be features. What was added to a pool is noted in
its provenance and goes with weights that are tuned on it, so that the same can be done to other lists.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.kbest import _formula_kernels as kernels
from luthier.kbest.features import unknown_names
from luthier.kbest.pool import Pool
from luthier.kbest.serving.formula import Formula, Operators


def _by_kernel(kernel: Callable[..., None]) -> Callable[..., Float64]:
    """Return the function of numbers or arrays that a kernel computes."""

    def value(*operands: Any) -> Float64:
        parts = np.broadcast_arrays(*(np.asarray(operand, dtype=np.float64) for operand in operands))
        out = np.empty(parts[0].shape)
        kernel(*(np.array(part, order="C").reshape(-1) for part in parts), out.reshape(-1))
        return out

    return value


OF_ARRAYS: Operators = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "u+": np.positive, "u-": np.negative,
    "min": np.minimum, "max": np.maximum, "log": _by_kernel(kernels.log_of), "exp": _by_kernel(kernels.exp_of),
    "**": _by_kernel(kernels.power_of),
}  # fmt: skip


def formula_values(formula: Formula, values: Mapping[str, Any]) -> Float64:
    """Return the values of a formula, given those of its names: numbers, or arrays of one length.

    >>> formula_values(Formula("2 * 'my lm' - 1"), {"my lm": np.array([3.0, 0.0])}).tolist()
    [5.0, -1.0]
    """
    with np.errstate(all="ignore"):
        return np.asarray(formula.compiled(OF_ARRAYS)(values), dtype=np.float64)


ADD = "add"
LENGTHS = ("words", "chars")


@dataclasses.dataclass(frozen=True)
class Derived:
    """A feature and the formula that makes it."""

    name: str
    formula: Formula

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^\s=#\[{]\S*", self.name) or "=" in self.name:
            raise LuthierError(f"expected a name without white space and '=' for a feature, found {self.name!r}")
        if self.name in LENGTHS and self.formula.text != self.name:
            raise LuthierError(f"{self.name!r} is the length of a hypothesis. hint: give the new feature another name")

    @classmethod
    def parse(cls, text: str) -> Derived:
        """Read ``name=formula``, or a length alone.

        >>> Derived.parse("lp=lm/words").name, Derived.parse("words").name
        ('lp', 'words')
        """
        name, equals, formula = text.partition("=")
        if not equals:
            if name.strip() not in LENGTHS:
                raise LuthierError(f"expected {' or '.join(LENGTHS)}, or NAME=FORMULA to add, found {text!r}")
            formula = name
        return cls(name.strip(), Formula(formula.strip()))


def add_derived(pool: Pool, items: Iterable[Derived], constants: Mapping[str, float] | None = None) -> Pool:
    """Return the pool with more features, each of which may use those before it.

    A name in a formula is a constant, else a feature, else a column, else ``words`` or ``chars``.

    Raises
    ------
    LuthierError
        A name that nothing has, a feature that there is already, a value that is not finite.
    """
    for item in items:
        if item.name in pool.features.names:
            raise LuthierError(f"there is a feature {item.name!r} already. hint: give the new one another name")
        formula = item.formula
        for name, number in (constants or {}).items():
            formula = formula.with_value(name, number)
        used = {name: _values(pool, name) for name in formula.names}
        values = np.broadcast_to(formula_values(formula, used), (pool.n_hypotheses,))
        _check(pool, item, values, used)
        pool = pool.with_features(pool.features.with_columns({item.name: values}))
        pool = pool.noting(ADD, name=item.name, formula=formula.text)
    return pool


def derived_of(pool: Pool) -> dict[str, str]:
    """Return the features of a pool that formulas made, and the formulas, as they can be used on lists like it."""
    found: dict[str, str] = {}
    for step in pool.provenance.get("operations", []):
        if step.get("operation") == ADD and isinstance(step.get("name"), str):
            found[step["name"]] = str(step.get("formula"))
        elif step.get("operation") == "rename":
            renamed = set(step.get("names", {}))
            found = {n: f for n, f in found.items() if n not in renamed and not renamed & set(Formula(f).names)}
    return {name: formula for name, formula in found.items() if name in pool.features.names}


def missing_of(pool: Pool) -> dict[str, float]:
    """Return what features of a pool count where a candidate lacks them: 0 if sparse, else what was filled in."""
    filled = dict(pool.provenance.get("missing", {}))
    for step in pool.provenance.get("operations", []):
        for name in (
            (*step.get("names", ()), *step.get("factors", ())) if step["operation"] in ("rename", "scale") else ()
        ):
            filled.pop(name, None)
    sparse = dict.fromkeys(pool.features.names[pool.features.n_dense :], 0.0)
    return {**{name: value for name, value in filled.items() if name in pool.features.names}, **sparse}


def with_derived(pool: Pool, formulas: Mapping[str, str]) -> Pool:
    """Return the pool with those of the features that it does not have yet."""
    wanted = {name: formula for name, formula in formulas.items() if name not in pool.features.names}
    return add_derived(pool, [Derived(name, Formula(formula)) for name, formula in wanted.items()])


def _values(pool: Pool, name: str) -> Float64:
    """Return what a name in a formula means, (M,)."""
    if name in pool.features.names:
        return pool.features.column(name)
    if name in pool.columns:
        return pool.columns[name]
    if name == "words":
        return pool.tokens.lengths.astype(np.float64)
    if name == "chars":
        starts = np.concatenate([[0], np.cumsum((pool.texts.data & 0xC0) != 0x80)])  # bytes that begin a character
        return np.diff(starts[pool.texts.offsets]).astype(np.float64)
    told = unknown_names([name], [*pool.features.names, *pool.columns, *LENGTHS])
    constant = f". hint: if it is a constant, 'luthier tune' finds its value with `search` {name}=LOW:HIGH"
    raise LuthierError(told if "hint: " in told else told + constant)


def _check(pool: Pool, item: Derived, values: Float64, used: Mapping[str, Float64]) -> None:
    """Raise where a value is not finite, and say of which hypothesis, and what it was made of."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if not len(wrong):
        return
    row = int(wrong[0])
    sentence = int(np.searchsorted(pool.offsets, row, side="right")) - 1
    made_of = ", ".join(f"{name} = {column[row]:g}" for name, column in used.items()) or "a number alone"
    raise LuthierError(
        f"{item.name} = {item.formula.text} is not finite for {len(wrong)} hypotheses, the first of them number "
        f"{row - int(pool.offsets[sentence]) + 1} of sentence {pool.sentence_ids[sentence]!r} ({made_of}). "
        "hint: min and max limit what is divided by, or what a logarithm is taken of"
    )
