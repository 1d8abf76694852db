"""A saved pool is no friend: each single lie in it is refused, in words, before a kernel sees it."""

from __future__ import annotations

import numpy as np
import pytest
from lying_pools import of_type, read_raw, shorter, whole_pool, with_number, without, write_raw

from luthier.core.errors import InputError, LuthierError
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features
from luthier.kbest.storage.pool_file import open_pool, save_pool, verify_pool

FAR = 2**31 - 1


def lie(name, at, value):
    return pytest.param(lambda arrays, _: with_number(arrays, name, at, value), name, id=f"{name}[{at}]={value}")


def meta_lie(key, value):
    return pytest.param(lambda _, meta: meta.update({key: value}), "", id=f"{key}={value!r}"[:40])


LIES = [
    lie("features.indices", 0, FAR),
    lie("features.indices", 0, 5000),
    lie("features.indices", 0, -1),
    lie("features.indices", 1, 0),  # not ascending, or twice
    lie("features.indptr", 1, 10**12),
    lie("features.indptr", 1, -3),
    lie("features.indptr", 0, 1),
    lie("features.indptr", -1, 5),
    lie("features.dense", 4, np.nan),
    lie("features.dense", 4, np.inf),
    lie("features.values", 4, -np.inf),
    lie("offsets", 1, 10**9),
    lie("offsets", 2, 3),
    lie("offsets", 0, -1),
    lie("offsets", -1, 71),
    lie("tokens.offsets", 5, 10**12),
    lie("tokens.offsets", 5, 0),
    lie("tokens.offsets", -1, 3),
    lie("tokens.ids", 7, 10),
    lie("tokens.ids", 7, FAR),
    lie("tokens.ids", 7, -1),
    lie("texts.offsets", 6, 2),  # goes back
    lie("texts.offsets", 6, 10**12),
    lie("texts.offsets", 0, 1),
    lie("texts.data", 3, 0xFF),
    lie("vocab.offsets", 2, 10**6),
    lie("vocab.offsets", 2, 0),
    lie("vocab.data", 0, 0x80),
    lie("sentence_ids.offsets", -1, 10**6),
    lie("references.offsets", 1, 10**6),
    lie("references.offsets", 1, 9),
    lie("references.tokens.ids", 0, 10),
    lie("references.tokens.offsets", 1, -1),
    lie("references.texts.offsets", 1, 10**9),
    lie("sources.offsets", 2, 10**9),
    lie("derivations.offsets", 3, 10**9),
    lie("derivations.rules", 3, 5),
    lie("derivations.rules", 3, -1),
    lie("derivations.texts.offsets", 1, 10**9),
    lie("derivations.features.indices", 2, 1),
    lie("derivations.features.indptr", 2, 9),
    lie("derivations.features.dense", 2, np.nan),
    lie("derivations.parents", 0, 0),
    lie("derivations.parents", 1, -1),
    lie("derivations.parents", 1, 1),
    lie("derivations.parents", 1, FAR),
    lie("derivations.spans", 3, 9),  # not within its parent's
    lie("derivations.spans", 0, -2),
    lie("columns.comet", 0, np.inf),
    pytest.param(lambda arrays, _: without(arrays, "tokens.ids"), "tokens.ids", id="without tokens.ids"),
    pytest.param(lambda arrays, _: without(arrays, "columns.comet"), "columns.comet", id="without a column"),
    pytest.param(lambda arrays, _: shorter(arrays, "features.indices"), "features.indices", id="indices shorter"),
    pytest.param(lambda arrays, _: shorter(arrays, "texts.data"), "texts.data", id="texts shorter"),
    pytest.param(lambda arrays, _: of_type(arrays, "tokens.ids", np.float64), "tokens.ids", id="ids of floats"),
    pytest.param(lambda arrays, _: of_type(arrays, "offsets", np.int32), "offsets", id="offsets of int32"),
    pytest.param(lambda arrays, _: of_type(arrays, "stats.given", np.int16), "stats.given", id="stats of int16"),
    pytest.param(lambda arrays, _: arrays.update({"x.y": np.zeros(2)}), "x.y", id="an array too many"),
    meta_lie("feature_names", ["lm"] * 12),
    meta_lie("feature_names", ["lm"]),
    meta_lie("feature_names", [f"f{i}" for i in range(11)]),
    meta_lie("feature_names", [3] * 12),
    meta_lie("feature_names", None),
    meta_lie("feature_names", ["\ud800"]),
    meta_lie("costs", ["nobody"]),
    meta_lie("groups", [{"name": "s", "columns": ["nobody"]}]),
    meta_lie("groups", [{"name": "s", "columns": ["s1", "s1"]}]),
    meta_lie("groups", [{"name": "s", "columns": []}]),
    meta_lie("groups", [{"name": "s", "columns": ["s1"]}, {"name": "t", "columns": ["s1"]}]),
    meta_lie("groups", [{"columns": ["s1"]}]),
    meta_lie("groups", {"s": ["s1"]}),
    meta_lie("columns", ["comet", "bleurt"]),
    meta_lie("columns", "comet"),
    meta_lie("stats", {"given": ["edits"]}),
    meta_lie("stats", []),
    meta_lie("shapes", {}),
    meta_lie("shapes", {"offsets": [-7]}),
    meta_lie("shapes", {"offsets": [1e9]}),
    meta_lie("shapes", {"offsets": [2**61, 2**61]}),
    meta_lie("digest", 3),
    meta_lie("provenance", {"lists": 3}),
    meta_lie("provenance", {"operations": [3]}),
    meta_lie("provenance", 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "p.arrow"
    save_pool(whole_pool(), path)
    return read_raw(path)


@pytest.mark.parametrize("change, name", LIES)
def test_each_single_lie_is_refused(tmp_path, raw, change, name):
    arrays, meta = {key: array.copy() for key, array in raw[0].items()}, dict(raw[1])
    change(arrays, meta)
    write_raw(tmp_path / "p.arrow", arrays, meta)
    with pytest.raises(InputError) as caught:
        open_pool(tmp_path / "p.arrow")
    assert caught.value.path == str(tmp_path / "p.arrow")
    assert "damage" in str(caught.value)


@pytest.mark.parametrize("raw_meta", ["", "{", "[]", "[" * 5000 + "]" * 5000, '{"feature_names": 1e999}'])
def test_metadata_that_are_no_object(tmp_path, raw, raw_meta):
    write_raw(tmp_path / "p.arrow", raw[0], raw_meta)
    with pytest.raises(InputError, match="damage"):
        open_pool(tmp_path / "p.arrow")


def test_what_only_the_digest_can_tell(tmp_path, raw, run_cli):
    path = tmp_path / "p.arrow"
    for name, at, value in [("features.dense", 0, 7.5), ("columns.comet", 0, 7.5), ("stats.given", 1, 999)]:
        arrays = {key: array.copy() for key, array in raw[0].items()}
        arrays[name][at] = value
        write_raw(path, arrays, raw[1])
        open_pool(path)
        with pytest.raises(InputError, match="damage"):
            verify_pool(path)
        code, _, err = run_cli("inspect", path, "--verify")
        assert code == 2
        assert str(path) in err
    write_raw(path, raw[0], {**raw[1], "provenance": {"lists": []}})
    with pytest.raises(InputError, match="provenance"):
        verify_pool(path)
    write_raw(path, *raw)
    verify_pool(path)
    code, out, _ = run_cli("inspect", path, "--verify", "--json")
    assert code == 0
    assert raw[1]["digest"] in out


def test_constructors_hold_the_same_checks():
    pool = whole_pool()
    with pytest.raises(LuthierError, match="never descend"):
        Texts(np.array([0, 3, 1]), np.zeros(3, np.uint8))
    with pytest.raises(LuthierError, match="within 0 and 3"):
        Tokens(np.array([0, 4]), np.zeros(3, np.int32))
    with pytest.raises(LuthierError, match="numbers of tokens"):
        Tokens(np.array([0, 1]), np.array([-1]))
    with pytest.raises(LuthierError, match="columns of 1 sparse"):
        Features(("a",), np.zeros((1, 0)), np.array([0, 1]), np.array([1]), np.ones(1))
    with pytest.raises(LuthierError, match="nan for 'a' in row 1"):
        Features.from_dense(("a",), [[0.0], [np.nan]])
    for column in (pool, pool.texts, pool.tokens, pool.features, pool.derivations, pool.references):
        for rows in ([-1], [10**6]):
            with pytest.raises(LuthierError, match="expected rows"):
                column.take(rows)
    with pytest.raises(LuthierError, match="spans"):
        Texts.from_spans(pool.texts.data, np.array([5]), np.array([2]))
    with pytest.raises(LuthierError, match="tokens below"):
        type(pool)(**{**vars(pool), "vocab": Texts.from_strings(["one"])})
