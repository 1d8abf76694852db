"""Links and trees of derivations, forests' sizes, and what a trace shows."""

import numpy as np
import pytest
from slow_decoding import all_derivations, random_grammar

from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.decoder import Decoder
from luthier.decoding.models import weight_vector
from luthier.decoding.trace import DerivationTree, trace
from luthier.grammar.reading import read_grammar

pytestmark = pytest.mark.compiled
RULES = """[X] ||| das [X,1] ||| [X,1] this ||| p=1 ||| 0-1
[X] ||| [X,1] ist [X,2] ||| [X,2] is , [X,1] ||| p=9 ||| 1-1 1-2
[X] ||| haus ||| a house ||| p=1 ||| 0-1
[X] ||| klein ||| small ||| p=1 ||| 0-0
"""


@pytest.fixture
def decoder(tmp_path):
    (tmp_path / "grammar").write_text(RULES)
    return Decoder(read_grammar(tmp_path / "grammar"), [], SearchOptions(pops=100_000))


def tree_of(decoder, sentence, weights):
    decoded = decoder.decode([sentence], weights, forests=True)
    first = decoded.firsts[0]
    return decoded, DerivationTree(decoder.grammar, decoded.table, first.rules, first.parents, first.spans)


def test_links_follow_the_words_to_where_they_stand(decoder):
    decoded, tree = tree_of(decoder, "das haus ist klein ja", {"p": 1.0})
    # [das haus] ist [klein], then ja: small is , a house this ja
    assert decoded.texts[0] == "small is , a house this ja"
    assert tree.links() == [(0, 5), (1, 4), (2, 1), (2, 2), (3, 0), (4, 6)]


def test_a_tree_in_one_line_has_rules_with_their_spans(decoder):
    _, tree = tree_of(decoder, "das haus ja", {"p": 1.0})
    assert tree.text() == (
        "([Goal] ||| [S,1] ||| [S,1] 0:3 ([S] ||| [S,1] [X,2] ||| [S,1] [X,2] 0:3 ([S] ||| [X,1] ||| [X,1] 0:2 "
        "([X] ||| das [X,1] ||| [X,1] this 0:2 ([X] ||| haus ||| a house 1:2))) ([X] ||| ja ||| ja 2:3)))"
    )
    assert tree.depths() == [0, 1, 2, 3, 4, 2]


def test_a_trace_has_the_cells_and_the_winning_tree(decoder):
    weights = {"p": 1.0, "Glue": -0.5}
    decoded, tree = tree_of(decoder, "das haus", weights)
    vector = weight_vector(weights, decoded.table.names)
    scores = decoded.forests[0].edge_scores(decoded.table.rule_scores(vector), vector[len(vector) :])
    shown = trace(decoded.forests[0], scores, decoded.table, "das haus", tree)
    cells = {(cell.label, cell.first, cell.last): cell for cell in shown.cells}
    assert cells["X", 1, 2].best == "a house"
    assert cells["X", 1, 2].edges == 2
    assert cells["X", 0, 2].best == "a house this"
    assert cells["goal", 0, 2].score == pytest.approx(decoded.pool.columns["score"][0])
    assert [(line.depth, line.first, line.last) for line in shown.tree] == [(0, 0, 2), (1, 0, 2), (2, 0, 2), (3, 1, 2)]


@pytest.mark.parametrize("seed", range(5))
def test_sizes_count_all_derivations(seed, tmp_path):
    rng = np.random.default_rng(seed)
    lines = random_grammar(rng)
    (tmp_path / "grammar").write_text("".join(f"{line}\n" for line in lines))
    decoder = Decoder(read_grammar(tmp_path / "grammar"), [], SearchOptions(pops=100_000))
    for sentence in ("f g f g", "h", "g g f"):
        report = decoder.decode([sentence], {"p": 1.0}, sizes=True).reports[0]
        expected = len(all_derivations(lines, sentence))
        assert 10**report.before_models.log10_derivations == pytest.approx(expected)
        assert 10**report.after_models.log10_derivations == pytest.approx(expected)
        assert report.before_models.nodes <= report.after_models.nodes
    assert decoder.decode([""], {"p": 1.0}, sizes=True).reports[0].before_models is None
