"""Scores from files: in the order of the list, by id and index, by source and text; before repeats are dropped."""

from __future__ import annotations

import json
import os
import threading

import numpy as np
import pytest

import luthier
from luthier.core.errors import InputError, LuthierError
from luthier.kbest.building.lists import ReadOptions, read_lists

ROWS = [
    {"id": 7, "hyp": "a b", "lm": 1.0, "source": "s"},
    {"id": 3, "hyp": "c", "lm": 2.0, "source": "t"},
    {"id": 7, "hyp": "a b", "lm": 1.0, "source": "s"},  # again, and told apart by its score alone
    {"id": 7, "hyp": "d", "lm": 4.0, "source": "s"},
]
KIWI = [0.5, 0.25, 0.75, 1.0]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "kiwi.txt").write_text("".join(f"{x}\n" for x in KIWI))
    return tmp_path


def read(files, *join, **options):
    options = {"any_order": True, **options}
    return read_lists([str(files / "list.jsonl")], [], None, ReadOptions(join=[str(j) for j in join], **options)).pool


def by_text(pool, name):
    values = pool.columns[name] if name in pool.columns else pool.features.column(name)
    ids = [pool.sentence_ids[i] for i in np.repeat(np.arange(pool.n_sentences), pool.list_lengths)]
    return list(zip(ids, pool.texts, values.tolist(), strict=True))


IN_ORDER = [("3", "c", 0.25), ("7", "a b", 0.5), ("7", "a b", 0.75), ("7", "d", 1.0)]


def test_a_number_a_line_is_attached_before_repeats_are_dropped(files):
    pool = read(files, f"qe={files / 'kiwi.txt'}")
    assert by_text(pool, "qe") == IN_ORDER
    assert pool.features.names == ("lm", "qe")
    assert read(files).n_hypotheses == 3
    pool = read(files, files / "kiwi.txt", columns=["kiwi"])  # named as the file
    assert (list(pool.columns), by_text(pool, "kiwi")) == (["kiwi"], IN_ORDER)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_tables_by_id_and_index(files, kind):
    rows = [{"id": 7, "index": 1, "qe": 0.75}, {"id": 3, "index": 0, "qe": 0.25}, {"id": 7, "index": 2, "qe": 1.0}]
    rows.append({"id": 7, "index": 0, "qe": 0.5})
    path = files / f"qe.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        mark = "\t" if kind == "tsv" else ","
        path.write_text(f"id{mark}index{mark}qe\n" + "".join(mark.join(map(str, r.values())) + "\n" for r in rows))
    assert by_text(read(files, path), "qe") == IN_ORDER
    short = path.read_text().splitlines(keepends=True)
    path.write_text("".join(short[:-1]))
    told = r"expected a row for each hypothesis, by id and index, found none for hypothesis 0 of sentence '7' \('a b'\)"
    with pytest.raises(InputError, match=told):
        read(files, path)


def scored(files, name, value):
    path = files / name
    path.write_text(
        json.dumps(value, indent=1) if isinstance(value, dict) else "".join(json.dumps(v) + "\n" for v in value)
    )
    return path


def test_comet_and_metricx_by_source_and_text(files):
    parts = [("s", "a b", 0.5), ("t", "c", 0.25), ("s", "d", 1.0)]
    comet = {"hyp.txt": [{"src": s, "mt": f" {h} ", "COMET": x} for s, h, x in parts]}  # comet-score strips lines
    metricx = [{"source": s, "hypothesis": h, "prediction": 10 * x} for s, h, x in parts]
    pool = read(files, f"comet={scored(files, 'comet.json', comet)}", scored(files, "metricx.jsonl", metricx))
    assert by_text(pool, "comet") == [("3", "c", 0.25), ("7", "a b", 0.5), ("7", "d", 1.0)]
    assert pool.features.column("prediction").tolist() == [2.5, 5, 10]
    with pytest.raises(InputError, match=r"none for hypothesis 2 of sentence '7' \('d'\)"):
        read(files, scored(files, "metricx.jsonl", metricx[:2]))
    twice = [*metricx, {**metricx[0], "prediction": 6}]
    with pytest.raises(InputError, match="one number as 'prediction' for each source and text, found two for 's, a b'"):
        read(files, scored(files, "metricx.jsonl", twice))


def test_counts_that_differ_name_the_first_that_is_missing(files):
    (files / "kiwi.txt").write_text("1\n2\n")
    told = r"kiwi.txt: expected 4 numbers, one for each hypothesis, found 2: none for hypothesis 1 of sentence '7'"
    with pytest.raises(InputError, match=told):
        read(files, files / "kiwi.txt")
    (files / "kiwi.txt").write_text("1\n" * 5)
    with pytest.raises(InputError, match="found 5: line 5 belongs to none"):
        read(files, files / "kiwi.txt")


@pytest.mark.parametrize("bad", ["nan", "inf", "x", ""])
def test_a_line_that_is_no_number(files, bad):
    (files / "kiwi.txt").write_text(f"1\n2\n{bad}\n4\n")
    with pytest.raises(InputError, match=r"kiwi.txt:3: expected a finite number on each line"):
        read(files, files / "kiwi.txt")


