"""Every command and every snippet of the README and of the first pages runs as printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# so that `luthier` inside a pipe is the one that is tested
ENVIRONMENT = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
# pages that are one session, each with the least number of commands it has; the last goes on in the same folder
SESSIONS = {
    ("README.md",): 7,
    ("docs/first-steps.md", "docs/python.md"): 15,
    ("docs/tutorial.md",): 14,
    ("docs/is-the-gain-real.md",): 6,
    ("docs/out-into-use.md",): 14,
    ("docs/consensus.md",): 9,
    ("docs/studies/clark-2014.md",): 6,
}


# sizes that a page has for people, and what a test takes in their place
SMALLER = {
    "--train 10000 --tune 500 --heldout 500 --test 500": "--train 1000 --tune 20 --heldout 20 --test 20",
    "--sentences 400 --k 50": "--sentences 60 --k 20",
}


def write_files(page, folder):
    """Write the files that a page shows: settings whose first line is their name."""
    for name, block in re.findall(r"```toml\n# (\S+)\n(.*?)```", page, re.S):
        (folder / name).write_text(block, encoding="utf-8")


def commands(page):
    """Return the lines of all shell blocks but those that install."""
    blocks = re.findall(r"```sh\n(.*?)```", page, re.S)
    wanted = [block for block in blocks if "pip install" not in block and "make " not in block]
    return [line for block in wanted for line in block.splitlines() if line]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("pages", SESSIONS, ids=lambda pages: pages[0])
def test_a_session_runs_as_printed(tmp_path, pages):
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    for size, smaller in SMALLER.items():
        text = text.replace(size, smaller)
    write_files(text, tmp_path)
    lines = commands(text)
    assert sum(line.startswith("luthier ") for line in lines) >= SESSIONS[pages]
    for line in lines:
        words = ["bash", "-c", line]
        if line.startswith("luthier "):
            words = [sys.executable, "-m", "luthier.cli.main", *shlex.split(line)[1:], "--quiet"]
        done = subprocess.run(words, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    for snippet in re.findall(r"```python\n(.*?)```", text, re.S):
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


def test_pages_import_nothing_deeper_than_the_package_and_its_jobs():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = []
    for page in pages:
        for snippet in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            modules = re.findall(r"^\s*(?:from|import) (luthier[\w.]*)", snippet, re.M)
            found += [f"{page.relative_to(ROOT)}: {module}" for module in modules]
    assert found, "no page imports luthier: the pattern is wrong"
    assert [one for one in found if one.split(": ")[1] not in ("luthier", "luthier.jobs")] == []


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"
