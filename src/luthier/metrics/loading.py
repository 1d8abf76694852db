"""Metrics by name: ``bleu``, ``bleu(order=2)``, ``column:comet``, ``0.5*ter - 0.5*bleu_nist``.

The grammar is that of Python's expressions, read by `ast` and never evaluated: names of metrics, with
parameters in brackets, and + − · / with numbers. ``chrf++`` and ``column:name`` are short forms.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.plugins import available, is_known, load
from luthier.metrics.base import VERSION_MARK, Metric
from luthier.metrics.expression import Expression

PACKAGE = "luthier.metrics.methods"
_SHORT_FORM = re.compile(
    r"""(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\bchrf(?P<plus>\+\+)|\b(?P<name>[A-Za-z]\w*):(?P<value>[\w.]+)"""
)
# Judges that no formula computes: their scores come with the lists.
JUDGES = re.compile(r"x?comet|cometkiwi|bleurt|metricx|bertscore|gemba|mqm|reward|quality|score$", re.IGNORECASE)
_VERSION = re.compile(re.escape(VERSION_MARK) + r"[\w.+!-]+$")

# A sum of metrics: their coefficients, and under None the constant.
Linear = dict[Metric | None, float]


def load_metric(spec: str, *, defaults: Mapping[str, Any] | None = None, maximize: bool | None = None) -> Metric:
    """Return the metric that `spec` names.

    Parameters
    ----------
    spec
        A name, a name with parameters, or a weighted sum of such; or a metric's signature.
    defaults
        Parameters for those metrics in `spec` that have them and do not set them; some metric must.
    maximize
        Whether higher is better; needed where the parts of a sum pull in different directions.

    Examples
    --------
    >>> load_metric("bleu_nist(order=2)").reference_length
    'shortest'
    >>> load_metric("0.5*length - 0.25*(bleu + chrf++)", maximize=False).name
    '0.5*length - 0.25*bleu - 0.25*chrf'
    """
    if not isinstance(spec, str):
        raise LuthierError(f"expected the name of a metric, found {spec!r}. known: {', '.join(metric_names())}")
    reader = _Reader(spec, dict(defaults or {}))
    tree = reader.parse()
    said = reader.direction(tree)
    if said is not None:
        tree = tree.args[0]  # type: ignore[attr-defined]
        if maximize is not None and maximize != said:
            raise LuthierError(f"{spec!r} says itself whether to minimize or to maximize, and otherwise than asked")
        maximize = said
    terms = reader.linear(tree)
    reader.check_defaults()
    constant = terms.pop(None, 0.0)
    parts = {metric: c for metric, c in terms.items() if metric is not None and c != 0}
    if not parts:
        raise LuthierError(f"there is no metric in {spec!r}. known: {', '.join(metric_names())}")
    metric, coefficient = next(iter(parts.items()))
    plain = len(parts) == 1 and coefficient == 1 and constant == 0
    if plain and maximize in (None, metric.higher_is_better):
        return metric
    return Expression(tuple(parts), tuple(parts.values()), constant, maximize)


def as_metric(metric: str | Metric) -> Metric:
    """Return a metric, which may be named."""
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise LuthierError(f"expected a metric or its name, found {metric!r}. known: {', '.join(metric_names())}")
    return load_metric(metric)


def metric_names() -> list[str]:
    """Return the names of all metrics and of their variants, importing the metrics."""
    names = []
    for name in available(PACKAGE):
        plain = name.replace("-", "_")
        names += [plain, *(f"{plain}_{variant}" for variant in load(PACKAGE, name).variants)]
    return names


class _Reader:
    """Reads one specification."""

    def __init__(self, spec: str, defaults: dict[str, Any]) -> None:
        self.spec, self.defaults = spec, defaults
        self.unused = set(defaults)

    def parse(self) -> ast.expr:
        text = _SHORT_FORM.sub(_long_form, _VERSION.sub("", self.spec.strip()))
        try:
            return ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.complaint() from None

    def direction(self, node: ast.expr) -> bool | None:
        """Return whether the whole is inside ``maximize(…)`` (True), ``minimize(…)`` (False) or neither."""
        match node:
            case ast.Call(func=ast.Name(id="maximize" | "minimize" as word), args=[_], keywords=[]):
                return word == "maximize"
        return None

    def linear(self, node: ast.expr) -> Linear:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return {None: float(value)}
            case ast.Name(id=name):
                return {self.metric(name, [], []): 1.0}
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return {self.metric(name, args, keywords): 1.0}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _scaled(self.linear(operand), -1.0)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.linear(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.combined(self.linear(left), op, self.linear(right))
        raise self.complaint()

    def combined(self, left: Linear, op: ast.operator, right: Linear) -> Linear:
        if isinstance(op, ast.Add | ast.Sub):
            right = _scaled(right, -1.0 if isinstance(op, ast.Sub) else 1.0)
            return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in {**left, **right}}
        if isinstance(op, ast.Mult) and set(left) == {None}:
            return _scaled(right, left[None])
        if isinstance(op, ast.Mult) and set(right) == {None}:
            return _scaled(left, right[None])
        if isinstance(op, ast.Div) and set(right) == {None} and right[None] != 0:
            return {key: value / right[None] for key, value in left.items()}
        raise self.complaint()

    def metric(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Metric:
        method, parameters = self.method(name)
        fields = {field.name: field for field in dataclasses.fields(method)}
        given = dict(zip(fields, map(self.value, args), strict=False))
        given |= {keyword.arg or "**": self.value(keyword.value) for keyword in keywords}
        unknown = [key for key in given if key not in fields] or (["**"] if len(args) > len(fields) else [])
        if unknown:
            raise LuthierError(f"{name} has no parameter {unknown[0]!r} (in {self.spec!r}). known: {', '.join(fields)}")
        for key, value in given.items():
            choices = fields[key].metadata.get("choices") or ()
            if isinstance(value, str) and value not in choices and value.replace("_", "-") in choices:
                given[key] = value.replace("_", "-")
        suitable = {key: value for key, value in self.defaults.items() if key in fields}
        self.unused -= set(suitable)
        return method(**{**suitable, **parameters, **given})

    def method(self, name: str) -> tuple[type[Metric], dict[str, Any]]:
        """Return the class of a metric, and the parameters that its variant sets."""
        if is_known(PACKAGE, name.replace("_", "-")):
            return load(PACKAGE, name.replace("_", "-")), {}
        stem, _, variant = name.rpartition("_")
        if is_known(PACKAGE, stem.replace("_", "-")):
            method: type[Metric] = load(PACKAGE, stem.replace("_", "-"))
            if variant in method.variants:
                return method, method.variants[variant]
        raise _no_metric(name)

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return node.id
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise self.complaint() from None

    def check_defaults(self) -> None:
        if self.unused:
            raise LuthierError(f"no metric in {self.spec!r} has a parameter {sorted(self.unused)[0]!r}")

    def complaint(self) -> LuthierError:
        return LuthierError(
            "expected a metric, or a sum of metrics times numbers such as '0.5*ter - 0.5*bleu_nist', found "
            f"{self.spec!r}. hint: known are {', '.join(metric_names())}"
        )


def _no_metric(name: str) -> LuthierError:
    """Return the complaint about a metric that there is not: it may be a column of the lists, or misspelt."""
    if JUDGES.match(name):
        hint = f"scores that came with the lists are tuned for as column:{name} (read them with `column` {name})"
        return LuthierError(f"there is no metric {name!r}. hint: {hint}")
    close = difflib.get_close_matches(name, metric_names(), n=1)
    hint = f"hint: did you mean {close[0]!r}?" if close else f"known: {', '.join(metric_names())}"
    return LuthierError(f"there is no metric {name!r}. {hint}")


def _long_form(found: re.Match[str]) -> str:
    if found["quoted"]:
        return found["quoted"]
    return "chrf_pp" if found["plus"] else f"{found['name']}({found['value']!r})"


def _scaled(terms: Linear, factor: float) -> Linear:
    return {key: factor * value for key, value in terms.items()}


def load_metrics(
    specs: str, *, defaults: Mapping[str, Any] | None = None, maximize: bool | None = None
) -> dict[str, Metric]:
    """Return the metrics of a comma-separated list, by the words that asked for them.

    A default holds for those metrics that have the parameter.

    >>> list(load_metrics("bleu(order=2, smoothing=none),bleu_nist"))
    ['bleu(order=2, smoothing=none)', 'bleu_nist']
    """
    metrics: dict[str, Metric] = {}
    used: set[str] = set()
    for part in split_specs(specs):
        fields = _parameters(load_metric(part, maximize=maximize))
        suitable = {key: value for key, value in (defaults or {}).items() if key in fields}
        used |= set(suitable)
        metrics[part] = load_metric(part, defaults=suitable, maximize=maximize)
    for key in set(defaults or {}) - used:
        raise LuthierError(f"no metric in {specs!r} has a parameter {key!r}")
    return metrics


def split_specs(specs: str) -> list[str]:
    """Cut a list of specifications at its commas, but not inside brackets or quotes."""
    depth, quote, start = 0, "", 0
    parts: list[str] = []
    for i, c in enumerate(specs):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(specs[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, specs[start:]]]


def _parameters(metric: Metric) -> set[str]:
    parts = metric.parts if isinstance(metric, Expression) else (metric,)
    return {field.name for part in parts for field in dataclasses.fields(part)}
