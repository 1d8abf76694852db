"""Files as plug-ins: what lies in a folder is found, and nothing is imported to list it."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from luthier.core import plugins
from luthier.core.errors import LuthierError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two methods, one of which cannot even be imported."""
    folder = tmp_path / "orchard" / "methods"
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        (path / "__init__.py").write_text('"""Trees."""\n')
    (folder / "red_apple.py").write_text('"""Grows apples.\n\nMore."""\nclass Method:\n    fruit = "apple"\n')
    (folder / "broken.py").write_text("import nothing_of_that_name\n")
    (folder / "_kernels.py").write_text('"""Not a method."""\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.available.cache_clear()
    yield "orchard.methods"
    plugins.available.cache_clear()
    for name in [name for name in sys.modules if name.startswith("orchard")]:
        del sys.modules[name]


def test_file_names_are_public_names_and_first_lines_are_the_help(package):
    found = plugins.available(package)
    assert {name: plugin.help for name, plugin in found.items()} == {"broken": "", "red-apple": "Grows apples"}
    assert "orchard.methods.red_apple" not in sys.modules


def test_one_is_loaded_on_demand(package):
    assert plugins.load(package, "red-apple").fruit == "apple"
    with pytest.raises(ModuleNotFoundError):
        plugins.load(package, "broken")


def test_an_unknown_name_is_an_error_that_lists_the_known(package):
    with pytest.raises(LuthierError, match=r"there is no 'pear' among the methods. known: broken, red-apple"):
        plugins.load(package, "pear")


def test_other_distributions_join_by_entry_points_but_replace_nothing(package, monkeypatch):
    entries = [importlib.metadata.EntryPoint(name, "collections:abc", package) for name in ("quince", "red-apple")]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [e for e in entries if e.group == group])
    found = plugins.available(package)
    assert list(found) == ["broken", "quince", "red-apple"]
    assert found["quince"].module == "collections"
    assert found["red-apple"].module == "orchard.methods.red_apple"
