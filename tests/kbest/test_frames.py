"""Pools from frames of any kind, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from luthier import (
    Weights,
    merge,
    open_pool,
    pool_from_frame,
    pool_to_frame,
    read_pool,
    read_weights,
    rerank,
    save_pool,
    tune,
)
from luthier.core.errors import InputError, LuthierError, LuthierWarning

ROWS = {
    "id": ["a", "b", "a", "b"],  # sentences need not stand together
    "text": ["x y", "z", "x", "z z"],
    "lm": [1.0, 2.0, 3.0, 4.0],
    "n": np.array([1, 0, 2, 0]),
    "comet": [0.9, 0.1, 0.5, 0.7],
    "ref": ["x y", "z z", "x y", "z z"],
    "note": ["p", "q", "r", "s"],
}


def pool(frame=None, **roles):
    frame = ROWS if frame is None else frame
    columns = ["comet"] if not isinstance(frame, dict) or "comet" in frame else []
    return pool_from_frame(frame, columns=columns, **roles)


def frames():
    yield "dict", ROWS
    yield "arrow", pa.table(ROWS)
    yield "batch", pa.record_batch(ROWS)
    for module, make in (
        ("pandas", lambda m: m.DataFrame(ROWS, index=[7, 3, 5, 1])),
        ("polars", lambda m: m.DataFrame(ROWS)),
    ):
        try:
            yield module, make(__import__(module))
        except ImportError:
            continue


@pytest.mark.parametrize("frame", [pytest.param(frame, id=name) for name, frame in frames()])
def test_frames_of_every_kind_give_one_pool(frame):
    found = pool(frame)
    assert list(found.sentence_ids) == ["a", "b"]
    assert list(found.texts) == ["x y", "x", "z", "z z"]
    assert found.features.names == ("lm", "n")
    assert found.features.dense.tolist() == [[1, 1], [3, 2], [2, 0], [4, 0]]
    assert found.columns["comet"].tolist() == [0.9, 0.5, 0.1, 0.7]
    assert [found.references.of(i) for i in range(2)] == [["x y"], ["z z"]]


def test_columns_can_be_named():
    frame = {
        "utt": [1, 1],
        "out": ["p", "q"],
        "a": [1, 2],
        "b": [3, 4],
        "r0": ["p", "p"],
        "r1": ["q", "q"],
        "src": ["s", "s"],
    }
    found = pool_from_frame(
        frame, id="utt", text="out", features=["b"], references=["r0", "r1"], source="src", costs=["b"]
    )
    assert found.features.names == ("b",)
    assert found.features.costs == {"b"}
    assert found.references.of(0) == ["p", "q"]
    assert list(found.sources) == ["s"]
    assert repr(found) == "<Pool: 1 sentence, 2 hypotheses, 1 feature (b), 2 references>"


def test_a_frame_comes_back():
    made = pool()
    table = pool_to_frame(made)
    assert table.column_names == ["id", "hyp", "refs", "lm", "n", "comet"]
    assert table.column("hyp").to_pylist() == list(made.texts)
    again = pool_from_frame(table, columns=["comet"])
    assert again.digest() == made.digest()


@pytest.mark.parametrize(
    ("frame", "roles", "complaint"),
    [
        (3, {}, "expected a data frame of pandas or polars, an Arrow table, or a dictionary of columns, found int"),
        ({"id": [1]}, {}, "a column 'hyp' or 'hypothesis'"),
        ({"id": [1], "hyp": [2]}, {}, "expected texts in the column 'hyp'"),
        ({"id": [1], "hyp": ["x", "y"]}, {}, "of one length"),
        ({"id": [], "hyp": []}, {}, "an empty table"),
        (ROWS, {"id": "nobody"}, "no column is called 'nobody'"),
        (ROWS, {"features": ["ml"]}, "no column is called 'ml'"),
        ({**ROWS, "lm": [1.0, None, 2.0, 3.0]}, {}, "the feature 'lm' on every row"),
        (ROWS, {"missing": "maybe"}, "missing values as error, zero, worst, mean"),
        ({**ROWS, "comet": [0.1, None, 0.2, 0.3]}, {}, "holds no number for every row"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:the column")
def test_complaints(frame, roles, complaint):
    with pytest.raises((LuthierError, InputError), match=complaint):
        pool(frame, **roles)


def test_tune_in_one_call_and_rerank_by_names():
    made = pool()
    found = tune(made, metric="column:comet", method="mert", start={"lm": 1, "n": 0})
    assert found.after == pytest.approx((0.9 + 0.7) / 2, abs=1e-9)
    assert found.weights.keys() == {"lm", "n"}
    assert repr(found).startswith("<column:comet 0.8000 (equal weights, signs by correlation) → 0.8000 (")
    assert [made.texts[row] for row in rerank(made, found.weights)] == ["x y", "z z"]
    assert rerank(made, {"lm": 1, "n": 0}).tolist() == [1, 3]
    assert repr(found.weights).startswith("<Weights: lm ")


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda p: tune(3),
            "expected a Pool, found int. hint: luthier.read_pool makes one of files, luthier.pool_from_frame",
        ),
        (lambda p: tune("no-such.arrow"), "no-such.arrow: expected a readable pool, found no such file"),
        (lambda p: tune(p, metric="blue"), "there is no metric 'blue'. hint: did you mean 'bleu'"),
        (lambda p: tune(p, metric="comet"), "tuned for as column:comet"),
        (lambda p: tune(p, metric=3), "the name of a metric|a metric or its name"),
        (lambda p: tune(p, method="mart"), "there is no 'mart' among the methods|there is no"),
        (lambda p: tune(p, method="mert", speed=3), "the tuner 'mert' has no parameter 'speed'"),
        (lambda p: tune(p, start=[1, 2, 3]), "expected 2 finite weights"),
        (lambda p: tune(p, start={"lm": "x"}), "the weight of 'lm' must be a finite number"),
        (lambda p: tune(p, bound={"ml": (0, 1)}), "no feature is called 'ml'"),
        (lambda p: tune(p, bound=3), "expected bounds by name, such as .'lm': .0, 1.., found int"),
        (lambda p: tune(p, bound={"lm": 3}), r"expected bounds \(low, high\) of 'lm', the lower one first, found 3"),
        (lambda p: tune(p, bound={"lm": (1, 0)}), r"the lower one first, found \(1, 0\)"),
        (lambda p: tune(p, metric="column:comet", heldout=3), "expected a Pool, found int"),
        (lambda p: tune(p, start={3: 1}), r"the names of features, each a text, found 3 \(int\) among them"),
        (lambda p: tune(p, start={"lm": 10**400}), "the weight of 'lm' must be a finite number"),
        (lambda p: tune(p, start="no-such.txt"), "no-such.txt: expected a readable file, found no such file"),
        (lambda p: rerank(ROWS, [1, 2]), "expected a Pool, found dict"),
        (
            lambda p: rerank(p, tune(p, "column:comet", start={"lm": 1, "n": 0})),
            "found <column.* hint: its .weights are what is meant",
        ),
        (lambda p: merge(3), "expected a Pool, found int"),
        (lambda p: merge([p, 3]), "expected a Pool, found int"),
        (lambda p: save_pool(p, 3), r"expected the name of a pool, found 3 \(int\)"),
        (lambda p: save_pool(3, "x"), "expected a Pool, found int"),
        (lambda p: open_pool(None), r"expected the name of a pool, found None \(NoneType\)"),
        (lambda p: read_weights(3), r"expected the name of a file of weights, found 3 \(int\)"),
        (lambda p: Weights({"lm": 1}).vector(3), r"expected the names of features, found 3 \(int\)"),
        (lambda p: read_pool(3), r"expected the name of a list, found 3 \(int\)"),
        (lambda p: read_pool([3]), r"expected the name of a list, found 3 \(int\)"),
        (lambda p: read_pool(b"x"), "expected the name of a list, found b'x'"),
        (lambda p: read_pool("a\0b"), "expected the name of a list, found one with a zero byte"),
        (lambda p: read_pool("x", refs=3), r"expected the name of a file of references, found 3 \(int\)"),
        (lambda p: read_pool("x", source=3), r"expected the name of a file of sources, found 3 \(int\)"),
        (lambda p: read_pool("x", colums=["a"]), "read_pool has no setting 'colums'. it has: format, "),
        (lambda p: read_pool("x", columns=3), r"expected the names of columns, found 3 \(int\)"),
        (lambda p: read_pool("x", first_id="x"), "a whole number as the id of the first line, found 'x'"),
        (lambda p: read_pool("x", format=3), "expected the name of a format"),
        (lambda p: rerank(p, "abc"), "expected weights by name or an array of numbers"),
        (lambda p: rerank(p, [1.0]), r"expected weights of shape \(2,\)"),
    ],
)
def test_wrong_arguments_give_sentences(call, complaint):
    with pytest.raises(LuthierError, match=complaint):
        call(pool())


def test_a_name_alone_is_one_name():
    found = pool(features="lm", references="ref", costs="lm")
    assert found.features.names == ("lm",)
    assert found.features.costs == {"lm"}
    assert pool_from_frame(ROWS, columns="comet", features=["lm"]).columns.keys() == {"comet"}


@pytest.mark.parametrize(
    ("roles", "complaint"),
    [
        ({"features": 3}, r"expected the names of features, found 3 \(int\)"),
        ({"columns": 3}, r"expected the names of columns, found 3 \(int\)"),
        ({"references": 3}, r"expected the names of columns of references, found 3 \(int\)"),
        ({"costs": 3}, r"expected the names of costs, found 3 \(int\)"),
        ({"features": ["comet"], "columns": ["comet"]}, "'comet' cannot be a feature and a column of scores"),
        ({"features": ["lm", "note"]}, r"expected numbers in the column 'note', found string. hint: make numbers of"),
        ({"columns": ["note"]}, r"expected numbers in the column 'note', found string"),
    ],
)
def test_what_was_asked_for_is_never_left_out_in_silence(roles, complaint):
    with pytest.raises(LuthierError, match=complaint):
        pool_from_frame(ROWS, **roles)


def test_numbers_written_as_texts_are_told_of():
    with pytest.warns(LuthierWarning, match="the column 'n' holds texts such as '1' and is no feature"):
        assert pool({**ROWS, "n": ["1", "0", "2", "0"]}).features.names == ("lm",)


def test_an_object_of_features_is_what_it_is_in_files():
    rest = {name: ROWS[name] for name in ("id", "text", "comet")}
    found = pool_from_frame({**rest, "features": [{"lm": float(k), "n": 1.0} for k in range(4)]})
    assert found.features.names == ("lm", "n")
    assert found.features.dense[:, 0].tolist() == [0, 2, 1, 3]
    assert list(found.columns) == ["comet"]


def test_rows_are_those_of_the_pool_and_of_its_own_frame():
    made = pool()
    winners = pool_to_frame(made).take(rerank(made, {"lm": 1, "n": 0}))
    assert winners.column("hyp").to_pylist() == ["x", "z z"]
    assert winners.column("comet").to_pylist() == [0.5, 0.7]


def test_complaints_of_a_frame_name_nothing_that_it_does_not_have():
    with pytest.raises(InputError, match="leave such rows out of the table"):
        pool({**ROWS, "lm": [1.0, np.inf, 2.0, 3.0]})
    with pytest.raises(LuthierError, match="hint: the table has no columns"):
        pool_from_frame({}, columns=["comet"])


def test_lists_are_read_with_settings_by_name(tmp_path):
    path = tmp_path / "list.jsonl"
    path.write_text('{"id": 0, "hyp": "a", "lm": 1, "comet": 0.5}\n')
    (tmp_path / "refs").write_text("a\n")
    found = read_pool(path, refs=tmp_path / "refs", columns="comet", format="jsonl")
    assert found.features.names == ("lm",)
    assert found.columns["comet"].tolist() == [0.5]
    assert found.references.of(0) == ["a"]
