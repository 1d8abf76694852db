"""Features that are made of others by a formula: lengths, length penalties, differences of scores.

``words`` and ``chars`` of a hypothesis can be used in formulas, and be features. What was added to a pool is noted in
its provenance and goes with weights that are tuned on it, so that the same can be done to other lists.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.kbest.features import unknown_names
from luthier.kbest.pool import Pool

# Small formulas that people write: names, numbers, + - * / **, min, max, log, exp; evaluated over arrays.
#
# A formula is read with Python's own parser, and every part of it that is not one of these is refused: nothing of
# it is ever run as Python.

LONGEST = 300  # letters; keeps what is nested within what Python can follow
LARGEST = 1e300
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.UAdd: np.positive,
    ast.USub: np.negative,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": np.minimum, "max": np.maximum, "log": np.log, "exp": np.exp}
KNOWN = "names, numbers, + - * / **, min, max, log and exp"


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula as it was written.

    >>> Formula("lm / max(words, 1) ** a").names
    ('lm', 'words', 'a')
    >>> Formula("2 * 'my lm' - 1").value({"my lm": 3.0})
    array(5.)
    """

    text: str

    def __post_init__(self) -> None:
        _parsed(self.text)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in it, each once, in the order in which they stand; a name in quotes may have any characters."""
        found: dict[str, None] = {}
        for node in sorted(ast.walk(_parsed(self.text)), key=lambda node: getattr(node, "col_offset", -1)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[node.value] = None
            elif isinstance(node, ast.Name) and node.id not in FUNCTIONS:
                found[node.id] = None
        return tuple(found)

    def value(self, values: Mapping[str, Any]) -> Float64:
        """Return its value, given those of all names: numbers, or arrays of one length; infinite or NaN if need be."""
        with np.errstate(all="ignore"):
            return np.asarray(_value(_parsed(self.text), values), dtype=np.float64)

    def with_value(self, name: str, number: float) -> Formula:
        """Return the formula with a number in place of a name."""
        tree = _Replace(name, number).visit(ast.parse(self.text, mode="eval"))
        return Formula(ast.unparse(tree))


@functools.lru_cache
def _parsed(text: str) -> ast.expr:
    """Return the tree of a formula, or raise the complaint about it."""
    if len(text) > LONGEST:
        raise LuthierError(f"expected a formula of at most {LONGEST} letters, found {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise LuthierError(f"expected a formula such as lm/words**0.6, found {text!r}") from None
    _check_formula(tree, text)
    return tree


def _check_formula(node: ast.AST, text: str) -> None:
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        fine = type(node.op) in OPERATORS
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        fine = name in FUNCTIONS and not node.keywords and len(node.args) >= 1 + (name in ("min", "max"))
        fine = fine and (name in ("min", "max") or len(node.args) == 1)
        parts = node.args
    elif isinstance(node, ast.Constant):
        value, parts = node.value, []
        fine = isinstance(value, str) or (type(value) in (int, float) and abs(value) < LARGEST)  # type: ignore[arg-type]
    else:
        fine, parts = isinstance(node, ast.Name) and node.id not in FUNCTIONS, []
    if not fine:
        raise LuthierError(f"expected a formula of {KNOWN}, found {ast.unparse(node)!r} in {text!r}")
    for part in parts:
        _check_formula(part, text)


def _value(node: ast.AST, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand, values))
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        function, arguments = FUNCTIONS[node.func.id], [_value(part, values) for part in node.args]
        return function(*arguments) if len(arguments) == 1 else functools.reduce(function, arguments)
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        return float(node.value)  # type: ignore[arg-type]
    return values[node.id if isinstance(node, ast.Name) else node.value]  # type: ignore[attr-defined]


class _Replace(ast.NodeTransformer):
    """Puts a number in place of a name."""

    def __init__(self, name: str, number: float) -> None:
        self.name, self.number = name, number

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the number, where it is the name."""
        return ast.Constant(self.number) if node.id == self.name else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave the names of functions alone."""
        node.args = [self.visit(part) for part in node.args]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Return the number, where it is the name in quotes."""
        return ast.Constant(self.number) if node.value == self.name else node


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
        values = np.broadcast_to(formula.value(used), (pool.n_hypotheses,))
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
