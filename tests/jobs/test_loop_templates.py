"""The templates of docs/loop.md, run as they stand there, with programs that take the real ones' options and files."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from luthier.jobs.external_decoder import ExternalDecoder
from luthier.jobs.loop_config import read_config
from luthier.kbest.weights import Weights

HERE = Path(__file__).parent
BLOCKS = re.findall(
    r"```(\w+)\n(.*?)```", (HERE.parents[1] / "docs" / "loop.md").read_text(encoding="utf-8"), re.DOTALL
)
COMMON = """
[tune]
source = "source.txt"
refs = "refs.txt"
[tuner]
method = "mert"
"""
START = "[start]\nCapitals = 0.5\nPlace = -0.1\n"
OTHER = Weights({"Capitals": -0.5, "Place": 0.1})
MOSES_INI = "[feature]\nOne name=One\n\n[weight]\nCapitals= 0.5\nPlace= -0.1\n"
TRANSFORMERS = """
import array

class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, name):
        return cls()
    def __call__(self, text, return_tensors):
        return {"input_ids": text.split()}
    def decode(self, ids, skip_special_tokens):
        return " ".join(ids)

class AutoModelForSeq2SeqLM(AutoTokenizer):
    def generate(self, input_ids, num_beams, num_return_sequences, output_scores, return_dict_in_generate):
        n = num_return_sequences
        self.sequences = [[w.upper() for w in input_ids[:k]] + input_ids[k:] for k in range(n)]
        self.sequences_scores = array.array("d", [-0.1 * k for k in range(n)])
        return self
"""


def template(program):
    """Return the settings that the page has for a program."""
    (found,) = [text for kind, text in BLOCKS if kind == "toml" and f'command = ["{program}"' in text]
    return found


@pytest.fixture
def home(tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    commands = {name: f'"{HERE}/pretend_decoders.py" {name}' for name in ("cdec", "moses", "joshua-decoder")}
    for name, command in {**commands, "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    files = {
        "source.txt": "a b c d e\nf g\n", "refs.txt": "A B C D E\nF G\n", "cdec.ini": "", "joshua.config": "",
        "moses.ini": MOSES_INI,
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def decoder_of(home, program):
    text = template(program)
    (home / "loop.toml").write_text(COMMON + text + ("" if "[start]" in text else START))
    config = read_config(home / "loop.toml", seed=0, threads=1)
    parts = (config.command, config.tune.source, config.tune.refs, "tune", config.base, str(home / "work"))
    return ExternalDecoder(*parts), config.start


@pytest.mark.parametrize("program", ["cdec", "moses", "joshua-decoder"])
def test_a_template_hands_over_weights_and_reads_lists(home, program):
    decode, start = decoder_of(home, program)
    assert dict(start) == {"Capitals": 0.5, "Place": -0.1}
    pool = decode(start)
    assert pool.features.names == ("Capitals", "Place")
    assert pool.texts[0] == "A B C D E"
    assert pool.list_lengths.tolist() == [32, 4]
    assert decode(OTHER).texts[0] == "a b c d e"


@pytest.mark.slow
def test_the_program_with_generate_has_one_useful_turn(home, run_cli, monkeypatch):
    (program,) = [text for kind, text in BLOCKS if kind == "python" and "transformers" in text]
    (home / "hf.py").write_text(program)
    (home / "fake").mkdir()
    (home / "fake" / "transformers.py").write_text(TRANSFORMERS)
    monkeypatch.setenv("PYTHONPATH", str(home / "fake"))
    (home / "loop.toml").write_text(COMMON + template("python") + "[start]\nmodel = 1.0\nlength = 0.1\n")
    code, out, said = run_cli("loop", home / "loop.toml", "--json", "--threads", "1")
    assert code == 0, said
    found = json.loads(out)
    assert [turn["new"] > 0 for turn in found["iterations"]] == [True, False]
    assert "the decoder ignores the weights" in found["ended"]
