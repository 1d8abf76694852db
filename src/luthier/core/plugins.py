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
import os
import re
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luthier.core.errors import LuthierError

# Whether other packages have anything to plug in: asking `importlib.metadata` takes a tenth of an everyday command.

FOLDERS = (".dist-info", ".egg-info")


def may_be_declared(group: str) -> bool:
    """Return whether an installed package may have entry points of a group.

    False is certain. The files that would say so are looked through; where packages are kept otherwise than in folders,
    or somebody else is to be asked for them, the answer is True.
    """
    if any(hasattr(finder, "find_distributions") and not _looks_at_path(finder) for finder in sys.meta_path):
        return True
    return any(_declared_in(folder or os.curdir, group.encode()) for folder in sys.path)


def _looks_at_path(finder: object) -> bool:
    """Return whether a finder knows the folders of `sys.path` only: Python's own, or that of its newer version."""
    own = finder if isinstance(finder, type) else type(finder)
    return own.__module__ in ("_frozen_importlib_external", "importlib_metadata")


def _declared_in(folder: str, group: bytes) -> bool:
    if folder.rstrip(os.sep).endswith(".egg"):
        return True
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(FOLDERS)]
    except NotADirectoryError:
        return True  # an archive
    except OSError:
        return False
    for name in names:
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                if group in file.read():
                    return True
        except OSError:
            continue
    return False


@dataclasses.dataclass(frozen=True)
class Plugin:
    """A method's public name, the module that holds it, and its one line of help."""

    name: str
    module: str
    help: str


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
            plugins.append(Plugin(name, f"{package}.{path.stem}", _first_docstring_line(tree)))
    return plugins


def _first_docstring_line(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".")
