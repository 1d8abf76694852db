"""Small formulas that people write: names, numbers, + - * / **, min, max, log, exp.

A formula is read with Python's own parser, and every part of it that is not one of these is refused: nothing of
it is ever run as Python. Numbers are computed as IEEE 754 says, with the C library's logarithm, exponential and power:
`luthier.kbest.derived` gives the same bits for whole columns.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from luthier.core.errors import LuthierError

LONGEST = 300  # letters; keeps what is nested within what Python can follow
LARGEST = 1e300
KNOWN = "names, numbers, + - * / **, min, max, log and exp"
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.UAdd: "u+", ast.USub: "u-"}
FUNCTIONS = ("min", "max", "log", "exp")
Operators = Mapping[str, Callable[..., Any]]  # by their signs, and functions by their names
Number = Callable[[Mapping[str, float]], float]


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula as it was written.

    >>> Formula("lm / max(words, 1) ** a").names
    ('lm', 'words', 'a')
    >>> Formula("2 * 'my lm' - 1").number({"my lm": 3.0})
    5.0
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

    def number(self, values: Mapping[str, float]) -> float:
        """Return its value, given those of all names; infinite or NaN if need be."""
        found: float = self.compiled(OF_NUMBERS)(values)
        return found

    def compiled(self, operators: Operators) -> Callable[[Mapping[str, Any]], Any]:
        """Return the function from values to its value: of numbers or arrays, as the operators take them."""
        return _compiled(_parsed(self.text), operators)

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
        fine = type(node.op) in SIGNS
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


def _compiled(node: ast.AST, operators: Operators) -> Callable[[Mapping[str, Any]], Any]:
    """Return a tree as nested functions: walking the tree for each candidate would take ten times as long."""
    if isinstance(node, ast.BinOp):
        return _of_two(
            operators[SIGNS[type(node.op)]], _compiled(node.left, operators), _compiled(node.right, operators)
        )
    if isinstance(node, ast.UnaryOp):
        return _of_one(operators[SIGNS[type(node.op)]], _compiled(node.operand, operators))
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)
        function = operators[node.func.id]
        first, *others = [_compiled(part, operators) for part in node.args]
        if not others:
            return _of_one(function, first)
        return functools.reduce(lambda left, right: _of_two(function, left, right), others, first)
    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
        number = float(node.value)  # type: ignore[arg-type]
        return lambda _: number
    return operator.itemgetter(node.id if isinstance(node, ast.Name) else node.value)  # type: ignore[attr-defined]


def _of_one(function: Callable[..., Any], inner: Number) -> Number:
    return lambda values: function(inner(values))


def _of_two(function: Callable[..., Any], left: Number, right: Number) -> Number:
    return lambda values: function(left(values), right(values))


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


# Python raises where IEEE 754 has a value.


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except ValueError:  # a negative number to a broken power, or 0 to a negative one
        odd = b == math.floor(b) and b % 2 == 1
        return math.nan if a else math.copysign(math.inf, a) if odd else math.inf
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf


def _log(a: float) -> float:
    return math.log(a) if a > 0 else -math.inf if a == 0 else math.nan


def _exp(a: float) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return math.inf


def _smaller(a: float, b: float) -> float:
    return a if a <= b or a != a else b


def _larger(a: float, b: float) -> float:
    return a if a >= b or a != a else b


OF_NUMBERS: Operators = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divided, "**": _power, "u+": operator.pos,
    "u-": operator.neg, "min": _smaller, "max": _larger, "log": _log, "exp": _exp,
}  # fmt: skip
