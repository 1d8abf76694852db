"""Small formulas that people write: names, numbers, + - * / **, min, max, log, exp; evaluated over arrays.

A formula is read with Python's own parser, and every part of it that is not one of these is refused: nothing of
it is ever run as Python.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError

LONGEST = 300  # letters; keeps what is nested within what Python can follow
LARGEST = 1e300
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power,
    ast.UAdd: np.positive, ast.USub: np.negative,
}  # fmt: skip
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
    _check(tree, text)
    return tree


def _check(node: ast.AST, text: str) -> None:
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
        _check(part, text)


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
