"""Files as plug-ins: what lies in a folder is what there is; nothing is registered anywhere.

A file ``lp_mert.py`` in a package of methods is the method ``lp-mert``; it defines a class `Method`.
Listing reads first docstring lines with `ast` and imports nothing. Other distributions join by an
entry-point group named after the package, for example ``luthier.kbest.readers``.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import importlib
import importlib.util
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.files.entry_points import may_be_declared


@dataclasses.dataclass(frozen=True)
class Plugin:
    """A method's public name, the module that holds it, its one line of help, and the group it says it is of."""

    name: str
    module: str
    help: str
    group: str = ""


@functools.cache
def available(package: str) -> Mapping[str, Plugin]:
    """Return the plug-ins of `package` by public name, in alphabetical order."""
    found = {plugin.name: plugin for plugin in _in_folder(package)}
    if may_be_declared(package):
        import importlib.metadata

        for entry in importlib.metadata.entry_points(group=package):
            found.setdefault(entry.name, Plugin(entry.name, entry.module, f"from {entry.value}"))
    return types.MappingProxyType(dict(sorted(found.items())))


def load(package: str, name: str) -> Any:
    """Return the `Method` class of plug-in `name`, importing its module now.

    A file of the folder is found by its name: to read all of them takes longer than most small jobs.
    """
    if _is_own(package, name):
        return importlib.import_module(_own(package, name)).Method
    plugins = available(package)
    if name not in plugins:
        close = difflib.get_close_matches(name, plugins, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else "."
        raise LuthierError(
            f"there is no {name!r} among the {package.rsplit('.', 1)[-1]}{meant} known: {', '.join(plugins)}"
        )
    return importlib.import_module(plugins[name].module).Method


def is_known(package: str, name: str) -> bool:
    """Return whether there is a plug-in `name`; nothing is read if it is a file of the folder."""
    return _is_own(package, name) or name in available(package)


def _own(package: str, name: str) -> str:
    return f"{package}.{name.replace('-', '_')}"


def _is_own(package: str, name: str) -> bool:
    usual = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is not None
    return usual and importlib.util.find_spec(_own(package, name)) is not None


def _in_folder(package: str) -> list[Plugin]:
    spec = importlib.util.find_spec(package)
    assert spec is not None, package
    plugins = []
    for folder in spec.submodule_search_locations or []:
        for path in sorted(Path(folder).glob("*.py")):
            if path.stem.startswith("_"):
                continue
            name = path.stem.replace("_", "-")
            tree = ast.parse(path.read_text(encoding="utf-8"))
            plugins.append(Plugin(name, f"{package}.{path.stem}", _first_docstring_line(tree), _group(tree)))
    return plugins


def _first_docstring_line(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".")


def _group(tree: ast.Module) -> str:
    """Return the value of ``GROUP = "…"``, where a file has it."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names == ["GROUP"]:
                return str(node.value.value)
    return ""
