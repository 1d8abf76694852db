"""The reranker of services: the choices of `rerank`, on the standard library alone, and all that it refuses."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import luthier
from luthier.core.errors import InputError, LuthierError
from luthier.kbest.derived import Derived, add_derived, missing_of
from luthier.kbest.serving.formula import Formula
from luthier.kbest.weights import Weights, read_weights, write_weights

NAMES = ["lm", "kiwi", "len", "rep", "tm"]
WEIGHTS = dict(zip(NAMES, [0.3, 0.2, -0.1, 1.0, 2.0], strict=True))


def lists_with_near_ties(n, seed=5):
    """Yield arrays (K, 5) of lists in which candidates tie exactly, or by a bit or two of their sums."""
    rng = np.random.default_rng(seed)
    vector = np.array(list(WEIGHTS.values()))
    for _ in range(n):
        values = np.round(rng.normal(size=(rng.integers(1, 9), 5)), 1)
        moved = values.copy()  # what one scorer loses another gains: equal but for rounding
        moved[:, 0] += 0.1 * vector[4]
        moved[:, 4] -= 0.1 * vector[0]
        yield np.concatenate([values, moved, values[:1]])[rng.permutation(2 * len(values) + 1)]


def pool_of_arrays(arrays, names=NAMES):
    rows = [(i, row) for i, array in enumerate(arrays) for row in array.tolist()]
    frame = {"id": [i for i, _ in rows], "hyp": [f"w{k} " * (1 + k % 7) for k in range(len(rows))]}
    frame |= {name: [row[NAMES.index(name)] for _, row in rows] for name in names}
    return luthier.pool_from_frame(frame)


@pytest.mark.compiled
@pytest.mark.parametrize(("order", "scale"), [(NAMES, 1.0), (NAMES[::-1], 1.0), (NAMES, 1e12), (NAMES[::-1], 1e-12)])
def test_choices_are_those_of_rerank(order, scale):
    arrays = [array * scale for array in lists_with_near_ties(1000)]
    weights = {name: value / scale for name, value in WEIGHTS.items()}
    pool, model = pool_of_arrays(arrays, order), luthier.Reranker(weights)
    rows = luthier.rerank(pool, weights) - pool.offsets[:-1]
    ties = 0
    for array, row in zip(arrays, rows.tolist(), strict=True):
        dicts = [dict(zip(NAMES, values, strict=True)) for values in array.tolist()]
        assert model.best(array) == model.best(dicts) == row
        assert model.rank(dicts)[0] == row
        best, second = sorted(model.scores(dicts))[::-1][:2]
        ties += best - second < 1e-12
    assert ties > 500, "the lists have hardly any near ties"


@pytest.mark.compiled
def test_derived_features_are_those_of_rerank():
    formulas = {"lp": "lm / max(words, 1) ** 0.6", "ex": "exp(kiwi) * log(2 + rep ** 2) + lp"}
    weights = Weights({**WEIGHTS, "lp": 0.7, "ex": -0.3}, formulas)
    arrays = list(lists_with_near_ties(1000, seed=6))
    pool = pool_of_arrays(arrays)
    whole = add_derived(pool, [Derived(name, Formula(text)) for name, text in formulas.items()])
    rows, model = luthier.rerank(pool, weights).tolist(), luthier.Reranker(weights)
    assert model.scorers == (*NAMES, "words")
    expected, first = whole.scores(weights.vector(whole.features.names)), 0
    for array, row in zip(arrays, rows, strict=True):
        dicts = [
            {**dict(zip(NAMES, values, strict=True)), "hyp": pool.texts[first + k]}
            for k, values in enumerate(array.tolist())
        ]
        words = [[len(one["hyp"].split())] for one in dicts]
        assert model.best(dicts) == model.best(np.hstack([array, words])) == row - first
        assert model.scores(dicts) == expected[first : first + len(dicts)].tolist()
        first += len(array)


def test_it_imports_neither_numpy_nor_numba(tmp_path):
    write_weights(Weights({"lm": 1.0, "lp": 2.0}, {"lp": "lm/words"}, {"lm": -1.0}), tmp_path / "w.json")
    code = f"""
