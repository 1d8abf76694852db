"""Lattices against each of their paths as a plain sentence, cdec's own example, and lines that are no lattice."""

import itertools
import json

import numpy as np
import pytest
from slow_decoding import all_derivations, random_grammar
from test_decoder import EVERYTHING, WEIGHTS, dot, grammar_of, model_features, model_of

from luthier.core.errors import InputError, LuthierError
from luthier.corpus.lattices import MOST_ARCS, MOST_NODES, UNREACHABLE, parse_lattice
from luthier.decoding.chart import search
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoder import Decoder

pytestmark = pytest.mark.compiled
COSTLY = {**WEIGHTS, "LatticeCost": -0.83}


def random_lattice(rng, nodes):
    """Return the arcs (word, cost, length) of each node but the last; a way leads to every node."""
    columns = []
    for node in range(nodes):
        lengths = [1, *(int(rng.integers(1, nodes - node + 1)) for _ in range(int(rng.integers(0, 3))))]
        words = rng.choice(["f", "g", "h"], p=[0.45, 0.45, 0.1], size=len(lengths))
        costs = np.round(rng.normal(size=len(lengths)), 3)
        columns.append([(str(w), float(c), k) for w, c, k in zip(words, costs, lengths, strict=True)])
    return columns


def line_of(columns):
    """Return a lattice as Python writes it."""
    return repr(tuple(tuple(column) for column in columns))


def paths(columns, node=0):
    """Yield the words and the cost of every way from a node to the last."""
    if node == len(columns):
        yield (), 0.0
    for word, cost, length in columns[node] if node < len(columns) else ():
        for words, more in paths(columns, node + length):
            yield (word, *words), cost + more


@pytest.mark.parametrize("orders", [(), (3,), (4, 2)])
@pytest.mark.parametrize("seed", range(7))
def test_lists_are_those_of_all_derivations_of_all_paths(seed, orders, tmp_path):
    rng = np.random.default_rng(seed)
    lines, columns = random_grammar(rng), random_lattice(rng, int(rng.integers(2, 5)))
    models = [model_of(rng, order, tmp_path) for order in orders]
    expected = []
    for words, cost in paths(columns):
        for derivation in all_derivations(lines, " ".join(words)):
            said = model_features([plain for plain, _ in models], derivation.words)
            features = {**derivation.features, **said, "LatticeCost": cost}
            expected.append((dot(features, COSTLY), " ".join(derivation.words), features))
    expected.sort(key=lambda row: -row[0])
    decoder = Decoder(grammar_of(lines, tmp_path), [opened for _, opened in models], EVERYTHING)
    found = decoder.decode([line_of(columns)], COSTLY, k=len(expected) + 10, forests=True, sizes=True)
    pool = found.pool
    np.testing.assert_allclose(pool.columns["score"], [score for score, _, _ in expected], rtol=1e-9, atol=1e-9)
    assert sorted(pool.texts) == sorted(text for _, text, _ in expected)
    names = pool.features.names
    assert names[-1] == "LatticeCost"
    rows = sorted(tuple(np.round(row, 6) + 0.0) for row in pool.features.dense)
    wanted = sorted(tuple(round(f.get(name, 0.0), 6) + 0.0 for name in names) for _, _, f in expected)
    np.testing.assert_allclose(rows, wanted, atol=1e-5)
    (report,) = found.reports
    for size in (report.before_models, report.after_models):
        assert 10**size.log10_derivations == pytest.approx(len(expected))


def shortest(columns, i, j):
    """Return how many words the shortest way between two nodes has, `UNREACHABLE` for none."""
    steps = [shortest(columns, i + length, j) for _, _, length in columns[i]] if i < j else []
    return 0 if i == j else min([UNREACHABLE, *(step + 1 for step in steps)])


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_the_shortest_ways(seed):
    columns = random_lattice(np.random.default_rng(seed), 6)
    columns[2] = []
    columns[1].append(("f", 0.0, 3))
    found = parse_lattice(line_of(columns)).distances()
    for i, j in itertools.combinations_with_replacement(range(7), 2):
        assert min(found[i, j], UNREACHABLE) == shortest(columns, i, j)


def test_spans_are_limited_by_the_shortest_way(tmp_path):
    grammar = grammar_of(["[X] ||| f f f ||| a ||| p=1"], tmp_path)
    steps = [[("f", 0, 1)], [("f", 0, 1)], [("f", 0, 1)]]
    shortcut = [[("f", 0, 1), ("h", 9, 3)], *steps[1:]]
    for max_span, columns, text in ((3, steps, "a"), (2, steps, "f f f"), (2, shortcut, "a")):
        decoder = Decoder(grammar, [], SearchOptions(max_span=max_span))
        assert list(decoder.decode([line_of(columns)], {"p": 1, "PassThrough": -1, "LatticeCost": -1}).texts) == [text]


