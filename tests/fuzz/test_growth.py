"""Reading and refusing take time that grows with the input, and not with its square: n, 2n and 4n are compared."""

from __future__ import annotations

import json
import time

import pytest

from luthier.alignment.links import read_links
from luthier.core.errors import LuthierError
from luthier.core.files.journal import read_journal, seal
from luthier.core.settings import parse_json
from luthier.corpus.lines import read_lines
from luthier.features.bins_file import read_bins
from luthier.grammar.reading import read_grammar
from luthier.kbest.building.lists import ReadOptions, read_pool
from luthier.kbest.weights import read_weights
from luthier.lm.arpa_reading import read_arpa

pytestmark = [pytest.mark.slow, pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]
SLACK = 2.2  # what fourfold input may cost beside fourfold time; the square costs four times as much again
LEAST = 0.15  # seconds that say nothing


def lists(n, line):
    return "".join(line.format(i=i) for i in range(n))


def one(n, before, part, after):
    return before + "".join(part.format(i=i) for i in range(n)) + after


def bad_names(n):
    return json.dumps({f"f{i}": 1.0 for i in range(n)})[:-1] + ', "f0": 2}'


def skipping(path):
    return read_pool(path, options=ReadOptions(skip_bad=True, any_order=True))


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


@pytest.mark.parametrize("name", CASES)
def test_time_grows_with_the_input(name, tmp_path):
    read, least, made = CASES[name]
    paths = {}
    for k in (1, 2, 4):
        paths[k] = tmp_path / f"{k}"
        paths[k].write_text(made(k * least))
    seconds(read, paths[1])  # kernels
    took = {k: min(seconds(read, path) for _ in range(3)) for k, path in paths.items()}
    assert took[2] <= 2 * SLACK * took[1] + LEAST, took
    assert took[4] <= 4 * SLACK * took[1] + LEAST, took
