"""Pools from frames of any kind, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from luthier import Pool, rerank, tune
from luthier.core.errors import InputError, LuthierError

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
    return Pool.from_frame(frame, columns=columns, **roles)


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
    found = Pool.from_frame(
        frame, id="utt", text="out", features=["b"], references=["r0", "r1"], source="src", costs=["b"]
    )
    assert found.features.names == ("b",)
    assert found.features.costs == {"b"}
    assert found.references.of(0) == ["p", "q"]
    assert list(found.sources) == ["s"]
    assert repr(found) == "<Pool: 1 sentence, 2 hypotheses, 1 feature (b), 2 references>"


def test_a_frame_comes_back():
    made = pool()
    table = made.to_frame()
    assert table.column_names == ["id", "hyp", "refs", "lm", "n", "comet"]
    assert table.column("hyp").to_pylist() == list(made.texts)
    again = Pool.from_frame(table, columns=["comet"])
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
    assert repr(found).startswith("<column ")
    assert [made.texts[row] for row in rerank(made, found.weights)] == ["x y", "z z"]
    assert rerank(made, {"lm": 1, "n": 0}).tolist() == [1, 3]
    assert repr(found.weights).startswith("<Weights: lm ")


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda p: tune("p.arrow"), "expected a Pool to tune on, found str"),
        (lambda p: tune(p, metric="blue"), "there is no metric 'blue'. hint: did you mean 'bleu'"),
        (lambda p: tune(p, metric="comet"), "tuned for as column:comet"),
        (lambda p: tune(p, metric=3), "the name of a metric|a metric or its name"),
        (lambda p: tune(p, method="mart"), "there is no 'mart' among the methods|there is no"),
        (lambda p: tune(p, method="mert", speed=3), "the tuner 'mert' has no parameter 'speed'"),
        (lambda p: tune(p, start=[1, 2, 3]), "expected 2 finite weights"),
        (lambda p: tune(p, start={"lm": "x"}), "the weight of 'lm' must be a finite number"),
        (lambda p: tune(p, bounds={"ml": (0, 1)}), "no feature is called 'ml'"),
        (lambda p: rerank(p, "abc"), "expected weights by name or an array of numbers"),
        (lambda p: rerank(p, [1.0]), r"expected weights of shape \(2,\)"),
    ],
)
def test_wrong_arguments_give_sentences(call, complaint):
    with pytest.raises(LuthierError, match=complaint):
        call(pool())
