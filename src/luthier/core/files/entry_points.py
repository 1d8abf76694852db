"""Whether other packages have anything to plug in: asking `importlib.metadata` takes a tenth of an everyday command."""

from __future__ import annotations

import os
import sys

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