def test_one_path_is_the_plain_sentence_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(5)
    decoder = Decoder(grammar_of(random_grammar(rng), tmp_path), [model_of(rng, 3, tmp_path)[1]])
    sentence = "f g h f zzz g f"
    plain = decoder.decode([sentence], COSTLY, k=50, forests=True)
    line = "(" + "".join(f"(('{word}', 0, 1),)," for word in sentence.split()) + ")"
    latticed = decoder.decode([line], COSTLY, k=50, forests=True)
    assert latticed.pool.texts == plain.pool.texts
    assert latticed.pool.columns["score"].tobytes() == plain.pool.columns["score"].tobytes()
    names = plain.pool.features.names
    np.testing.assert_array_equal(latticed.pool.features.dense[:, : len(names)], plain.pool.features.dense)
    assert not latticed.pool.features.column("LatticeCost").any()
    one, other = plain.forests[0], latticed.forests[0]
    for column in ("edge_offsets", "tails", "rules", "labels", "spans"):
        assert getattr(one, column).tobytes() == getattr(other, column).tobytes()


# What cdec's own test of lattices has (tests/system_tests/lattice): its rules, its lattice, and the five translations
# with the features they share with ours. Its score has SourceWordPenalty too, −log10 e for each source word.
CDEC_RULES = [
    "[X] ||| A ||| a ||| Cost=0.1", "[X] ||| A ||| a' ||| Cost=0.1", "[X] ||| B ||| b ||| Cost=0.2",
    "[X] ||| AB ||| ab ||| Cost=0.1", "[X] ||| C B ||| cb ||| Cost=0.3", "[X] ||| A B ||| a_b ||| Cost=0.2",
]  # fmt: skip
CDEC_LATTICE = "((('A',0.5,1),('C',0.25,1),('AB',0.125,2),),(('B',2,1),),)"
CDEC_WEIGHTS = {"WordPenalty": 1, "Glue": 0, "Cost": -1, "LatticeCost": -1}
CDEC_FOUND = [  # words, Glue, SourceWordPenalty, WordPenalty, Cost, LatticeCost, score
    ("ab", 0, -0.434294, -0.434294, 0.1, 0.125, -1.09359),
    ("cb", 0, -0.868589, -0.434294, 0.3, 2.25, -3.85288),
    ("a_b", 0, -0.868589, -0.434294, 0.2, 2.5, -4.00288),
    ("a b", 1, -0.868589, -0.868589, 0.3, 2.5, -4.53718),
    ("a' b", 1, -0.868589, -0.868589, 0.3, 2.5, -4.53718),
]


def test_cdecs_own_example(tmp_path):
    pool = Decoder(grammar_of(CDEC_RULES, tmp_path), [], EVERYTHING).decode([CDEC_LATTICE], CDEC_WEIGHTS, k=100).pool
    columns = [pool.features.column(name) for name in ("PassThrough", "Glue", "WordPenalty", "Cost", "LatticeCost")]
    rows = zip(pool.texts, *columns, pool.columns["score"], strict=True)
    found = sorted((row[0], *row[2:]) for row in rows if row[1] == 0)  # cdec passes words on only where told to
    assert [row[0] for row in found] == sorted(row[0] for row in CDEC_FOUND)
    for ours, theirs in zip(found, sorted(CDEC_FOUND), strict=True):
        _, glue, source_penalty, *shared, score = theirs
        assert ours[1:-1] == pytest.approx((glue, *shared), abs=1e-6)
        assert ours[-1] + source_penalty == pytest.approx(score, abs=1e-5)


