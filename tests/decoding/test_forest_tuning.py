"""Tuning on forests is tuning on the list of all their derivations."""

import dataclasses
import json

import numpy as np
import pytest
from small_forests import derivations, edges_of, forest, rule_table, words_of

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner, tokenize
from luthier.decoding.forests.files import Forests, save_forests
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.forests.lines import ForestLines
from luthier.jobs.tune import forest_problem
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References
from luthier.kbest.weights import read_weights
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner
from luthier.tuning.run import run

BLEU = "bleu(order=2)"
NOTHING = np.zeros((0, 2), np.int32)
EMPTY = Hypergraph(np.zeros(1, np.int64), NOTHING, np.zeros(0), np.zeros((0, 1)), np.zeros(0), NOTHING)
REFS = ["a b a b", "b a c", "c a b b a"]


def small(seed, sentences=3):
    rng = np.random.default_rng(seed)
    return rule_table(rng), [forest(rng, nodes=8) for _ in range(sentences)]


def list_of_all(rules, graphs):
    """Return the pool of all derivations, in the order of their edges."""
    rows, texts, offsets, vocab = [], [], [0], Interner()
    for graph in graphs:
        of_edges = np.hstack([rules.features.dense[graph.rules], graph.state_features])
        for d in derivations(graph):
            rows.append(of_edges[edges_of(d)].sum(axis=0))
            texts.append(" ".join("abc"[w] for w in words_of(graph, d)))
        offsets.append(len(rows))
    column, refs = Texts.from_strings(texts), Texts.from_strings(REFS[: len(graphs)])
    tokens = tokenize(column, vocab)
    references = References(np.arange(len(graphs) + 1), refs, tokenize(refs, vocab))
    return Pool(
        offsets=np.array(offsets), features=Features.from_dense(rules.names, np.array(rows)),
        sentence_ids=Texts.from_strings(str(i) for i in range(len(graphs))), texts=column, tokens=tokens,
        vocab=vocab.texts(), references=references,
    )  # fmt: skip


