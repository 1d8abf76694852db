"""The runner of studies as a part of the house: found beside the package and nowhere else, small files, no knots."""

import ast
import doctest
import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import luthier
from luthier.core.plugins import available
from luthier.jobs import lab

SOURCE = Path(luthier.__file__).parent
ROOT = SOURCE.parents[1]
FILES = sorted((ROOT / "studies" / "lab").rglob("*.py"))


def imports_of(path):
    """Return the files of the runner that a file imports, late imports among them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {(folder / name.replace(".", "/")).with_suffix(".py") for name in names}
    return found


def test_files_are_small_and_import_each_other_in_one_direction():
    graph = {path: imports_of(path) for path in FILES}
    assert set.union(*graph.values()) <= set(FILES)
    tuple(TopologicalSorter(graph).static_order())  # raises for a knot
    for path, imported in graph.items():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
        assert path.parent.name != "kinds" or not any(other.parent == path.parent for other in imported), path
    assert len([path for path in FILES if path.parent.name == "lab"]) <= 13


@pytest.mark.parametrize("name", ["choices", "start_tables", "lines"])
def test_examples_of_docstrings(name):
    found = doctest.testmod(importlib.import_module(f"luthier.jobs.lab.{name}"))
    assert found.attempted
    assert not found.failed


def test_every_kind_has_a_study_in_the_repository():
    from luthier.jobs.lab.base import KINDS, read_study

    found = {}
    for path in sorted((ROOT / "studies").glob("*/*.toml")):
        if "kind" in tomllib.loads(path.read_text(encoding="utf-8")):  # else that of a training
            found[path] = type(read_study(path)).__module__
    assert set(found.values()) == {plugin.module for plugin in available(KINDS).values()}


@pytest.fixture
def wheel(tmp_path):
    """The package as a wheel has it, in a folder of its own."""
    packages = tmp_path / "lib" / "site-packages"
    shutil.copytree(SOURCE, packages / "luthier", ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
    return packages


@pytest.mark.slow
def test_a_wheel_says_what_is_missing_wherever_it_is_called(wheel):
    study = ROOT / "studies" / "zhao-2009" / "study.toml"
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    command = [sys.executable, "-m", "luthier.cli.main", "study", str(study), "--tables"]
    # the working directory has the runner, and does not count
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "luthier: error: expected a clone of the repository, whose studies/lab runs studies, "
        f"found {wheel / 'luthier'} without it. hint: clone the repository and run 'pip install -e .' in it\n"
    )
    assert done.stdout == ""


def test_an_editable_install_finds_the_folder_beside_the_package():
    assert ROOT / "studies" / "lab" == lab.FOLDER
    lab.check_installed()
