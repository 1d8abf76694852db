"""Reading and refusing take time that grows with the input, and not with its square: n, 2n and 4n are compared."""

from __future__ import annotations

import json
import math
import re
import time

import numpy as np
import pytest
import samples

from luthier.alignment.links import read_links
from luthier.core.errors import LuthierError
from luthier.core.files.journal import read_journal, seal
from luthier.core.settings import parse_json, read_toml
from luthier.corpus.lattices import read_lattices
from luthier.corpus.lines import read_lines
from luthier.explorer.sessions.folders import Folders
from luthier.features.bins_file import read_bins
from luthier.grammar.reading import read_grammar
from luthier.kbest.building.lists import ReadOptions, read_pool
from luthier.kbest.serving.reranker import Reranker
from luthier.kbest.shards.manifest import read_manifest
from luthier.kbest.weights import read_weights
from luthier.lm.arpa_reading import read_arpa

pytestmark = [pytest.mark.slow, pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]
SLACK = 2.2  # what fourfold input may cost beside fourfold time; the square costs four times as much again
LEAST = 0.15  # seconds that say nothing
TRIES = 12  # a processor that others use has slow moments; the least times of several tries have none
SENTENCES = 500  # of five hypotheses each


def lists(n, line):
    return "".join(line.format(i=i) for i in range(n))


def one(n, before, part, after):
    return before + "".join(part.format(i=i) for i in range(n)) + after


def bad_names(n):
    return json.dumps({f"f{i}": 1.0 for i in range(n)})[:-1] + ', "f0": 2}'


def skipping(path):
    return read_pool(path, options=ReadOptions(skip_bad=True, any_order=True))


def plf(path):
    return read_lattices(read_lines(path))