@pytest.fixture
def refs(tmp_path):
    path = tmp_path / "refs.txt"
    path.write_text("\n".join(REFS) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("seed", range(8))
def test_gains_and_curves_are_those_of_the_list_of_all_derivations(seed, refs):
    rules, graphs = small(seed)
    metric = load_metric(BLEU)
    forests = forest_problem(Forests(tuple(graphs), rules, np.ones(3)), [refs], metric)
    lists = ListProblem.of(list_of_all(rules, graphs), metric)
    rng = np.random.default_rng(seed + 100)
    weights, directions = rng.integers(-2, 3, (5, 3)).astype(float), rng.integers(-2, 3, (4, 3)).astype(float)
    assert forests.gains(weights).tolist() == lists.gains(weights).tolist()
    for ours, theirs in zip(forests.curves(weights[0], directions), lists.curves(weights[0], directions), strict=True):
        np.testing.assert_allclose(ours.breakpoints, theirs.breakpoints, rtol=1e-9, atol=1e-9)
        assert ours.gains.tolist() == theirs.gains.tolist()
        np.testing.assert_allclose(ours.bends, theirs.bends)
    np.testing.assert_allclose(forests.selected(weights), lists.selected(weights))
    assert forests.errors_of_differences(weights, 0).tolist() == lists.errors_of_differences(weights, 0).tolist()
    deviations = [np.var(rows, axis=0) for rows in np.split(lists.pool.features.dense, lists.offsets[1:-1])]
    np.testing.assert_allclose(forests.spread, np.sqrt(np.mean(deviations, axis=0)), atol=1e-7)


@pytest.mark.compiled  # a run is in a thread of its own, where plain Python warns of hashes that overflow on purpose
@pytest.mark.parametrize("method", ["mert", "mert-regularized"])
def test_mert_ends_where_it_ends_on_the_list(method, refs):
    rules, graphs = small(3)
    metric, start = load_metric(BLEU), np.array([1.0, 1.0, 1.0])
    forests = forest_problem(Forests(tuple(graphs), rules, start), [refs], metric)
    lists = ListProblem.of(list_of_all(rules, graphs), metric)
    settings = {"random": 0, "gradient": False} if method == "mert-regularized" else {"directions": "coordinates"}
    found = [run(tuner(method, **settings), problem, start) for problem in (forests, lists)]
    assert found[0].gain == pytest.approx(found[1].gain)
    np.testing.assert_allclose(found[0].weights, found[1].weights, rtol=1e-9)


def test_strings_are_scored_once(refs):
    rules, graphs = small(1)
    problem = forest_problem(Forests(tuple(graphs), rules, np.ones(3)), [refs], load_metric(BLEU))
    list(problem.curves(np.ones(3), np.eye(3)))
    before = problem.scores.all_met()
    list(problem.curves(np.ones(3), np.eye(3)))
    assert problem.scores.all_met() is before
    assert len(before) == problem.candidates.n_strings


def test_sparse_features_spread_as_dense_ones():
    rules, graphs = small(2)
    dense = rules.features
    sparse = Features(
        dense.names, np.zeros((len(dense), 0)), 2 * np.arange(len(dense) + 1), np.tile([0, 1], len(dense)),
        dense.dense.ravel(),
    )  # fmt: skip
    expected = ForestLines(graphs, rules).spread
    np.testing.assert_allclose(ForestLines(graphs, dataclasses.replace(rules, features=sparse)).spread, expected)


@pytest.fixture
def folder(tmp_path, refs):
    rules, graphs = small(3)
    save_forests([graphs[0], graphs[1], EMPTY], rules, np.array([1.0, -1.0, 0.5]), tmp_path / "forests")
    return tmp_path


@pytest.mark.slow
@pytest.mark.compiled
def test_the_command_tunes_on_forests(run_cli, folder):
    refs, out = folder / "refs.txt", folder / "w.txt"
    common = ("tune", "--forests", folder / "forests", "--refs", refs, "--metric", BLEU, "--method", "mert")
    code, said, err = run_cli(*common, "-o", out, "--json", "--plot", folder / "tuning.png")
    assert code == 0, err
    report = json.loads(said)
    assert report["start"] == {"one": 1.0, "two": -1.0, "state": 0.5}  # those the forests were found with
    assert report["replicas"][0]["tune_after"] >= report["replicas"][0]["tune_before"]
    written = read_weights(str(out)).vector(list(report["start"]), source=str(out), strict=True)
    assert written.tolist() == list(report["replicas"][0]["weights"].values())
    again = folder / "again.txt"
    assert run_cli(*common, "-o", again, "--threads", "2", "--restarts", "2")[0] == 0
    assert run_cli(*common, "-o", folder / "w2.txt", "--restarts", "2")[0] == 0
    assert again.read_bytes() == (folder / "w2.txt").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "mert"), "expected a pool or --forests, found both or neither"),
        (("--method", "mert", "--forests", "F"), "expected references of the forests' sentences, found none"),
        (("--method", "pro", "--forests", "F", "--refs", "R"), "pro cannot be used here: it needs lists of hypotheses"),
        (("--method", "mert", "--forests", "F", "--refs", "S"), "a reference for each of 3 forests, found 1 lines"),
        (("--method", "mert", "--forests", "F", "--refs", "R", "--bins", "B"), "make features of whole lists, found"),
        (("--method", "mert", "--forests", "S", "--refs", "R"), "expected a folder with forests"),
    ],
)
def test_what_does_not_go_together_is_refused(run_cli, folder, arguments, message):
    (folder / "short.txt").write_text("a\n", encoding="utf-8")
    places = {"F": folder / "forests", "R": folder / "refs.txt", "S": folder / "short.txt", "P": folder / "pool.arrow"}
    code, _, err = run_cli("tune", *(places.get(a, a) for a in arguments), "-o", folder / "none.txt", "--metric", BLEU)
    assert code == 2
    assert message in " ".join(err.split())
    assert not (folder / "none.txt").exists()


def test_a_problem_needs_references_and_a_direction(refs):
    rules, graphs = small(0)
    with pytest.raises(LuthierError, match="has no direction"):
        forest_problem(Forests(tuple(graphs), rules, np.ones(3)), [refs], load_metric("length"))
    with pytest.raises(LuthierError, match="expected sentences with candidates"):
        forest_problem(Forests((EMPTY,) * 3, rules, np.ones(3)), [refs], load_metric(BLEU))