def test_escapes_and_blanks():
    found = parse_lattice(r"""( ( ('f\'ur' , -1.5e0, 1,) , ("a\\b\"", 2, 2) ) ,  ( ("it's",.5,1) ) )  """)
    assert found.words == ("f'ur", 'a\\b"', "it's")
    assert (found.n, found.starts.tolist(), found.stops.tolist()) == (2, [0, 0, 1], [1, 2, 2])
    assert found.costs.tolist() == [-1.5, 2.0, 0.5]
    assert found.steps() == ["f'ur|a\\b\"", "it's"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("((('a',0,1),),", r"expected '\(', the arcs of node 1, found the end"),
        ("((('a',0,1),", "expected an arc .* found the end"),
        ("((('a',0,1)),) b", "nothing behind the lattice"),
        ("((('a',0,1) ('b',0,1)),)", "behind an arc of node 0"),
        ("((('a',0,2),),)", "ends at node 1, the last, or before, found 'a', which ends at node 2"),
        ("((('a',0,0),),)", "leads on by 1 node or more, found 0"),
        ("((('a',0,-1),),)", "leads on by 1 node or more, found -1"),
        ("((('a',0,1),),(),(('b',0,1),),)", "arcs that lead to the last node, found none from node 1 on"),
        ("((('a',nan,1),),)", "an arc"),
        ("((('a',1e999,1),),)", "a cost of at most"),
        ("((('a',0,1.5),),)", "an arc"),
        ("((('a',0,99999999999999999999),),)", "an arc"),
        ("((('a',{'f':1},1),),)", "an arc"),
        ("((('a',0),),)", "an arc"),
        ("((('a b',0,1),),)", "one word"),
        ("((('',0,1),),)", "one word"),
        ("((('*EPS*',0,1),),)", "one word"),
        (r"((('a\n',0,1),),)", "behind a backslash"),
        ("((('a',0,1),),),)", "nothing behind"),
        ("(((('a',0,1),),),)", "arc"),
        ("((('" + "(" * 100_000, "an arc"),
        ("((('" + "\\" * 100_001, "an arc"),
        ("(" + "(('a',0,1),)," * (MOST_NODES + 1) + ")", "at most 1,000 nodes"),
        ("((" + "('a',0,1)," * (MOST_ARCS + 1) + "),)", "10,000 arcs"),
    ],
)
def test_what_is_no_lattice_is_refused(line, message):
    with pytest.raises(InputError, match=message):
        parse_lattice(line)


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules"
    path.write_text("".join(f"{line}\n" for line in CDEC_RULES))
    return path


def test_the_command_reads_lattices_beside_sentences(run_cli, rules, tmp_path):
    source, weights = tmp_path / "source", tmp_path / "weights"
    source.write_text(f"A B\n{CDEC_LATTICE}\n\n")
    weights.write_text("PassThrough -5\n" + "".join(f"{name} {value}\n" for name, value in CDEC_WEIGHTS.items()))
    common = ("engine", "decode", source, "--grammar", rules, "--weights", weights)
    code, out, said = run_cli(*common, "--trees", tmp_path / "trees", "--forests", tmp_path / "forests")
    assert (code, out) == (0, "a_b\nab\n\n"), said
    assert "([X] ||| AB ||| ab 0:2)" in (tmp_path / "trees").read_text().splitlines()[1]
    code, out, said = run_cli(*common, "--trace", "1", "--json")
    assert code == 0, said
    assert {cell["source"] for cell in json.loads(out)["trace"]["cells"]} >= {"A|C|AB", "B", "A|C|AB B"}
    assert run_cli(*common, "--links", tmp_path / "links")[0] == 2
    source.write_text("A B\n((('A',0,1),),(('B',0,7),),)\n")
    code, _, said = run_cli(*common)
    assert code == 2
    assert f"{source}:2: expected an arc of node 1 that ends at node 2, the last, or before, found 'B'" in said


def test_long_arcs_are_passed_out_of_time_too(rules, tmp_path):
    line = "((('A', 1, 3),), (('B', 0, 1),), (('B', 0, 1),), (('zzz', 2, 2),), (), )"
    decoder = Decoder(grammar_of(CDEC_RULES, tmp_path), [], SearchOptions(seconds=0.0, max_span=1))
    decoded = decoder.decode([line], {**CDEC_WEIGHTS, "PassThrough": -5})
    assert decoded.texts[0] in ("a zzz", "a' zzz")
    assert decoded.pool.features.column("LatticeCost").tolist() == [3.0]
    assert decoded.reports[0].out_of_time is False


def test_a_lattice_with_too_many_ways_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "MOST_DOTS", 20_000)
    every = tuple(tuple(("a", 0, k) for k in range(1, 31 - node)) for node in range(30))
    decoder = Decoder(grammar_of(["[X] ||| a a a a a a a a ||| b ||| p=1 ||| "], tmp_path))
    with pytest.raises(LuthierError, match="sentence 1: expected a lattice along whose arcs rules match in at most"):
        decoder.decode(["a", repr(every)], COSTLY)
    assert decoder.decode(["a", "a " * 200], COSTLY).texts[0] == "a"


def test_costs_and_names_that_do_not_fit(tmp_path):
    decoder = Decoder(grammar_of(CDEC_RULES, tmp_path))
    with pytest.raises(LuthierError, match="scores stay finite"):
        decoder.decode(["((('A', 1e100, 1),),)"], {"LatticeCost": 1e300})
    own = grammar_of(["[X] ||| a ||| b ||| LatticeCost=1 ||| "], tmp_path)
    assert list(Decoder(own).decode(["a"], {"LatticeCost": 1}).texts) == ["b"]
    with pytest.raises(LuthierError, match="without the feature 'LatticeCost'"):
        Decoder(own).decode(["((('A', 1, 1),),)"], {"LatticeCost": 1})