import sys
import luthier
model = luthier.Reranker.load({str(tmp_path / "w.json")!r})
assert model.best([{{"lm": -1.0, "hyp": "a"}}, {{"lm": -0.5, "hyp": "a b"}}, {{"hyp": "c"}}]) == 1
heavy = [name for name in ("numpy", "numba", "scipy", "pyarrow", "msgspec") if name in sys.modules]
assert not heavy, heavy
assert {{name.partition(".")[0] for name in sys.modules}} - sys.stdlib_module_names <= {{"luthier", "__main__"}}
"""
    home = {**os.environ, "PYTHONPATH": str(Path(luthier.__file__).parent.parent)}  # -S: nothing else is on the path
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False, env=home)
    assert found.returncode == 0, found.stderr


@given(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=8), st.tuples(*[st.integers(-2, 2)] * 3))
def test_rank_is_a_stable_sort(rows, weights):
    model = luthier.Reranker(dict(zip("abc", map(float, weights), strict=True)))
    candidates = [dict(zip("abc", row, strict=True)) for row in rows]
    scores = [sum(w * v for w, v in zip(weights, row, strict=True)) for row in rows]
    assert model.rank(candidates) == sorted(range(len(rows)), key=lambda k: -scores[k])
    assert model.best(candidates) == model.rank(candidates)[0]
    assert model.best(np.array(rows)) == model.best(candidates)


def test_numbers_of_numpy_are_not_rounded_to_fewer_bits():
    model = luthier.Reranker({"a": 0.1, "b": 1.0}, derived={"c": "log(a/b)"})
    values = np.float32([1 / 3, 3.1])
    plain = dict(zip("ab", map(float, values), strict=True))
    assert model.scores([dict(zip("ab", values, strict=True))]) == model.scores([plain]) == model.scores(values[None])


def test_missing_values_come_from_the_file_of_weights(tmp_path):
    weights = Weights({"a": 1.0, "b": 1.0, "s1": 5.0, "s2": -5.0}, missing={"b": -3.0, "s1": 0.0, "s2": 0.0})
    write_weights(weights, tmp_path / "w.json")
    assert dict(read_weights(tmp_path / "w.json").missing) == dict(weights.missing)
    model = luthier.Reranker.load(tmp_path / "w.json")
    candidates = [{"a": 1}, {"a": 1, "b": None, "s2": -1}, {"a": 0, "b": 1}, {"a": 0, "b": 0, "s1": 1, "s2": 0}]
    assert model.scores(candidates) == [-2.0, 3.0, 1.0, 5.0]
    with pytest.raises(InputError, match=r"candidate 1: expected the scorers 'a', 'b', .*found none called 'a'"):
        model.best([{"a": 1}, {"b": 1}])


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
@pytest.mark.parametrize("policy", ["worst", "mean", "zero"])
def test_what_filled_the_holes_of_a_list_goes_with_its_weights(tmp_path, policy):
    frame = {"id": [0, 0, 0, 1, 1], "hyp": list("abcde"), "lm": [-1.0, None, -3.0, -2.0, -2.0], "tm": [1.0, 3, 2, 1, 0]}
    frame |= {"quality": [1.0, 0, 0, 1, 0]}
    with open(tmp_path / "list.jsonl", "w") as file:
        for row in zip(*frame.values(), strict=True):
            file.write(json.dumps(dict(zip(frame, row, strict=True))) + "\n")
    pool = luthier.read_pool(tmp_path / "list.jsonl", missing=policy, columns=["quality"])
    weights = luthier.tune(pool, "column:quality", "mert", restarts=2).weights
    assert dict(weights.missing) == {"lm": {"worst": -3.0, "mean": -2.0, "zero": 0.0}[policy]}
    model, rows = luthier.Reranker(weights), luthier.rerank(pool, weights)
    texts = [pool.texts[row] for row in rows]
    keys = [{"lm": lm, "tm": tm} for lm, tm in zip(frame["lm"], frame["tm"], strict=True)]
    assert [frame["hyp"][model.best(keys[:3])], frame["hyp"][3 + model.best(keys[3:])]] == texts


@pytest.mark.compiled
def test_rerank_fills_holes_as_the_weights_say(tmp_path, run_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    rows = [
        {"id": i, "hyp": f"t{i} {k}", "lm": float(rng.integers(5)), "tm": float(rng.integers(5))}
        for i in range(80) for k in range(4)
    ]  # fmt: skip
    for row in rows:
        for name, share in (("lm", 0.2), ("tm", 0.7)):  # one that most rows have, one that few have
            if rng.random() < share:
                del row[name]
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    weights = Weights({"lm": 1.0, "tm": -1.0}, missing={"lm": 3.5, "tm": 2.25})
    write_weights(weights, "w.json")
    code, _, err = run_cli("rerank", "list.jsonl", "--weights", "w.json", "-o", "out.txt", "--quiet")
    assert code == 0, err
    model = luthier.Reranker.load("w.json")
    lists = [rows[k : k + 4] for k in range(0, len(rows), 4)]
    assert (tmp_path / "out.txt").read_text().splitlines() == [one[model.best(one)]["hyp"] for one in lists]
    assert any(row.keys() == {"id", "hyp"} for row in rows)
    write_weights({"lm": 1.0, "tm": -1.0}, "plain.json")
    code, _, err = run_cli("rerank", "list.jsonl", "--weights", "plain.json", "-o", "out.txt")
    assert (code, "expected the feature 'lm' on every row" in err) == (2, True)


def test_sparse_features_may_be_missing(tmp_path):
    lines = [f"{i} ||| x{k} ||| d={k} s{i}{k}=1 ||| 0" for i in range(40) for k in range(3)]
    (tmp_path / "list.txt").write_text("\n".join(lines) + "\n")
    pool = luthier.read_pool(tmp_path / "list.txt")
    assert pool.features.n_dense == 1
    assert missing_of(pool) == dict.fromkeys(pool.features.names[1:], 0.0)


def test_threads_share_one():
    model = luthier.Reranker(WEIGHTS, derived={"lp": "lm/tm"})
    arrays = list(lists_with_near_ties(50))
    arrays = [np.abs(array) + 1 for array in arrays]
    expected, found = [model.rank(array) for array in arrays], [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda out=out: out.extend(model.rank(array) for array in arrays)) for out in found
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


CALLS = [
    ("best", [], "expected at least one candidate, found none"),
    ("best", {"a": 1}, r"expected a list of candidates, or an array \(K, 2\), found dict"),
    ("best", [{"a": 1, "b": 2}, {"a": 1}], "candidate 1: expected the scorers 'a', 'b', found none called 'b'"),
    ("best", [{"a": 1, "b": math.nan}], "candidate 0: expected a finite number for 'b', found nan"),
    ("best", [{"a": 1, "b": math.inf}], "candidate 0: expected a finite number for 'b', found inf"),
    ("best", [{"a": "1", "b": 2}], "candidate 0: expected a finite number for 'a', found '1'"),
    ("best", [{"a": 10**400, "b": 2}], "candidate 0: expected a finite number for 'a', found 1000"),
    ("best", [[1, 2]], "candidate 0: expected scores by name, found list"),
    ("best", [{"a": 1e308, "b": 1e308}], "expected scores that can be weighted and added, found a sum of inf"),
    ("rank", np.zeros(2), r"expected an array \(K, 2\) with the columns a, b, found shape \(2,\)"),
    ("rank", np.zeros((2, 3)), r"found shape \(2, 3\)"),
    ("rank", np.array([[1, math.nan]]), "candidate 0: expected a finite number for 'b', found nan"),
    ("rank", np.array([[1, None]]), "found none called 'b'"),
]


@pytest.mark.parametrize(("method", "candidates", "said"), CALLS)
def test_what_cannot_be_ranked_is_refused_by_a_sentence(method, candidates, said):
    with pytest.raises(LuthierError, match=said):
        getattr(luthier.Reranker({"a": 1.0, "b": 1.0}), method)(candidates)


def test_formulas_that_come_to_nothing_are_refused():
    model = luthier.Reranker({"lp": 1.0}, derived={"lp": "lm/words"})
    with pytest.raises(InputError, match=r"expected a finite lp = lm/words, found -inf \(lm = -1, words = 0\)"):
        model.best([{"lm": -1, "hyp": " "}])
    with pytest.raises(InputError, match="none called 'words'"):
        model.best([{"lm": -1}])
    with pytest.raises(LuthierError, match="expected a formula"):
        luthier.Reranker({"lp": 1.0}, derived={"lp": "__import__('os')"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected weights as a JSON object, found ''"),
        ("lm 1\n", "expected weights as a JSON object, found 'lm 1"),
        ("[1]", "expected weights as a JSON object"),
        ("{}", "expected at least one weight, found none"),
        ('{"a": 1, "a": 2}', "expected each name once, found 'a' twice"),
        ('{"a": "1"}', "expected a finite number for 'a', found '1'"),
        ('{"weights": {"a": 1}, "missing": {"a": null}}', "expected a finite number for 'a', found None"),
        ('{"weights": {"a": 1}, "add": {"a": 1}}', "expected a formula for 'a'"),
        ('{"a": 1e200}', "must be a number of at most 1e\\+150, found 1e\\+200"),
    ],
)
def test_a_bad_file_is_refused(tmp_path, text, said):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(LuthierError, match=said):
        luthier.Reranker.load(tmp_path / "w.json")
    with pytest.raises(InputError, match="expected a readable file, found no such file"):
        luthier.Reranker.load(tmp_path / "none.json")


def test_damaged_files_end_in_a_sentence_or_in_weights(tmp_path):
    whole = json.dumps(
        {"weights": {"a": 1.5, "lp": -2e-3}, "add": {"lp": "a/max(words, 1)**0.6"}, "missing": {"a": 0.5}}
    )
    rng, ways, path = np.random.default_rng(9), set(), tmp_path / "w.json"
    for _ in range(200):
        raw = bytearray(whole.encode())
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(raw)))
            piece = raw[at : at + int(rng.integers(1, 9))]
            raw[at : at + int(rng.integers(0, 5))] = [b"", piece, b"9" * 400, b"\xff", b'"', b"-", b"{", b"e9"][
                rng.integers(8)
            ]
        path.write_bytes(raw)
        try:
            luthier.Reranker.load(path).rank(
                [{"a": 1.0, "words": 3}, {"a": -1e300, "hyp": "x y"}, {"words": 0, "b": 1}]
            )
            ways.add("weights")
        except LuthierError:
            ways.add("sentence")
    assert ways == {"weights", "sentence"}


def test_16_candidates_take_no_longer_than_sums_by_hand():
    array = np.random.default_rng(1).normal(size=(16, 5))
    dicts = [dict(zip(NAMES, row, strict=True)) for row in array.tolist()]
    model, weights = luthier.Reranker(WEIGHTS), {name: WEIGHTS[name] for name in NAMES}

    def by_hand():
        scores = [sum(weights[name] * own[name] for name in NAMES) for own in dicts]
        return max(range(len(scores)), key=scores.__getitem__)

    def least(work, candidates=()):
        seconds = []
        for _ in range(3000):
            begin = time.perf_counter()
            work(*candidates)
            seconds.append(time.perf_counter() - begin)
        return min(seconds)

    limit = least(by_hand)
    for candidates in (dicts, array):
        assert least(model.best, (candidates,)) < 3 * limit
