"""Files as plug-ins: what lies in a folder is found, and nothing is imported to list it."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from luthier.core import plugins
from luthier.core.errors import LuthierError
from luthier.core.plugins import may_be_declared


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
    monkeypatch.setattr(plugins, "may_be_declared", lambda group: group == package)
    found = plugins.available(package)
    assert list(found) == ["broken", "quince", "red-apple"]
    assert found["quince"].module == "collections"
    assert found["red-apple"].module == "orchard.methods.red_apple"


def test_a_distribution_beside_ours_is_found_by_its_file(package, tmp_path):
    assert not may_be_declared(package)
    folder = tmp_path / "pears-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pears\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{package}]\npear = collections:abc\n")
    assert may_be_declared(package)
    assert list(plugins.available(package)) == ["broken", "pear", "red-apple"]
    assert plugins.is_known(package, "pear")
    assert not plugins.is_known(package, "quince")


def test_what_is_not_kept_in_folders_may_have_entry_points(package, tmp_path, monkeypatch):
    archive = tmp_path / "pears.zip"
    archive.write_bytes(b"")
    monkeypatch.syspath_prepend(str(archive))
    assert may_be_declared(package)
    monkeypatch.setattr(sys, "path", [*sys.path[1:], str(tmp_path / "nowhere")])
    assert not may_be_declared(package)

    class Finder:
        def find_distributions(self, context):
            return []

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert may_be_declared(package)
