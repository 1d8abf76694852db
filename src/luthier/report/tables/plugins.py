"""Plug-ins of a package with their options, told by their declarations."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from luthier.core import plugins
from luthier.core.params import describe_domain
from luthier.report.console import table


def describe_plugins(package: str) -> list[dict[str, Any]]:
    """Return name, help and options of every plug-in of a package."""
    found = []
    for name, plugin in plugins.available(package).items():
        method = plugins.load(package, name)
        hints = typing.get_type_hints(method)
        options = [
            {
                "name": field.name,
                "domain": describe_domain(hints[field.name], field.metadata),
                "default": field.default,
                "help": field.metadata["help"],
            }
            for field in dataclasses.fields(method)
        ]
        found.append({"name": name, "help": plugin.help, "options": options})
    return found


def plugin_table(title: str, found: list[dict[str, Any]]) -> Any:
    """Return a table: a row for each plug-in, its options below one another."""
    rows = [
        (
            item["name"],
            item["help"],
            "\n".join(f"{o['name']}={o['default']!r}: {o['help']} ({o['domain']})" for o in item["options"]),
        )
        for item in found
    ]
    return table(title, ("name", "what it is", "options"), rows)
