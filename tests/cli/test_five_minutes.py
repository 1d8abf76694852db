"""The page for people with lists of their own: every command and snippet runs as printed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "five-minutes.md").read_text(encoding="utf-8")
LINES = {"llm.best.jsonl": 4, "espnet.out": 2, "reranked.nbest": 4, "again.cdec": 4, "batch.best.jsonl": 2}
SMALL, MUSIC = "the house is small\nit rains\n", "play some music\nstop\n"
OUTPUTS = {
    "llm.out": SMALL, "lp.out": SMALL, "tsv.out": SMALL, "csv.out": SMALL, "sparse.out": SMALL, "joshua.out": SMALL,
    "nemo.out": MUSIC, "kaldi.out": MUSIC, "srilm.out": MUSIC,
    "batch.out": SMALL, "systems.out": "it rains\nthe house is small\n",
    "hf.out": "it is small\nit rains\n", "whisper.out": "it is small\n",
}  # fmt: skip


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
    for name, count in LINES.items():
        assert len((tmp_path / name).read_text().splitlines()) == count, name
    for name, expected in OUTPUTS.items():
        assert (tmp_path / name).read_text() == expected, name
    assert [
        json.loads(line)["hyp"] for line in (tmp_path / "espnet.out").read_text().splitlines()
    ] == MUSIC.splitlines()
    assert "UnknownWordPenalty0= 1\n" in (tmp_path / "tuned.ini").read_text()
    assert (tmp_path / "sparse.ini").read_text().endswith("[weight-file]\nsparse.ini.sparse\n")
    assert "pp_klein~small 0.5\n" in (tmp_path / "sparse.ini.sparse").read_text()
    assert (tmp_path / "travatar.tuned").read_text().startswith("lm=-")
    assert (tmp_path / "joshua.tuned").read_text().startswith("mark-oovs = true\ntm_pt_0 ")


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
