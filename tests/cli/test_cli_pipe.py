"""`luthier rerank -` in a pipe: sentence by sentence, what `rerank` of the file chooses, and what it refuses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from luthier.core.errors import InputError
from luthier.jobs.rerank import needed_features
from luthier.kbest.building.lists import ReadOptions
from luthier.kbest.building.live import live_pools
from luthier.kbest.weights import Weights, write_weights

LUTHIER = [sys.executable, "-m", "luthier"]


def line(sentence, text, **scores):
    return json.dumps({"id": sentence, "hyp": text, **scores}) + "\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_weights(Weights({"lm": 1.0, "kiwi": 2.0}), "w.json")
    return tmp_path


@pytest.fixture
def piped(home, run_cli, monkeypatch):
    """Return a function from standard input to exit code, answer and complaint."""

    def run(text, *more):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
        (home / "out.txt").unlink(missing_ok=True)
        code, _, err = run_cli("rerank", "-", "--weights", "w.json", "-o", "out.txt", "--quiet", *more)
        return code, (home / "out.txt").read_text() if (home / "out.txt").exists() else "", err

    return run


class Arriving:
    """Standard input whose bytes come in given pieces."""

    def __init__(self, pieces):
        self.pieces = [piece.encode() for piece in pieces if piece]

    def peek(self, n):
        return self.pieces[0][:n] if self.pieces else b""

    def read1(self, n):
        piece = self.pieces.pop(0) if self.pieces else b""
        if len(piece) > n:
            self.pieces.insert(0, piece[n:])
        return piece[:n]

    def readline(self, n):
        found = b""
        while self.pieces and not found.endswith(b"\n"):
            piece = self.pieces.pop(0)
            end = piece.find(b"\n") + 1 or len(piece)
            found += piece[:end]
            if piece[end:]:
                self.pieces.insert(0, piece[end:])
        return found[:n]


def answered(pieces, needed=None, **options):
    pools = live_pools(Arriving(pieces), ReadOptions(**options), needed or {})
    return [(list(pool.sentence_ids), pool.list_lengths.tolist(), list(pool.texts)) for pool in pools]


@pytest.mark.compiled
def test_a_sentence_is_answered_before_the_next_comes(home):
    command = [*LUTHIER, "rerank", "-", "--weights", "w.json", "-o", "-", "--to", "jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        process.stdin.write(line(7, "a", lm=-1, kiwi=0.5).encode() + line(7, "b", lm=0, kiwi=0.5).encode())
        process.stdin.write(b"\n")  # a blank line: no other id is needed
        assert json.loads(process.stdout.readline()) == {
            "id": 7, "hyp": "b", "score": 1.0, "contributions": {"lm": 0, "kiwi": 1},
        }  # fmt: skip
        process.stdin.write(line(3, "c", lm=1, kiwi=0).encode())
        process.stdin.write(line("x", "d", lm=1, kiwi=0).encode())  # another id: 3 is complete
        assert json.loads(process.stdout.readline())["hyp"] == "c"
        process.stdin.close()
        assert json.loads(process.stdout.readline())["hyp"] == "d"
        assert process.wait() == 0


@pytest.mark.parametrize("seed", range(5))
def test_however_lines_arrive_the_lists_are_the_same(seed):
    rng = np.random.default_rng(seed)
    ids = [str(i) for i in rng.permutation(20)]
    rows = [(name, f"t{k}" * k) for name in ids for k in range(1, rng.integers(2, 5))]
    groups = {name: [text for other, text in rows if other == name] for name in ids}
    text = ""
    for k, (name, hyp) in enumerate(rows):
        text += line(name, hyp, lm=1.0)
        if k + 1 < len(rows) and rows[k + 1][0] != name and rng.random() < 0.3:
            text += "\n" * rng.integers(1, 3)
    cuts = sorted(rng.integers(0, len(text), 15).tolist())
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    found = answered(pieces)
    assert [name for names, _, _ in found for name in names] == ids
    assert [t for _, _, texts in found for t in texts] == [t for name in ids for t in groups[name]]
    assert [n for _, counts, _ in found for n in counts] == [len(groups[name]) for name in ids]


MOSES = "{0} ||| {1} ||| lm= 1 ||| 0\n"


@pytest.mark.parametrize("make", [lambda i, text: line(i, text, lm=1), MOSES.format], ids=["jsonl", "moses"])
def test_a_complete_list_does_not_wait(make):
    pools = live_pools(Arriving([make(0, "a"), make(0, "b") + make(1, "c"), "never"]), ReadOptions(), {})
    assert list(next(pools).texts) == ["a", "b"]
    pools = live_pools(Arriving([make(0, "a"), "\n", "\n", make(0, "b")]), ReadOptions(), {})
    assert list(next(pools).texts) == ["a"]
    with pytest.raises(
        InputError, match="<standard input>:4: expected the hypotheses of a sentence together, found '0'"
    ):
        next(pools)


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_a_blank_line_ends_a_list_wherever_it_comes(pieces):
    text = line(0, "a", lm=1) + "\n \t\n" + line(1, "b", lm=1) + line(1, "c", lm=1) + "\n"
    step = -(-len(text) // pieces)
    cut = [text[k : k + step] for k in range(0, len(text), step)]
    assert [texts for _, _, texts in answered(cut)] in ([["a"], ["b", "c"]], [["a", "b", "c"]])
    with pytest.raises(InputError, match=r"<standard input>:8: .* found '1' again"):
        answered([*cut, "\n", line(1, "d", lm=1)])
    with pytest.raises(InputError, match=r"<standard input>:4: .* found '0' again, after a blank line"):
        answered([line(9, "z", lm=1) + line(0, "a", lm=1) + "\n" + line(0, "b", lm=1) + line(1, "c", lm=1)])


class Endless(Arriving):
    """Standard input with so many lists of 20 texts of 1,000 words, each made when it is read."""

    def __init__(self, n):
        super().__init__([])
        self.left, self.n = n, n

    def read1(self, n):
        if not self.pieces and self.left:
            self.left -= 1
            self.pieces.append("".join(line(self.left, f"{k} " * 1000, lm=k) for k in range(20)).encode())
        return super().read1(n)

    def peek(self, n):
        return b"{"

    def readline(self, n):
        self.pieces.append(self.read1(1 << 20))
        return super().readline(n)


@pytest.mark.slow
@pytest.mark.compiled
def test_memory_does_not_grow_with_the_stream():
    peaks = []
    for n in (5, 8, 80):  # the first warms
        tracemalloc.start()
        assert sum(pool.n_sentences for pool in live_pools(Endless(n), ReadOptions(), {"lm": None})) == n
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1] + 100_000, peaks  # ten times as many lists


def test_an_object_with_a_whole_list_is_answered_at_once():
    def answer(name, *texts):
        choices = [{"index": k, "text": text, "logprobs": {"token_logprobs": [-1.0]}} for k, text in enumerate(texts)]
        return json.dumps({"custom_id": name, "choices": choices}) + "\n"

    pools = live_pools(Arriving([answer("b", "x", "y"), answer("a", "z"), answer("b", "w")]), ReadOptions(), {})
    assert list(next(pools).texts) == ["x", "y"]
    assert list(next(pools).sentence_ids) == ["a"]
    with pytest.raises(InputError):
        next(pools)


def test_an_id_that_comes_back_is_refused(piped):
    lines = [line(i, "x", lm=0, kiwi=0) for i in (0, 1, 0)]
    code, _, err = piped("".join(lines))
    assert code == 2
    assert "<standard input>:3: expected the hypotheses of a sentence together, found '0' again" in err
    with pytest.raises(InputError, match="again"):
        answered(lines)


def test_a_scorer_that_a_line_lacks_is_refused_or_filled(piped):
    text = line(0, "a", lm=-1) + line(0, "b", lm=-2, kiwi=-3) + line(1, "c", lm=0, kiwi=1)
    code, out, err = piped(text)
    assert (code, out) == (2, "")
    assert "<standard input>:1: expected the feature 'kiwi' on every line, as it has a weight, found none" in err
    assert '"missing" in a JSON file of weights' in err
    write_weights(Weights({"lm": 1.0, "kiwi": 2.0}, missing={"kiwi": -9.0}), "w.json")
    assert piped(text)[:2] == (0, "b\nc\n")
    write_weights(Weights({"lm": 1.0, "kiwi": 2.0}), "w.json")
    assert piped(text, "--skip-bad")[:2] == (0, "b\nc\n")


def test_formulas_and_columns_are_needed_too(piped):
    write_weights(Weights({"lp": 1.0}, {"lp": "logprob/words"}), "w.json")
    assert needed_features(["w.json"], []) == {"logprob": None}
    assert needed_features(["w.json"], ["logprob=2*lm"]) == {"lm": None}
    text = line(0, "a b", logprob=-1) + line(0, "b", logprob=-2, n=1)
    assert piped(text)[:2] == (0, "a b\n")
    assert piped(text.replace(', "logprob": -2', ""))[0] == 2
    assert piped(line(0, "a b", features={"x": 1}, logprob=-1) + line(0, "b", features={"x": 1}, logprob=-2))[0] == 0


@pytest.mark.parametrize(
    "options", [["--refs", "r"], ["--source", "s"], ["--any-order"], ["--missing", "mean"], ["--manifest", "m"]]
)
def test_options_that_need_the_whole_list_are_refused(home, run_cli, options):
    code, _, err = run_cli("rerank", "-", "--weights", "w.json", "-o", "-", *options)
    assert code == 2
    assert f"{options[0]} needs the whole list, and standard input is answered sentence by sentence" in err


def test_nothing_and_nonsense(piped):
    code, _, err = piped("")
    assert code == 2
    assert "<standard input>" in err
    code, _, err = piped("\n\n")
    assert code == 2
    code, _, err = piped("nonsense\n")
    assert code == 2
    assert "expected a list in a known format" in err
