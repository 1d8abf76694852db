"""Every command and every snippet of the README runs as printed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands():
    """Return the lines of all shell blocks but those that install."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.S)
    return [
        line for block in blocks if "pip install" not in block and "make " not in block for line in block.splitlines()
    ]


@pytest.mark.slow
@pytest.mark.compiled
def test_the_session_runs_as_printed(tmp_path):
    lines = commands()
    assert sum(line.startswith("luthier ") for line in lines) >= 10
    for line in lines:
        words = shlex.split(line)
        if words[0] == "luthier":
            words = [sys.executable, "-m", "luthier.cli.main", *words[1:], "--quiet"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    for snippet in re.findall(r"```python\n(.*?)```", README, re.S):
        done = subprocess.run(
            [sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("page", ["constraints", "feasibility", "lines", "minkowski", "polytopes", "surface"])
def test_snippets_on_the_pages_of_geometry_run_as_printed(tmp_path, page):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / f"docs/geometry/{page}.md").read_text(encoding="utf-8"), re.S)
    assert snippets
    for snippet in snippets:
        done = subprocess.run(
            [sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"
