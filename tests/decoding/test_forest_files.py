"""Forests go to disk and come back; whatever is wrong with the file ends in one clear sentence."""

import numpy as np
import pytest
from small_forests import derivations, edges_of, forest, rule_table

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.array_file import open_arrays, save_arrays
from luthier.decoding.forests.files import FILE, KIND, open_forests, save_forests
from luthier.decoding.forests.hypergraph import Hypergraph

WEIGHTS = np.array([1.0, -1.0, 2.0])
NOTHING = np.zeros((0, 2), np.int32)
EMPTY = Hypergraph(np.zeros(1, np.int64), NOTHING, np.zeros(0), np.zeros((0, 1)), np.zeros(0), NOTHING)


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(5)
    rules, graphs = rule_table(rng), [forest(rng), EMPTY, forest(rng, nodes=11)]
    save_forests(graphs, rules, WEIGHTS, tmp_path / "forests")
    return rules, graphs, tmp_path / "forests"


def rows(graph, rules, derivation):
    return [
        (rules.texts[graph.rules[e]], *rules.features.dense[graph.rules[e]].tolist(), *graph.state_features[e].tolist())
        for e in edges_of(derivation)
    ]


def test_every_derivation_comes_back_with_its_rules_and_features(saved):
    rules, graphs, folder = saved
    found = open_forests(folder)
    assert found.rules.names == rules.names
    assert found.weights.tolist() == WEIGHTS.tolist()
    assert [f.n_nodes > 0 for f in found.forests] == [True, False, True]
    for before, after in zip(graphs, found.forests, strict=True):
        if before.n_nodes:
            expected = [rows(before, rules, d) for d in derivations(before)]
            assert [rows(after, found.rules, d) for d in derivations(after)] == expected


def test_none_at_all_can_be_kept(tmp_path):
    rules = rule_table(np.random.default_rng(0))
    save_forests([], rules, WEIGHTS, tmp_path)
    assert open_forests(tmp_path).forests == ()


def change(folder, column, change):
    arrays, about = open_arrays(folder / FILE, KIND)
    arrays = {name: array.copy() for name, array in arrays.items()}
    arrays[column] = change(arrays[column])
    save_arrays(folder / FILE, KIND, arrays, about)


def put(at, value):
    def apply(array):
        array[at] = value
        return array

    return apply


@pytest.mark.parametrize(
    ("column", "apply", "message"),
    [
        ("node_offsets", put(1, 10**6), "nodes of forests: expected offsets that never descend"),
        ("edge_offsets", put(-1, 10**6), "edges of forests: expected offsets from 0"),
        ("tails", put((-1, 0), 99), "is none: gaps hold earlier nodes"),
        ("rules", put(0, 10**6), "has a rule that is not in its table"),
        ("rules", put(0, -1), "is none"),
        ("rules", lambda a: a[:-1], "expected offsets from 0"),
        ("spans", put((0, 1), -4), "a span of words at each node"),
        ("labels", lambda a: a[:-1], "columns of nodes of unequal length"),
        ("tails", lambda a: a[:-1], "columns of edges of unequal length"),
        ("tails", lambda a: a[:, :1].copy(), "found other shapes"),
        ("state_features", put((0, 0), np.nan), "expected finite features of edges"),
        ("state_features", lambda a: np.hstack([a, a]), "expected 1 features of each edge"),
        ("target_symbols", put(0, 10**6), "expected words and up to two gaps"),
        ("target_offsets", put(1, 10**6), "target sides of rules"),
        ("dense", put((0, 0), np.inf), "expected finite features"),
        ("indptr", put(-1, 5), "sparse features"),
        ("weights", put(0, np.nan), "weights that are not those of its features"),
        ("weights", lambda a: a[:1], "weights that are not those of its features"),
        ("words_data", put(0, 0xFF), "texts that are not UTF-8"),
        ("words_offsets", put(1, 10**6), "texts: expected offsets"),
        ("names_data", put(slice(None), ord("x")), "feature names must differ"),
        ("labels", lambda a: a.astype(np.int32), "no column 'labels' of the right kind"),
    ],
)
def test_a_lying_file_is_refused(saved, column, apply, message):
    _, _, folder = saved
    change(folder, column, apply)
    with pytest.raises(InputError, match=f"expected whole forests.*{message}.*'luthier engine decode' with `forests`"):
        open_forests(folder)


def test_a_missing_cut_or_changed_file_is_refused(saved, tmp_path):
    _, _, folder = saved
    with pytest.raises(InputError, match="expected a folder with forests"):
        open_forests(tmp_path)
    whole = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(whole[:-200])
    with pytest.raises(InputError, match="cut off"):
        open_forests(folder)
    (folder / FILE).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="bytes that have changed"):
        open_forests(folder)
    with pytest.raises(LuthierError, match="cannot write here"):
        save_forests([], rule_table(np.random.default_rng(0)), WEIGHTS, folder / FILE)
