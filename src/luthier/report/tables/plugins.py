"""Plug-ins of a package with their options, told by their declarations."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

from luthier.core import plugins
from luthier.core.params import describe_domain
from luthier.report.console import table


@dataclasses.dataclass(frozen=True)
class Option:
    """A field of a plug-in, as its declaration tells it."""

    name: str
    domain: str
    default: object
    help: str


@dataclasses.dataclass(frozen=True)
class Description:
    """A plug-in with its options."""

    name: str
    help: str
    options: tuple[Option, ...]


def describe_plugins(package: str) -> list[Description]:
    """Return name, help and options of every plug-in of a package."""
    found = []
    for name, plugin in plugins.available(package).items():
        method = plugins.load(package, name)
        hints = typing.get_type_hints(method)
        options = (
            Option(
                field.name, describe_domain(hints[field.name], field.metadata), field.default, field.metadata["help"]
            )
            for field in dataclasses.fields(method)
        )
        found.append(Description(name, plugin.help, tuple(options)))
    return found


def plugin_table(title: str, found: Sequence[Description]) -> Any:
    """Return a table: a row for each plug-in, its options below one another."""
    rows = [
        (
            item.name,
            item.help,
            "\n".join(f"{o.name}={o.default!r}: {o.help} ({o.domain})" for o in item.options),
        )
        for item in found
    ]
    return table(title, ("name", "what it is", "options"), rows)
