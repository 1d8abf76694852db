"""The page for people with lists of their own: every command and snippet runs as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "five-minutes.md").read_text(encoding="utf-8")
WHOLE = {"llm.out": 2, "lp.out": 2, "tsv.out": 2, "nemo.out": 2, "kaldi.out": 2, "srilm.out": 2, "reranked.nbest": 4}


@pytest.mark.slow
@pytest.mark.compiled
def test_every_command_runs_as_printed(tmp_path, monkeypatch, run_cli):
    monkeypatch.chdir(tmp_path)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) for line in block.splitlines() if line]
    assert sum(line.startswith("luthier ") for line in lines) >= 20
    for line in lines:
        if line.startswith("luthier "):
            code, _, err = run_cli(*shlex.split(line)[1:])
            assert code == 0, f"{line}\n{err}"
        else:
            subprocess.run(["bash", "-c", line], check=True)
    for name, count in WHOLE.items():
        assert len((tmp_path / name).read_text().splitlines()) == count
    assert (tmp_path / "nemo.out").read_text() == "play some music\nstop\n"
    assert (tmp_path / "kaldi.out").read_text() == "play some music\nstop\n"
    assert "UnknownWordPenalty0= 1\n" in (tmp_path / "tuned.ini").read_text()


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("number", range(2), ids=["frame", "scikit-learn"])
def test_every_snippet_runs_as_printed(tmp_path, number):
    if number == 1:
        pytest.importorskip("sklearn")
    snippet = re.findall(r"```python\n(.*?)```", PAGE, re.S)[number]
    done = subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