ARPA = "\\data\\\nngram 1={n}\n\n\\1-grams:\n-1 <unk>\n-99 <s>\n-1 </s>\n{words}\n\\end\\\n"
ROW = '{"id": 1, "hyp": "a", "features": {'
MOSES, JSONL = "{i} ||| a b ||| x= {i} y= 1 ||| 1\n", '{{"id": {i}, "hyp": "a b", "features": {{"x": {i}}}}}\n'
# name → who reads, how many at least, and what
CASES = {
    "weights": (read_weights, 20_000, lambda n: lists(n, "f{i} {i}\n")),
    "weights, one twice": (read_weights, 20_000, lambda n: lists(n, "f{i} 1\n") + "f0 1\n"),
    "weights, all the same": (read_weights, 20_000, lambda n: "f 1\n" * n),
    "weights as JSON": (read_weights, 20_000, lambda n: json.dumps({f"f{i}": 1.0 for i in range(n)})),
    "weights as JSON, one twice": (read_weights, 20_000, bad_names),
    "weights as JSON, the last twice": (read_weights, 20_000, lambda n: bad_names(n)[:-9] + f'"f{n - 1}": 2}}'),
    "weights as JSON, all the same": (read_weights, 20_000, lambda n: "{" + ",".join(['"f":1'] * n) + "}"),
    "weights of Moses": (read_weights, 20_000, lambda n: "[weight]\n" + lists(n, "f{i}= {i}\n")),
    "weights of Moses on one line": (read_weights, 20_000, lambda n: "[weight]\nf= " + "1 " * n),
    "weights, one long name": (read_weights, 500_000, lambda n: "f" * n + " x\n"),
    "weights, blanks": (read_weights, 500_000, lambda n: "f" + " " * n + "x\n"),
    "a text": (read_lines, 100_000, lambda n: "a b c\n" * n),
    "a text of one line": (read_lines, 4_000_000, lambda n: "a" * n),
    "Moses": (skipping, 4_000, lambda n: lists(n, MOSES)),
    "Moses, all bad": (skipping, 4_000, lambda n: lists(n, MOSES[:-9] + "\n") + MOSES.format(i=0)),
    "Moses, one sentence": (skipping, 4_000, lambda n: lists(n, "0 ||| a {i} ||| x= {i} ||| 1\n")),
    "Moses, one line of features": (skipping, 20_000, lambda n: one(n, "0 ||| a ||| ", "f{i}= 1 ", "||| 1\n")),
    "Moses, one feature often": (skipping, 20_000, lambda n: one(n, "0 ||| a ||| x= 1 ", "f= 1 ", "||| 1\n")),
    "Moses, a feature a line": (skipping, 4_000, lambda n: lists(n, "{i} ||| a ||| f{i}= 1 ||| 1\n")),
    "Moses, long words": (skipping, 100_000, lambda n: one(n, "0 ||| ", "w{i} ", "||| x= 1 ||| 1\n")),
    "cdec": (skipping, 4_000, lambda n: lists(n, "{i} ||| a ||| f{i}=1 g=2 ||| 1\n")),
    "cdec, one feature often": (skipping, 20_000, lambda n: one(n, "0 ||| a ||| ", "f=1 ", "||| 1\n0 ||| a ||| g=1\n")),
    "JSON Lines": (skipping, 4_000, lambda n: lists(n, JSONL)),
    "JSON Lines, all bad": (skipping, 4_000, lambda n: JSONL.format(i=0) + lists(n, '{{"id": {i}, "hyp": 1}}\n')),
    "JSON Lines, no JSON": (skipping, 4_000, lambda n: JSONL.format(i=0) + lists(n, '{{"id": {i}, "hyp": "a\n')),
    "JSON Lines, one key often": (
        skipping, 20_000, lambda n: JSONL.format(i=0) + one(n, ROW, '"f": 1, ', '"g": 1}}')
    ),
    "JSON Lines, deep": (skipping, 20_000, lambda n: JSONL.format(i=0) + '{"id": 1, "hyp": "a", "x": ' + "[" * n),
    "TSV": (skipping, 4_000, lambda n: "id\thyp\tx\n" + lists(n, "{i}\ta b\t{i}\n")),
    "TSV, many columns": (skipping, 4_000, lambda n: one(n, "id\thyp", "\tf{i}", "\n") + "0\ta" + "\t1" * n + "\n"),
    "CSV, many columns": (skipping, 2_000, lambda n: one(n, "id,hyp", ",f{i}", "\n") + "0,a" + ",1" * n + "\n"),
    "lattices": (plf, 2_000, lambda n: "((('a', 1, 1), ('b', 1, 1),), (('c', 1, 1),),)\n" * n),
    "a lattice of too many arcs": (plf, 20_000, lambda n: "((" + "('a', 1, 1)," * n + "),)"),
    "a lattice of a long word": (plf, 500_000, lambda n: "(((" + "'" + "\\'" * n + "', 1, 1),),)"),
    "a lattice, blanks": (plf, 500_000, lambda n: "((('a', 1, 1)," + " " * n + "x),)"),
    "a lattice without an end": (plf, 500_000, lambda n: "((('" + "\\" * n),
    "links": (read_links, 20_000, lambda n: lists(n, "0-0 1-1\n")),
    "links on one line": (read_links, 100_000, lambda n: "0-0 " * n),
    "rules": (read_grammar, 4_000, lambda n: lists(n, "[X] ||| a{i} ||| b ||| p={i} ||| 0-0\n")),
    "rules, many features": (read_grammar, 20_000, lambda n: one(n, "[X] ||| a ||| b ||| ", "f{i}=1 ", "||| 0-0\n")),
    "rules, one feature often": (read_grammar, 20_000, lambda n: "[X] ||| a ||| b ||| " + "f=1 " * n + "||| 0-0\n"),
    "rules, long sides": (read_grammar, 50_000, lambda n: "[X] ||| " + "a " * n + "||| b ||| p=1\n"),
    "ARPA": (read_arpa, 5_000, lambda n: ARPA.format(n=n + 3, words=lists(n, "-1 w{i}\n"))),
    "ARPA, one word often": (read_arpa, 5_000, lambda n: ARPA.format(n=n + 3, words="-1 w\n" * n)),
    "bins, no bins": (read_bins, 50_000, lambda n: json.dumps({"kind": "x", "features": list(range(n))})),
    "JSON, one key often": (
        lambda path: parse_json(path.read_bytes()), 50_000, lambda n: "{" + ",".join(['"f":1'] * n) + "}"
    ),
    "journal lines": (lambda path: read_journal(path, "x"), 5_000, lambda n: (seal({"a": 1}) * n).decode()),
    "journal lines, one bad": (
        lambda path: read_journal(path, "x"), 5_000, lambda n: (seal({"a": 1}) * n).decode() + "{}\n"
    ),
}  # fmt: skip


FORMATS = (
    "moses", "cdec", "joshua", "bare", "travatar", "marian", "kaldi", "tsv", "fairseq", "sockeye", "nested", "jsonl",
    "openai", "openai-batch", "vllm", "trl", "ultrafeedback", "lm-eval", "openrlhf", "metricx", "ctranslate2", "comet",
    "pipeline", "wide", "wide-csv",
)  # fmt: skip
DAMAGE = {
    "sound": lambda raw: raw,
    "no number anywhere": lambda raw: re.sub(rb"\d\.\d", b"x", raw),
    "the last line is no text": lambda raw: raw + b"\xff\xfe",
    "one line": lambda raw: raw.replace(b"\n", b" "),
}


def folder_of(n, name, text):
    """Return the files of a folder, by their names."""
    return {name.format(i=i): text.format(i=i) for i in range(n)}


def archives(path):
    return read_pool(path, options=ReadOptions(format="kaldi-archives", skip_bad=True))


def beams(path):
    return read_pool(path, options=ReadOptions(format="nemo", format_options={"beams": 2}, skip_bad=True))


