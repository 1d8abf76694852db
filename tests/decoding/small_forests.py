"""Small random forests, and all their derivations by plain Python: shares no code with what it checks."""

import itertools

import numpy as np

from luthier.corpus.texts import Texts
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable
from luthier.kbest.features import Features

SIDES = [[0], [1], [0, 1], [], [-1], [0, -1], [-1, 1], [-1, -2], [-2, -1], [-1, 0, -2], [2, -2, -1]]
ARITIES = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]


def rule_table(rng, *, whole=True, scale=1.0):
    """Return rules with few words, so that strings repeat, and features that repeat too if `whole`."""
    values = rng.integers(-2, 3, size=(len(SIDES), 2)) if whole else rng.normal(size=(len(SIDES), 2))
    return RuleTable(
        np.cumsum([0, *map(len, SIDES)]), np.array([s for side in SIDES for s in side]),
        Texts.from_strings(["a", "b", "c"]), Features.from_dense(["one", "two"], values * scale),
        Texts.from_strings([str(side) for side in SIDES]), ("state",),
    )  # fmt: skip


def forest(rng, *, words=4, nodes=8, edges=3, whole=True, scale=1.0):
    """Return a forest of at most as many nodes, with spans; some nodes lead nowhere."""
    spans = sorted(
        (tuple(sorted(rng.choice(words + 1, size=2, replace=False).tolist())) for _ in range(nodes - 1)),
        key=lambda span: span[1] - span[0],
    )
    spans.append((0, words))
    offsets, tails, rules = [0], [], []
    for node, (low, high) in enumerate(spans):
        inside = [v for v in range(node) if low <= spans[v][0] and spans[v][1] <= high]
        pairs = [(a, b) for a, b in itertools.permutations(inside, 2) if spans[a][1] <= spans[b][0]]
        for _ in range(int(rng.integers(1, edges + 1))):
            most = 2 if pairs else 1 if inside else 0
            arity = int(rng.integers(min(most, node == len(spans) - 1), most + 1))
            chosen = [(), (*rng.choice(inside, 1),) if inside else (), tuple(rng.choice(pairs)) if pairs else ()][arity]
            tails.append([*map(int, chosen), -1, -1][:2])
            rules.append(int(rng.choice([r for r, a in enumerate(ARITIES) if a == arity])))
        offsets.append(len(tails))
    state = rng.integers(-1, 2, size=(len(tails), 1)) if whole else rng.normal(size=(len(tails), 1))
    return Hypergraph(
        np.array(offsets), np.array(tails), np.array(rules), state * scale, np.zeros(len(spans), np.uint8),
        np.array(spans),
    )  # fmt: skip


def derivations(graph, node=None):
    """Return all derivations of a node (the goal if none is named): nested tuples (edge, below gap 1, below gap 2)."""
    node = graph.n_nodes - 1 if node is None else node
    found = []
    for e in range(int(graph.edge_offsets[node]), int(graph.edge_offsets[node + 1])):
        below = [derivations(graph, int(tail)) for tail in graph.tails[e] if tail >= 0]
        found += [(e, *parts) for parts in itertools.product(*below)]
    return found


def edges_of(derivation):
    """Return the edges of a derivation, the upper before the lower, gap 1 before gap 2."""
    edge, *parts = derivation
    return [edge, *(e for part in parts for e in edges_of(part))]


def words_of(graph, derivation):
    """Return the target words of a derivation."""
    edge, *parts = derivation
    words = []
    for symbol in SIDES[graph.rules[edge]]:
        words += [symbol] if symbol >= 0 else words_of(graph, parts[-symbol - 1])
    return words