@pytest.mark.parametrize("kind", ["numbers", "table", "list", "wrong", "unnamed"])
def test_a_pipe_gives_its_bytes_once(files, kind):
    table = "id\tindex\tqe\n" + "".join(f"{i}\t{k}\t{i + k}\n" for i, k in [(3, 0), (7, 0), (7, 1), (7, 2)])
    rows = [{"source": row["source"], "hypothesis": row["hyp"], "qe": row["lm"]} for row in ROWS]
    text = {"table": table, "list": "".join(json.dumps(row) + "\n" for row in rows), "wrong": "1\nx\n"}
    content = text.get(kind, (files / "kiwi.txt").read_text())
    os.mkfifo(files / "pipe")
    feeder = threading.Thread(target=lambda: (files / "pipe").write_text(content))
    feeder.start()
    given = files / "pipe" if kind == "unnamed" else f"qe={files / 'pipe'}"
    if kind == "wrong":
        with pytest.raises(InputError, match=r"pipe:2: expected a finite number on each line, found 'x'"):
            read(files, given)
    elif kind == "unnamed":
        with pytest.raises(LuthierError, match=r"expected NAME=FILE to join, found .*pipe"):
            read(files, given)
    else:
        found = {"numbers": [0.25, 0.5, 0.75, 1.0], "table": [3, 7, 8, 9], "list": [2, 1, 4]}
        assert read(files, given).features.column("qe").tolist() == found[kind]
    feeder.join()


def test_names(files):
    with pytest.raises(LuthierError, match="there is a number called 'lm' already"):
        read(files, f"lm={files / 'kiwi.txt'}")
    with pytest.raises(LuthierError, match="there is a number called 'kiwi' already"):
        read(files, files / "kiwi.txt", files / "kiwi.txt")
    with pytest.raises(LuthierError, match="expected NAME=FILE or FILE to join"):
        read(files, "=x")
    with pytest.raises(LuthierError, match="no number is called 'qe'"):
        read(files, files / "kiwi.txt", columns=["qe"])
    (files / "two.tsv").write_text("id\tindex\ta\tb\n3\t0\t1\t2\n")
    with pytest.raises(LuthierError, match="expected one column of numbers to call 'qe', found a, b"):
        read(files, f"qe={files / 'two.tsv'}")


def test_a_pool_that_exists_takes_its_own_order(files):
    pool = read(files)
    luthier.save_pool(pool, files / "pool.arrow")
    (files / "own.txt").write_text("5\n6\n7\n")
    added = luthier.add(files / "pool.arrow", f"qe={files / 'own.txt'}")
    assert by_text(added.pool, "qe") == [("3", "c", 5), ("7", "a b", 6), ("7", "d", 7)]
    assert added.as_dict() == {"features": ["qe"], "columns": [], "sentences": 2, "hypotheses": 3}
    with pytest.raises(
        InputError, match="repeated hypotheses were dropped from the pool: join it when the list is read"
    ):
        luthier.add(pool, str(files / "kiwi.txt"))
    (files / "own.txt").write_text("5\n6\n")
    with pytest.raises(InputError, match="expected 3 numbers, one for each hypothesis, found 2: none for hypothesis 1"):
        luthier.add(pool, str(files / "own.txt"))


@pytest.mark.parametrize("scorer", ["comet", "metricx", "text"])
def test_what_is_exported_is_read_back_in_its_order(files, scorer):
    pool = read(files)
    found = luthier.export(pool, scorer, files / "out")
    assert found.hypotheses == 3
    if scorer == "metricx":
        rows = [json.loads(line) for line in (files / "out" / "input.jsonl").read_text().splitlines()]
        assert rows[1] == {"source": "s", "hypothesis": "a b"}
        (files / "answer.jsonl").write_text(
            "".join(json.dumps({**row, "prediction": i}) + "\n" for i, row in enumerate(rows))
        )
        added = luthier.add(pool, f"x={files / 'answer.jsonl'}").pool
    else:
        lines = (files / "out" / "hyp.txt").read_text().splitlines()
        assert lines == ["c", "a b", "d"]
        if scorer == "comet":
            assert (files / "out" / "src.txt").read_text().splitlines() == ["t", "s", "s"]
        (files / "answer.txt").write_text("0\n1\n2\n")
        added = luthier.add(pool, f"x={files / 'answer.txt'}").pool
    assert added.features.column("x").tolist() == [0, 1, 2]


def test_export_says_what_it_lacks(files):
    pool = luthier.pool_from_frame({"id": [0], "hyp": ["a\nb"], "lm": [1.0]})
    with pytest.raises(LuthierError, match="expected sources for comet, found a pool without any"):
        luthier.export(pool, "comet", files / "x")
    with pytest.warns(UserWarning, match="some texts hold line breaks, written as blanks"):
        luthier.export(pool, "text", files / "x")
    assert (files / "x" / "hyp.txt").read_text() == "a b\n"
    with pytest.raises(LuthierError, match="expected a scorer of comet, metricx, text, found 'bleu'"):
        luthier.export(pool, "bleu", files / "x")


def test_columns_and_features_by_name(files):
    pool = read(files)
    more = pool.with_columns({"comet": [1, 2, 3]}).with_features({"kiwi": np.array([4.0, 5, 6])})
    assert (more.columns["comet"].tolist(), more.features.column("kiwi").tolist()) == ([1, 2, 3], [4, 5, 6])
    for made, told in (
        ({"x": [1, 2]}, r"expected 3 numbers as 'x', one for each hypothesis, found the shape \(2,\)"),
        ({"x": [1, 2, float("nan")]}, "expected finite numbers as 'x', found nan in row 2"),
        ({"x": ["a", "b", "c"]}, "expected numbers as 'x'"),
        ({"lm": [1, 2, 3]}, "there is a feature 'lm' already"),
    ):
        with pytest.raises(LuthierError, match=told):
            pool.with_features(made)
