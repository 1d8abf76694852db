"""One rule for all tables: what a column means, what is missing, what looks like no feature."""

import json

import numpy as np
import pandas as pd
import pytest

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.kbest.building.lists import ReadOptions, read_lists

FRAME = pd.DataFrame(
    {
        "id": ["a", "a", "b", "b"],
        "hyp": ["x y", "x z", "u", "v, w"],
        "lm": [-1.0, -2.0, -3.0, -4.5],
        "len": [2.0, 2.0, 1.0, 2.0],
        "comet": [0.5, 0.25, 0.75, 1.0],
    }
)
WRITERS = {
    "flat.jsonl": lambda f, p: f.to_json(p, lines=True, orient="records"),
    "nested.jsonl": lambda f, p: p.write_text("".join(
        json.dumps({"id": r.id, "hyp": r.hyp, "features": {"lm": r.lm, "len": r.len, "comet": r.comet}}) + "\n"
        for r in f.itertuples()
    )),
    "list.tsv": lambda f, p: f.to_csv(p, sep="\t", index=False),
    "list.csv": lambda f, p: f.to_csv(p, index=False),
    "list.parquet": lambda f, p: f.to_parquet(p, index=False),
    "list.arrow": lambda f, p: f.to_feather(p, compression="uncompressed"),
}  # fmt: skip
HOLED = {name: writer for name, writer in WRITERS.items() if name != "nested.jsonl"}


def read(path, **options):
    return read_lists([str(path)], [], None, ReadOptions(**options))


@pytest.mark.parametrize("name", WRITERS)
def test_numbers_are_features_unless_said_otherwise(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](FRAME, path)
    pool = read(path).pool
    assert pool.features.names == ("lm", "len", "comet")
    assert list(pool.texts) == FRAME["hyp"].tolist()
    assert list(pool.sentence_ids) == ["a", "b"]
    assert pool.features.dense[:, 0].tolist() == FRAME["lm"].tolist()
    pool = read(path, columns=["comet"]).pool
    assert pool.features.names == ("lm", "len")
    assert pool.columns["comet"].tolist() == FRAME["comet"].tolist()
    pool = read(path, ignore=["comet", "len"]).pool
    assert pool.features.names == ("lm",)
    assert not pool.columns
    with pytest.raises(LuthierError, match="no number is called 'bleurt'"):
        read(path, columns=["bleurt"])
    with pytest.raises(LuthierError, match="'lm' cannot be a column and be ignored"):
        read(path, columns=["lm"], ignore=["lm"])


@pytest.mark.parametrize("name", HOLED)
def test_a_missing_value_is_an_error_or_filled_in(tmp_path, name):
    frame = FRAME.drop(columns="comet")
    frame.loc[2, "lm"] = np.nan
    path = tmp_path / name
    HOLED[name](frame, path)
    with pytest.raises(InputError) as caught:
        read(path)
    told = "expected the feature 'lm' on every row, as most have it, found 1 of 4 rows without it, row 3 the first"
    assert str(caught.value).startswith(f"{path}: {told}")
    for policy, value in (("zero", 0.0), ("worst", -4.5), ("mean", -2.5)):
        reading = read(path, missing=policy)
        assert reading.pool.features.dense[:, 0].tolist() == [-1.0, -2.0, value, -4.5]
        assert reading.filled == {"lm": 1}
    assert read(path, missing="worst", costs=["lm"]).pool.features.dense[2, 0] == -1.0
    with pytest.raises(LuthierError, match="missing values as error, zero, worst, mean, found 'guess'"):
        read(path, missing="guess")


def test_rare_names_are_sparse_and_holes_are_found_among_many_names(tmp_path):
    rows = [{"id": 0, "hyp": f"w{i}", "features": {"lm": -1.0 - i, f"s{i}": 1.0}} for i in range(200)]
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pool = read(path).pool
    assert pool.n_features == 201
    assert pool.features.column("s7").tolist() == [1.0 if i == 7 else 0.0 for i in range(200)]
    del rows[150]["features"]["lm"]
    rows[151]["features"]["lm"] = 0  # written, so it is there
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="1 of 200 rows without it, row 151 the first"):
        read(path)
    filled = read(path, missing="worst").pool
    assert filled.features.column("lm")[150:152].tolist() == [-200.0, 0.0]
    # what says that absent is 0 is believed
    path.write_text("".join(json.dumps({**row, "absent": "zero"}) + "\n" for row in rows))
    assert read(path).pool.features.column("lm")[150] == 0.0


def test_formats_whose_absent_is_zero_keep_it(tmp_path):
    path = tmp_path / "list.cdec"
    path.write_text("0 ||| a b ||| LM=-1.5 WP=2 ||| -3\n0 ||| a c ||| LM=-1 WP=1 ||| -3\n0 ||| d ||| WP=1 ||| -3\n")
    assert read(path, format="cdec").pool.features.dense[:, 0].tolist() == [-1.5, -1.0, 0.0]


def test_one_form_for_all_lines(tmp_path):
    path = tmp_path / "mixed.jsonl"
    path.write_text('{"id": 0, "hyp": "a", "lm": 1}\n{"id": 0, "hyp": "b", "features": {"lm": 1}}\n')
    # the first stretch has both forms: an object anywhere in it means what it says, numbers beside it are columns
    with pytest.warns(LuthierWarning, match="the column 'lm' is left out: 1 of 2 hypotheses have none"):
        pool = read(path, missing="zero").pool
    assert pool.features.names == ("lm",)


def test_a_text_column_of_a_table_is_refused_or_ignored(tmp_path):
    frame = FRAME.drop(columns="comet").assign(system="s1")
    for name in ("list.tsv", "list.csv"):
        WRITERS[name](frame, tmp_path / name)
        with pytest.raises(InputError, match="`ignore` NAME passes over"):
            read(tmp_path / name)
        assert read(tmp_path / name, ignore=["system"]).pool.features.names == ("lm", "len")


def test_a_csv_that_is_none(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,hyp,lm\na,x,1\nb,y\n")
    with pytest.raises(InputError, match="CSV parse error"):
        read(path)
    path.write_text("id,hyp,lm\n")
    with pytest.raises(InputError, match="the header alone"):
        read(path)
    path.write_text('id,hyp,lm\n007,"say ""x"", y",1\n')
    pool = read(path).pool
    assert (list(pool.sentence_ids), list(pool.texts)) == (["007"], ['say "x", y'])


def test_lists_without_numbers_are_warned_of(tmp_path):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"id": 0, "hyp": "a"}\n')
    with pytest.warns(LuthierWarning, match="the lists have no features"):
        assert read(path).pool.n_features == 0
