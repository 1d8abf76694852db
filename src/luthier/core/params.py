"""A parameter's default, domain and help in one declaration, from which checks and options grow.

Arguments that are no declared parameters (files, names) are looked at here too: a wrong one is answered by a sentence.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from luthier.core.errors import LuthierError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
DEFAULT_SEED = 20150531  # of the command line and of the functions of `luthier` alike


class ParameterError(LuthierError):
    """A parameter outside its declared domain."""


class UnknownParameterError(ParameterError, TypeError):
    """A parameter that is not declared: what Python itself would call a `TypeError`, in our words."""


def param(
    default: Any,
    *,
    help: str,  # noqa: A002 - the word users of argparse know
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """Declare a dataclass field with its domain: `low` ≤ value ≤ `high`, or one of `choices`."""
    metadata = {"help": help, "low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def validate(instance: Any) -> None:
    """Raise `ParameterError` for the first field outside its domain, in one form of sentence."""
    hints = typing.get_type_hints(type(instance))
    for field in dataclasses.fields(instance):
        complaint = _complaint(hints[field.name], field.metadata, getattr(instance, field.name))
        if complaint:
            raise ParameterError(
                f"the {field.name!r} parameter of {_owner(type(instance))} "
                f"must be {complaint}, got {getattr(instance, field.name)!r}"
            )


def _owner(kind: type) -> str:
    """Return the name that users know: of a plug-in that of its file, else the class's own."""
    return kind.__module__.rsplit(".", 1)[-1] if kind.__name__ == "Method" else kind.__name__


def scalar_type(hint: Any) -> tuple[type, bool]:
    """Return the plain type behind an annotation, and whether None is allowed."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    plain = [option for option in options if option is not type(None)]
    return typing.get_origin(plain[0]) or plain[0], type(None) in options


def _holds_texts(hint: Any) -> bool:
    """Return whether an annotation is that of a tuple of texts."""
    return typing.get_origin(hint) is tuple and typing.get_args(hint)[:1] == (str,)


def describe_domain(hint: Any, metadata: typing.Mapping[str, Any]) -> str:
    """Return the domain as words: ``an int in [1, 1000]``."""
    kind, optional = scalar_type(hint)
    if _holds_texts(hint):
        text = "a tuple of texts"
    elif metadata.get("choices"):
        text = "one of " + ", ".join(metadata["choices"])
    else:
        article = "an" if kind.__name__[0] in "aeiou" else "a"
        text = f"{article} {kind.__name__}"
        low, high = metadata.get("low"), metadata.get("high")
        if low is None and high is None:
            text = text.replace("a float", "a finite float")
        else:
            left = "(-inf" if low is None else f"[{low}"
            text += f" in {left}, {'inf)' if high is None else f'{high}]'}"
    return text + (" or None" if optional else "")


def _complaint(hint: Any, metadata: typing.Mapping[str, Any], value: Any) -> str:
    kind, optional = scalar_type(hint)
    words = describe_domain(hint, metadata)
    if value is None:
        return "" if optional else words
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return words
    if isinstance(value, tuple) and _holds_texts(hint) and not all(isinstance(part, str) for part in value):
        return words
    if metadata.get("choices") and value not in metadata["choices"]:
        return words
    low, high = metadata.get("low"), metadata.get("high")
    if isinstance(value, float) and not math.isfinite(value) and value not in (low, high):
        return words  # an open end is no bound
    if (low is not None and value < low) or (high is not None and value > high):
        return words
    return ""


def path_of(path: Any, what: str = "a file") -> str:
    """Return the name of a file, or say that it is none.

    >>> path_of("dev.nbest")
    'dev.nbest'
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise LuthierError(f"expected the name of {what}, found {_shown(path)}")
    if "\0" in os.fspath(path):
        raise LuthierError(f"expected the name of {what}, found one with a zero byte: {str(path)!r}")
    return os.fspath(path)


def names_of(names: Any, what: str) -> list[str]:
    """Return names as a list: of one text, or of several.

    >>> names_of("lm", "features"), names_of(("lm", "tm"), "features")
    (['lm'], ['lm', 'tm'])
    """
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable) or isinstance(names, Mapping | bytes):
        raise LuthierError(f"expected the names of {what}, found {_shown(names)}")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise LuthierError(f"expected the names of {what}, each a text, found {_shown(name)} among them")
    return found


def paths_of(paths: Any, what: str) -> list[str]:
    """Return names of files as a list: of one, or of several."""
    if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable):
        return [path_of(paths, what)]
    return [path_of(path, what) for path in paths] if not isinstance(paths, bytes) else [path_of(paths, what)]


# annotations of arguments that are looked at; numbers of NumPy are numbers
KINDS: Mapping[str, type] = {"int": numbers.Integral, "float": numbers.Real, "bool": bool, "str": str}


def checked(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function that answers an argument of another kind than its number, text, yes or no by a sentence."""
    signature, wanted = inspect.signature(function), {}
    for name, parameter in signature.parameters.items():
        kind, _, rest = str(parameter.annotation).partition(" | ")
        if kind in KINDS and rest in ("", "None") and parameter.kind is not parameter.VAR_KEYWORD:
            wanted[name] = (kind, rest)

    @functools.wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        given = signature.bind(*arguments, **named).arguments
        for name, (kind, rest) in wanted.items():
            value = given.get(name)
            if name not in given or (rest and value is None):
                continue
            yes_or_no = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
            if not (yes_or_no if kind == "bool" else isinstance(value, KINDS[kind]) and not yes_or_no):
                words = f"{'an' if kind == 'int' else 'a'} {kind}{' or None' if rest else ''}"
                raise ParameterError(
                    f"the {name!r} parameter of {function.__name__} must be {words}, got {value!r:.80}"
                )
        return function(*arguments, **named)

    return call


def _shown(value: Any) -> str:
    """Return a value that was not expected, shortly, with its type."""
    text = repr(value)
    return f"{text} ({type(value).__name__})" if len(text) <= 40 and "\n" not in text else type(value).__name__