def joined(path):
    """Join scores to a sound list of as many rows as lines, and as many as that and one."""
    sound = path.with_suffix(".sound")
    if not sound.exists():
        sound.write_text(lists(len(path.read_text().splitlines()), MOSES))
    return read_pool(sound, options=ReadOptions(join=(f"s={path}",)))


def record(i):
    return {f"{i}.run.json": json.dumps({"kind": "tune", "answers": [f"{i}.txt"]}), f"{i}.txt": f"f{i} 1\n"}


ESPNET = ("{k}best_recog/text", "{k}best_recog/score")
KALDI = {"words_text": "u{i}-1 a b\n", "acwt": "u{i}-1 {i}\n", "lmwt.nolm": "u{i}-1 1\n", "lmwt.lmonly": "u{i}-1 1\n"}
FOLDERS = {
    "SRILM": (skipping, 300, lambda n: folder_of(n, "u{i}", "-1 -2 2 a b\n-2 -{i} 2 a c\n")),
    "SRILM, all bad": (skipping, 300, lambda n: {**folder_of(n, "u{i}", "-1 x 2 a b\n"), "u0": "-1 -2 2 a b\n"}),
    "ESPnet": (skipping, 5_000, lambda n: {
        name.format(k=k): lists(n, "u{i} a b\n" if name.endswith("text") else "u{i} tensor(-{i})\n")
        for k in (1, 2) for name in ESPNET
    }),
    "ESPnet, no scores": (skipping, 5_000, lambda n: {
        name.format(k=1): lists(n, "u{i} a b\n" if name.endswith("text") else "u{i} x\n") for name in ESPNET
    }),
    "Kaldi's archives": (archives, 5_000, lambda n: {name: lists(n, line) for name, line in KALDI.items()}),
    "Kaldi's archives, others": (
        archives, 5_000, lambda n: {name: lists(n, line[name == "acwt" :]) for name, line in KALDI.items()}
    ),
    "NeMo": (beams, 5_000, lambda n: lists(2 * n, "a b\t-{i}\n")),
    "NeMo, all bad": (beams, 5_000, lambda n: lists(2 * n, "a b\tx{i}\n")),
    "joined scores": (joined, 5_000, lambda n: lists(n, "{i}.5\n")),
    "joined scores, one bad": (joined, 5_000, lambda n: lists(n, "{i}.5\n") + "x\n"),
    "joined scores by key": (joined, 5_000, lambda n: "id\tindex\ts\n" + lists(n, "{i}\t0\t1\n")),
    "a folder of runs": (
        lambda path: Folders([str(path)]).look(), 200, lambda n: {k: v for i in range(n) for k, v in record(i).items()}
    ),
    "settings": (lambda path: read_toml(path, "x"), 5_000, lambda n: lists(n, "[[part]]\nname{i} = {i}\n")),
    "settings, one twice": (lambda path: read_toml(path, "x"), 5_000, lambda n: lists(n, "a{i} = 1\n") + "a0 = 1\n"),
    "a manifest": (
        read_manifest, 5_000, lambda n: json.dumps({"parts": [{"path": f"p{i}", "digest": "x"} for i in range(n)]})
    ),
    "served weights, one twice": (Reranker.load, 20_000, bad_names),
}  # fmt: skip


def seconds(read, path):
    """Return the processor's time of reading, or of refusing to read."""
    began, said = time.process_time(), ""
    try:
        read(path)
    except (LuthierError, ValueError) as error:
        said = str(error)
    took = time.process_time() - began
    assert len(said) < 2000, "an error as long as its input"
    return took


def write(path, made):
    """Write a file, or the files of a folder."""
    if isinstance(made, dict):
        for name, text in made.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
    else:
        path.write_bytes(made if isinstance(made, bytes) else made.encode())
    return path


def check_growth(read, paths):
    """Compare the least times of n, 2n and 4n; of several tries one must do, and none does of what is quadratic."""
    seconds(read, paths[1])  # kernels
    took = dict.fromkeys(paths, math.inf)
    for _ in range(TRIES):
        took = {k: min(took[k], seconds(read, path)) for k, path in paths.items()}
        if all(took[k] <= k * SLACK * took[1] + LEAST for k in paths):
            return
    raise AssertionError(took)


@pytest.mark.parametrize("name", [*CASES, *FOLDERS])
def test_time_grows_with_the_input(name, tmp_path):
    read, least, made = {**CASES, **FOLDERS}[name]
    check_growth(read, {k: write(tmp_path / f"{k}", made(k * least)) for k in (1, 2, 4)})


@pytest.fixture(scope="module")
def made_lists():
    return {k: samples.lists(np.random.default_rng(1), k * SENTENCES) for k in (1, 2, 4)}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", FORMATS)
def test_time_grows_with_lists_of_every_format(name, damage, made_lists, tmp_path):
    assert set(FORMATS) == set(made_lists[1])
    check_growth(skipping, {k: write(tmp_path / f"{k}", DAMAGE[damage](made[name])) for k, made in made_lists.items()})
