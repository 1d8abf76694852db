"""Lists read a stretch at a time select what the whole of them does; the N best against sorting in plain Python."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import make_pool, small_lists

from luthier.core.errors import InputError, LuthierError
from luthier.jobs.rerank import RerankOptions, rerank_files
from luthier.kbest.building.lists import ReadOptions, read_pool
from luthier.kbest.building.streaming import stream_pools
from luthier.kbest.reading import reader
from luthier.kbest.rerank import n_best


def moses(lists):
    return "".join(
        f"{i} ||| w{k} x ||| a={a} b={b} ||| 0\n" for i, rows in enumerate(lists) for k, (a, b) in enumerate(rows)
    )


@settings(max_examples=30)
@given(st.lists(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=1, max_size=6), min_size=1, max_size=9),
       st.integers(1, 9), st.integers(20, 80))  # fmt: skip
def test_stretches_are_the_list_cut_between_sentences(tmp_path_factory, lists, rows, block_bytes):
    path = tmp_path_factory.mktemp("stream") / "list.txt"
    path.write_text(moses(lists))
    whole = read_pool(path)
    cut = reader.line_blocks.__defaults__
    reader.line_blocks.__defaults__ = (block_bytes,)  # so that sentences are cut by blocks, too
    try:
        parts = list(stream_pools(str(path), ReadOptions(), rows))
    finally:
        reader.line_blocks.__defaults__ = cut
    assert [text for part in parts for text in part.sentence_ids] == list(whole.sentence_ids)
    assert [text for part in parts for text in part.texts] == list(whole.texts)
    assert np.concatenate([part.list_lengths for part in parts]).tolist() == whole.list_lengths.tolist()
    assert np.array_equal(np.concatenate([part.features.column("a") for part in parts]), whole.features.column("a"))
    if rows == 1 and block_bytes == 20 and len(lists) > 3:
        assert len(parts) > 1


@settings(max_examples=40)
@given(small_lists(), st.tuples(*[st.integers(-2, 2)] * 3), st.integers(1, 4))
def test_the_n_best_are_those_that_sorting_finds(lists, weights, n):
    pool = make_pool(lists)
    rows, offsets = n_best(pool, pool.scores(np.array(weights, dtype=float)), n)
    expected, first = [], 0
    for some in lists:
        scores = [sum(w * h for w, h in zip(weights, row, strict=True)) for _, row in some]
        expected.append([first + k for k in sorted(range(len(some)), key=lambda k: -scores[k])[:n]])
        first += len(some)
    assert [rows[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected


@pytest.fixture
def files(tmp_path):
    lists = [[(1, 0), (0, 2), (1, 1)], [(3, 3)], [(0, -1), (0, -2)]]
    (tmp_path / "list.txt").write_text(moses(lists))
    (tmp_path / "w.txt").write_text("a 1\nb 2\n")
    return tmp_path


def reranked(files, name, **options):
    pools = stream_pools(str(files / "list.txt"), ReadOptions(), 2)
    (row,) = rerank_files(pools, [str(files / "w.txt")], [str(files / name)], RerankOptions(**options))
    return row, (files / name).read_text()


def test_text_json_lines_and_moses(files):
    row, text = reranked(files, "out.txt")
    assert text == "w1 x\nw0 x\nw0 x\n"
    assert (row.sentences, row.not_first, row.mean_score, row.mean_words) == (3, 1, (4 + 9 - 2) / 3, 2.0)
    _, text = reranked(files, "out.jsonl", n=2)
    rows = [json.loads(line) for line in text.splitlines()]
    assert [(row["id"], row["hyp"], row["score"]) for row in rows] == [
        ("0", "w1 x", 4.0), ("0", "w2 x", 3.0), ("1", "w0 x", 9.0), ("2", "w0 x", -2.0), ("2", "w1 x", -4.0)
    ]  # fmt: skip
    assert rows[1]["contributions"] == {"a": 1.0, "b": 2.0}
    _, text = reranked(files, "out", form="moses", n=2)
    assert text.splitlines()[:2] == ["0 ||| w1 x ||| a= 0 b= 2 ||| 4", "0 ||| w2 x ||| a= 1 b= 1 ||| 3"]
    again = read_pool(files / "out.jsonl")  # what was written is a list again
    assert again.features.names == ("score",)


def test_line_breaks_in_texts_are_written_as_blanks(files):
    line = {"id": 0, "hyp": "one\ntwo\r\n", "a": 1, "b": 0}
    (files / "list.txt").write_text(json.dumps(line) + "\n" + json.dumps({"id": 1, "hyp": "x", "a": 2, "b": 0}) + "\n")
    with pytest.warns(match="1 texts hold line breaks"):
        _, text = reranked(files, "out.txt")
    assert text == "one two \nx\n"


def test_what_is_wrong_is_said_and_nothing_is_written(files):
    with pytest.raises(LuthierError, match="several hypotheses need the form jsonl or moses"):
        reranked(files, "out.txt", n=2)
    (files / "w.txt").write_text("a 1\nc 1\n")
    with pytest.raises(LuthierError, match="no feature is called 'c'"):
        reranked(files, "out.txt", strict=True)
    (files / "list.txt").write_text(moses([[(1, 2)]] * 3) + "0 ||| again ||| a=1 ||| 0\n")
    with pytest.raises(InputError, match=r"list.txt:4: expected sentence ids in ascending order"):
        reranked(files, "out.txt")
    assert not (files / "out.txt").exists()
    (files / "list.txt").write_text("0 ||| x ||| a=oops ||| 0\n")
    with pytest.raises(InputError, match="at least one usable hypothesis"):
        list(stream_pools(str(files / "list.txt"), ReadOptions(skip_bad=True)))
