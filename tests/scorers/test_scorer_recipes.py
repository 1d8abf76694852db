"""The recipes of docs/out-into-use.md: each runs as printed, beside a stand-in with the interface of its project."""

from __future__ import annotations

import http.server
import json
import re
import shlex
import sys
import threading
from pathlib import Path

import pytest

import luthier
from luthier.core.errors import LuthierError

pytestmark = pytest.mark.compiled
PAGE = (Path(__file__).parent.parent.parent / "docs" / "out-into-use.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"```py\n# (\S+)\n(.*?)```", PAGE, re.S))
COMET = """
class Prediction(dict):
    __getattr__ = dict.__getitem__
class Model:
    def predict(self, samples, batch_size=16, gpus=1, progress_bar=True):
        assert all(set(one) == {"src", "mt", "ref"} for one in samples)
        return Prediction(scores=[len(one["mt"]) + 0.5 * len(one["src"]) for one in samples])
def download_model(name):
    assert name == "Unbabel/wmt22-cometkiwi-da"
    return "path"
def load_from_checkpoint(path):
    assert path == "path"
    return Model()
"""
METRICX = """
import argparse, json
parser = argparse.ArgumentParser()
for name in ("tokenizer", "model_name_or_path", "max_input_length", "batch_size", "input_file", "output_file"):
    parser.add_argument("--" + name, required=True)
parser.add_argument("--qe", action="store_true")
given = parser.parse_args()
assert given.qe
print("Predicting")
with open(given.output_file, "w") as out:
    for line in open(given.input_file):
        row = json.loads(line)
        row["prediction"] = len(row["hypothesis"]) + 0.5 * len(row["source"])
        out.write(json.dumps(row) + "\\n")
"""
KENLM = """
class Model:
    def __init__(self, path):
        assert path == "lm.binary"
    def score(self, sentence, bos=True, eos=True):
        return len(sentence) + 0.5
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in RECIPES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "comet.py").write_text(COMET)
    (tmp_path / "kenlm.py").write_text(KENLM)
    (tmp_path / "metricx24").mkdir()
    (tmp_path / "metricx24" / "predict.py").write_text(METRICX)
    return tmp_path


def scores(name):
    frame = {"id": [0, 0, 1], "hyp": ["abc", "é", 'x "y"'], "lm": [0.0, 1, 2], "source": ["s", "s", "source"]}
    pool = luthier.pool_from_frame(frame)
    command = f"{shlex.quote(sys.executable)} {name}"
    luthier.score_with(command, pool, name="new", output="out.arrow")
    return luthier.open_pool("out.arrow").features.column("new").tolist()


def test_the_page_has_the_recipes():
    assert sorted(RECIPES) == ["judge.py", "kiwi.py", "lm.py", "metricx.py"]


@pytest.mark.parametrize(("name", "expected"), [("kiwi.py", [3.5, 1.5, 8]), ("metricx.py", [3.5, 1.5, 8])])
def test_comet_and_metricx(home, name, expected):
    assert scores(name) == expected


def test_kenlm(home):
    assert scores("lm.py") == [3.5, 1.5, 5.5]


class Judge(http.server.BaseHTTPRequestHandler):
    """Chat completions that rate by length."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.paths.append(self.path)
        text = request["messages"][0]["content"].rpartition("Translation: ")[2]
        said = self.server.said.format(len(text))
        raw = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


def test_a_judge(home, monkeypatch):
    with http.server.HTTPServer(("127.0.0.1", 0), Judge) as server:
        server.paths, server.said = [], "Score: {}.5"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("JUDGE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        assert scores("judge.py") == [3.5, 1.5, 5.5]
        assert set(server.paths) == {"/v1/chat/completions"}
        server.said = "I would rather not."
        (home / "out.arrow.scores").unlink()
        with pytest.raises(LuthierError, match="died 3 times"):
            scores("judge.py")
        server.shutdown()
