"""Declared fields on the command line: options grow from them, texts become the types they say."""

from __future__ import annotations

import argparse
import dataclasses
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.params import describe_domain, scalar_type

# Fields that every command has an option for already.
COMMON = ("seed", "threads")


def add_field_options(parser: argparse.ArgumentParser, method: type, title: str = "parameters") -> None:
    """Add an option for every field of a dataclass: its name, default, domain and help."""
    hints = typing.get_type_hints(method)
    group = parser.add_argument_group(title)
    for field in dataclasses.fields(method):
        if field.name in COMMON:
            continue
        option = f"--{field.name.replace('_', '-')}"
        if scalar_type(hints[field.name])[0] is bool:
            group.add_argument(
                option,
                dest=f"field_{field.name}",
                action=argparse.BooleanOptionalAction,
                default=None,
                help=f"{field.metadata['help']} (default: {'yes' if field.default else 'no'})",
            )
            continue
        if scalar_type(hints[field.name])[0] is tuple:
            group.add_argument(
                option, dest=f"field_{field.name}", action="append", metavar="X", help=field.metadata["help"]
            )
            continue
        domain = describe_domain(hints[field.name], field.metadata)
        group.add_argument(
            option,
            dest=f"field_{field.name}",
            metavar="X",
            action=_Once,
            help=f"{field.metadata['help']} ({domain}; default: {field.default})",
        )


def add_tuner_options(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> set[str]:
    """Add the options of the tuner that the arguments name with --method; return the names of its fields."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--method")
    name = peek.parse_known_args(list(arguments))[0].method
    if not name:
        return set()
    from luthier.core.plugins import load
    from luthier.tuning.base import PACKAGE

    method = load(PACKAGE, name)
    add_field_options(parser, method, f"options of {name}")
    return {field.name for field in dataclasses.fields(method)}


class _Once(argparse.Action):
    """Keeps a value; of two, the first would be lost in silence."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if getattr(namespace, self.dest, None) is not None:
            parser.error(f"{option_string} was given twice: {getattr(namespace, self.dest)} and {values}")
        setattr(namespace, self.dest, values)


def field_values(method: type, options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that were given on the command line, in their types, and the common ones."""
    names = [field.name for field in dataclasses.fields(method)]
    given = {
        name: getattr(options, f"field_{name}")
        for name in names
        if name not in COMMON and getattr(options, f"field_{name}", None) is not None
    }
    common = {name: getattr(options, name) for name in names if name in COMMON}
    return convert_fields(method, given, method.__name__) | common


def convert_fields(method: type, given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return `given` with each value in its field's type; an unknown name or a bad value is an error."""
    fields = {field.name: field for field in dataclasses.fields(method)}
    hints = typing.get_type_hints(method)
    converted: dict[str, Any] = {}
    for name, text in given.items():
        key = name.replace("-", "_")
        if key not in fields:
            has = f"it has: {', '.join(sorted(fields))}" if fields else "it has none"
            raise LuthierError(f"{owner!r} has no option {name!r}. {has}")
        kind, _ = scalar_type(hints[key])
        if kind is tuple:
            converted[key] = (text,) if isinstance(text, str) else tuple(text)
            continue
        if isinstance(text, bool):
            converted[key] = text
            continue
        try:
            converted[key] = _boolean(text) if kind is bool else kind(text)
        except ValueError:
            words = describe_domain(hints[key], fields[key].metadata)
            raise LuthierError(f"the {key!r} option of {owner} must be {words}, found {text!r}") from None
    return converted


def _boolean(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false"):
        raise ValueError(text)
    return text.lower() in ("yes", "true")
