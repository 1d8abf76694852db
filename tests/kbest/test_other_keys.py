"""Other keys of objects: what a list says beside comes out again with the hypotheses that are selected."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import luthier
from luthier.core.errors import LuthierError
from luthier.corpus.texts import RepeatedTexts, Texts

ODD = {"url": 'x"\\ \u00e9\n', "tags": ["a", {"b": [1, 2]}], "ok": True, "meta": {"deep": {"er": None}}}


def best(run_cli, path, weights, *more):
    out = path.parent / "best.jsonl"
    (path.parent / "w.txt").write_text(weights)
    code, _, err = run_cli("rerank", path, "--weights", path.parent / "w.txt", "--to", "jsonl", "-o", out, *more)
    assert code == 0, err
    found = [json.loads(line) for line in out.read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in ("contributions", "score")} for row in found]


ROWS = [
    {"id": 0, "hyp": "a", "lm": 1.0, "source": "s", **ODD, "system": "A"},
    {"id": 0, "hyp": "b", "lm": 2.0, "source": "s", **ODD, "system": "B", "none": None},
    {"id": "1", "hyp": "c", "lm": 1.0, "refs": ["r"]},
]


@pytest.mark.parametrize("plain", [True, False])
def test_rows_keep_what_they_say(run_cli, tmp_path, plain):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=plain) + "\n" for row in ROWS[:2]))
    expected = [{"id": 0, "hyp": "b", "source": "s", **ODD, "system": "B"}]
    assert best(run_cli, path, "lm 1\n") == expected
    assert run_cli("pool", path, "-o", tmp_path / "pool.arrow")[0] == 0  # a pool keeps them too
    assert best(run_cli, tmp_path / "pool.arrow", "lm 1\n") == expected


def test_sentences_of_nested_objects_keep_what_they_say(run_cli, tmp_path):
    path = tmp_path / "lists.json"
    nbest = [{"text": "a", "lm": 1.0}, {"text": "b", "lm": 2.0}]
    values = [{"id": i, "nbest": nbest, "prompt": f"p{i}", "year": 2024, "scores": [1, 2], **ODD} for i in range(2)]
    for text in ("".join(json.dumps(value) + "\n" for value in values), json.dumps(values, indent=2)):
        path.write_text(text)
        expected = [{"id": i, "hyp": "b", "prompt": f"p{i}", "year": 2024, **ODD} for i in range(2)]
        assert best(run_cli, path, "lm 1\nscore 0\n") == expected


def test_lists_without_any_have_none(tmp_path):
    (tmp_path / "plain.jsonl").write_text(json.dumps(ROWS[2]) + "\n")
    assert luthier.read_pool(tmp_path / "plain.jsonl").other_keys is None


def test_merging_and_taking(tmp_path):
    for name, rows in (("a", ROWS[:2]), ("b", ROWS[2:])):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    pools = [luthier.read_pool(tmp_path / name) for name in "ab"]
    pools = [dataclasses.replace(pool, references=None, sources=None) for pool in pools]
    both = luthier.merge(pools[::-1])
    kept = both.other_keys
    said = [json.loads(f"{{{kept.texts[i]}}}") for i in kept.ids]
    assert [one.get("system") for one in said] == [None, "A", "B"]
    assert len(both.take([2]).other_keys.texts) == 1  # the others are not dragged along
    assert json.loads(f"{{{both.take([2]).other_keys.texts[int(both.take([2]).other_keys.ids[0])]}}}")["system"] == "B"


def test_what_somebody_else_wrote_is_checked(tmp_path):
    (tmp_path / "a").write_text("".join(json.dumps(row) + "\n" for row in ROWS[:2]))
    pool = luthier.read_pool(tmp_path / "a")
    with pytest.raises(LuthierError, match="expected numbers of texts from 0 to 0, found others"):
        RepeatedTexts(Texts.from_strings([""]), np.array([0, 1], dtype=np.int32))
    with pytest.raises(LuthierError, match="expected 2 other keys, found 1"):
        dataclasses.replace(pool, other_keys=pool.other_keys.take([0]))
    broken = RepeatedTexts(Texts.from_strings(['"a": 1}, {']), np.zeros(2, dtype=np.int32))
    lying = dataclasses.replace(pool, other_keys=broken)
    from luthier.kbest.writers.jsonl import contribution_lines

    with pytest.raises(LuthierError, match="expected members of a JSON object among other keys"):
        list(contribution_lines(lying, np.ones(pool.n_features), np.ones(2)))
